"""The first hour: a fixed script from an empty home on, and the lines that then stand on the
terminal.

`hour-80.txt` holds them, without what differs from run to run and from machine to machine.
"""

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest

from assistant.messages import Reply, ToolCall, Usage
from tests.cli.terminal.test_chat import WORKING, provider  # noqa: F401
from tests.cli.tty import Tty
from tests.support.daemon import ended
from tests.support.provider import Provider

FIRST = (
    "assistant init",
    "assistant remember My sister Lena lives in Porto, Rua das Flores 41",
    "assistant recall where does Lena live",
)
QUESTIONS = (
    ("What is your name?", "I'm Ada"),
    ("How should I sound? (Enter: warm, plain and brief)", "calm and short"),
)
TALK = (
    ("where does Lena live?", "Rua das Flores 41, in Porto."),
    ("our cat is called Tom", "I keep that."),
    ("what is on my list? @list.txt", "Flour and yeast."),
    ("/remember The spare key is with Bo", "Remembered: MEMORY.md:"),
    ("I live in Lisbon now", "Allow it? [y,n,a,?]:"),
    ("y", "It is in your profile."),
    ("/undo", "USER.md is as it was"),
    ("/usage", "120 out"),
    ("/forget the spare key", "Forget it? [y/N]:"),
    ("y", "Forgotten"),
    ("/nonsense", "there is no command"),
)
LAST = ("assistant memory log --since 1d", "assistant memory map", "assistant doctor")
PROFILE = {"path": "USER.md", "old_text": "- Name: Ada.", "new_text": "- Name: Ada, in Lisbon."}
CAT = {"fact": "The cat is called Tom"}
USED = Usage(5300, 20)
VARYING = (
    (r"assistant \d\S+ · /help · \S+", "assistant VERSION"),
    (r"to continue: [^\n]*\n?[^\n$]*\n", "to continue: COMMAND\n"),
    (r" · \d+ s$", ""),
    (r"^Indexing .*\n", ""),
    (r"20\d\d-\d\d-\d\d", "TODAY"),
)
CHECK = r"^[✓!✗] ([\w ]+): .*(\n(?![✓!✗S]).+)*"
"""What doctor says of a part, to its last line."""


@pytest.fixture
def home(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home whose path is as long on each machine, so that lines wrap alike."""
    with tempfile.TemporaryDirectory(prefix="ada-", dir="/tmp") as short:
        monkeypatch.setenv("HOME", short)
        yield Path(short)
        ended(Path(short) / ".assistant/workspace")


def test_what_stands_on_the_terminal_after_the_first_hour(
    home: Path,
    provider: Provider,  # noqa: F811
) -> None:
    (home / "list.txt").write_text("flour\nyeast\n")
    provider.enqueue(
        Reply("Rua das Flores 41, in **Porto**.", usage=USED),
        Reply(tool_calls=(ToolCall("c1", "remember", CAT),), usage=USED),
        Reply("I keep that.", usage=USED),
        Reply("Flour and yeast.", usage=USED),
        Reply(tool_calls=(ToolCall("c2", "edit_file", PROFILE),), usage=USED),
        Reply("It is in your profile.", usage=USED),
    )
    variables = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PS1": "$ ",
        "ASSISTANT_MODEL": "openai/test",
        "ASSISTANT_API_BASE": provider.url,
    }
    shell = Path(shutil.which("bash") or "bash")
    options = ("--norc", "--noprofile", "--noediting", "-i")
    with Tty(*options, command=shell, variables=variables) as tty:
        typed = 0

        def prompted() -> None:
            tty.wait(lambda tty: len(re.findall(r"^\$(?: |$)", tty.whole, re.MULTILINE)) > typed)

        def asked(question: str, answer: str) -> None:
            tty.wait(lambda tty: f"{question} " in tty.raw)  # its space comes last
            tty.say(answer)

        prompted()
        for line in (f"cd {home}", *FIRST):
            tty.say(line)
            typed += 1
            prompted()
        tty.say("assistant")
        for question, answer in QUESTIONS:
            asked(question, answer)
        tty.wait("\ntest")
        for line, answer in TALK:
            tty.say(line)
            tty.wait(answer, gone=WORKING)
            tty.wait(answer if answer.endswith("]:") else "›")
        tty.send("\x04")
        typed += 1
        prompted()
        for line in LAST:
            tty.say(line)
            if line.endswith("doctor"):
                asked("whether it answers? [y/N]:", "n")
            typed += 1
            prompted()
        tty.say("exit")
        assert tty.end() == 0
        text = tty.whole.replace(str(home), "HOME").replace(date.today().isoformat(), "TODAY")
    for pattern, word in VARYING:
        text = re.sub(pattern, word, text, flags=re.MULTILINE)
    talk, doctor, checks = text.partition("$ assistant doctor\n")
    text = talk + doctor + re.sub(CHECK, r"\1: WHAT THIS MACHINE HAS", checks, flags=re.MULTILINE)
    recorded = Path(__file__).with_name("hour-80.txt").read_text("utf-8")
    assert text.splitlines() == recorded.splitlines()
