git init -q --bare origin.git
git clone -q origin.git mind
assistant init --git mind
git -C mind add .
git -C mind commit -qm begin
git -C mind push -q origin HEAD
git clone -q origin.git other
assistant init --git other
echo '- Has a dog' >> other/MEMORY.md
git -C other commit -qam other
git -C other push -q origin HEAD
echo '- Has a cat' >> mind/MEMORY.md
git -C mind commit -qam mind
copy=.assistant/workspace/MEMORY.sync-conflict-20261122-101010-ABCDEFG.md
cp .assistant/workspace/MEMORY.md $copy
echo '- Has a parrot' >> $copy
cd mind
