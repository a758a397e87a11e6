assistant secrets add telegram <<< '123:abc'
sed -n '/^```markdown/,/^```/p' "$PAGE" | sed '/^```/d' | head -8 > .assistant/workspace/HEARTBEAT.md
