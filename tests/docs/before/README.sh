echo 'we decided: blue' > minutes.txt
picture leaf.jpg
mkdir -p .assistant/workspace/memory
echo '- The spare key is with Ada' > .assistant/workspace/memory/keys.md
