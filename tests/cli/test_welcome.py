"""The first hour: a workspace is offered, three questions are asked once, their answers kept."""

import os
from collections.abc import Iterator
from pathlib import Path

import pexpect
import pytest

from assistant.cli import welcome
from assistant.workspace import Workspace
from tests.cli.conftest import ASSISTANT, PROMPT
from tests.provider import Provider, fails


@pytest.fixture
def made(home: Path) -> Iterator[Path]:
    """The default workspace, which the test is to make; its daemon is ended."""
    yield home / ".assistant/workspace"
    pexpect.run(f"{ASSISTANT} daemon stop")


def start(*arguments: str, **environment: str) -> "pexpect.spawn[str]":
    return pexpect.spawn(
        str(ASSISTANT),
        list(arguments),
        env={**os.environ, **environment, "TERM": "xterm-256color"},
        encoding="utf-8",
        timeout=90,
        dimensions=(40, 100),
    )


def test_the_first_hour(made: Path, home: Path) -> None:
    with Provider(fails(401), "Hello!", "Good evening.") as provider:
        keys = {"OPENAI_API_KEY": "x", "ASSISTANT_API_BASE": provider.url}
        child = start(**keys)
        child.expect("There is no workspace yet. Make one at .*workspace")
        child.send("\r")
        child.expect("What is your name")
        child.send("Robin  Day\r")
        child.expect("written to USER.md")
        child.expect("How should I sound")
        child.send("dry and formal.\r")
        child.expect("written to IDENTITY.md")
        child.expect(r"1\. openai/\S+  \(OPENAI_API_KEY is set\)")
        child.expect("Which model")
        child.send("1\r")
        child.expect("did not accept the key")
        child.expect("Which model")
        child.send("openai/test\r")
        child.expect("it says: Hello!")
        child.expect(PROMPT)
        child.send("Good evening\r")
        child.expect("Good evening\\.")
        child.sendeof()
        child.expect(pexpect.EOF)
    assert "- Name: Robin Day.\n" in (made / "USER.md").read_text()
    assert "still empty" not in (made / "USER.md").read_text()
    assert "## Voice\n\n- Above all: dry and formal.\n- Warm" in (made / "IDENTITY.md").read_text()
    assert 'name = "openai/test"' in (home / ".config/assistant/config.toml").read_text()
    again = start()
    again.expect(PROMPT)
    assert "your name" not in str(again.before)
    again.sendeof()
    again.expect(pexpect.EOF)


def test_each_question_may_be_skipped(made: Path) -> None:
    done = pexpect.run(f"{ASSISTANT} init", encoding="utf-8")
    assert "opens the chat" in done
    before = {path.name: path.read_bytes() for path in made.glob("*.md")}
    child = start("chat")
    for question in ("your name", "I sound"):
        child.expect(question)
        child.send("\r")
    child.expect("Which model")
    child.sendintr()
    child.expect(PROMPT)
    child.sendeof()
    child.expect(pexpect.EOF)
    assert {path.name: path.read_bytes() for path in made.glob("*.md")} == before


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# Me\n- I have just made this workspace, and so on.\nrest\n", "# Me\n- Name: A.\nrest\n"),
        ("- I have just made this workspace", "- Name: A.\n"),
        ("# Mine\n", "# Mine\n\n- Name: A.\n"),
        ("", "\n\n- Name: A.\n"),
    ],
)
def test_a_line_takes_the_place_of_the_templates(
    text: str, expected: str, workspace: Workspace
) -> None:
    path = workspace.root / "USER.md"
    path.write_text(text)
    welcome._write(path, "- Name: A.\n", welcome.EMPTY_PROFILE)
    assert path.read_text() == expected
