"""A working day in the chat: a fixed script, and the lines that then stand on the terminal.

`day-40.txt` and `day-80.txt` hold it for windows of 40 and 80 columns, without what differs from
run to run.
"""

import re
from datetime import date
from pathlib import Path

import pytest

from assistant.messages import Reply, ToolCall, Usage
from tests.cli.terminal.test_chat import WORKING, chat, provider  # noqa: F401
from tests.support.provider import Provider

NOTES = "Buy flour, yeast and salt for the bread on Saturday.\nCall the roofer.\n"
TABLE = (
    "Mia lands at **18:40**:\n\n| what | where |\n|---|---|\n| gate | B 14 |\n| bus | line 602 |\n"
)
EDIT = {"path": "notes.txt", "old_text": "yeast and salt", "new_text": "sourdough and salt"}
OUTSIDE = {"command": "rm -rf ~/old-backups", "outside": True}
DAY = (
    ("/remember Mia lands in Porto on 27 November 2031 at 18:40", "Remembered: MEMORY.md:"),
    ("when does Mia land?", "line 602"),
    ("/why", "among the closest matches"),
    ("!seq 5", "attached to your next message"),
    ("I bake with sourdough now", "Noted in notes.txt."),
    ("/undo", "notes.txt is restored"),
    ("remove the old backups", "Allow it? [y,n,a,?]:"),
    ("n they are still needed", "I left them."),
    ("/usage", "100 out"),
)
USED = Usage(5300, 20)
VARYING = (
    (r"assistant \d\S+ · /help · \S+", "assistant VERSION"),
    (r" · \d+ s$", ""),
    (r"sandbox, in\n(┆ .*\n)+", "sandbox, in PLACE\n"),
    (r"to continue: [\s\S]*", "to continue: COMMAND"),
    (date.today().isoformat(), "TODAY"),
)


@pytest.mark.parametrize("size", [(40, 24), pytest.param((80, 24), marks=pytest.mark.slow)])
def test_what_stands_on_the_terminal_after_a_day(
    place: Path,
    provider: Provider,  # noqa: F811
    size: tuple[int, int],
) -> None:
    (place / "notes.txt").write_text(NOTES)
    edit, count = ToolCall("c1", "edit_file", EDIT), ToolCall("c2", "shell", {"command": "seq 13"})
    provider.enqueue(
        Reply(TABLE, usage=USED),
        Reply(tool_calls=(edit, count), usage=USED),
        Reply("Noted in notes.txt.", usage=USED),
        Reply(tool_calls=(ToolCall("c3", "shell", OUTSIDE),), usage=USED),
        Reply("I left them.", usage=USED),
    )
    with chat(place, provider, size=size) as tty:
        tty.wait("\ntest")
        for line, answer in DAY:
            tty.say(line)
            tty.wait(answer, gone=WORKING)
            tty.wait("›" if "Allow" not in answer else answer)
        tty.send("\x04")
        assert tty.end() == 0
        text = tty.whole
    for pattern, word in VARYING:
        text = re.sub(pattern, word, text, flags=re.MULTILINE)
    recorded = Path(__file__).with_name(f"day-{size[0]}.txt").read_text("utf-8")
    assert text.splitlines() == recorded.splitlines()
