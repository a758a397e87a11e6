mkdir -p .assistant/workspace/skills/tea
sed -n '/^```markdown/,/^```/p' "$PAGE" | sed '/^```/d' > .assistant/workspace/skills/tea/SKILL.md
mkdir -p skills/bad
printf -- '---\nname: bad\n---\n' > skills/bad/SKILL.md
