"$PYTHON" - <<EOF
import zipfile
export = '[{"conversation_id": "a", "title": "A", "create_time": 1700000000, "current_node": "n", "mapping": {"n": {"id": "n", "parent": null, "message": {"author": {"role": "user"}, "content": {"content_type": "text", "parts": ["My boat is blue"]}, "create_time": 1700000000}}}}]'
zipfile.ZipFile("chatgpt-export.zip", "w").writestr("conversations.json", export)
EOF
