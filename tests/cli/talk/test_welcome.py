"""The first hour: a workspace is offered, three questions are asked once, their answers kept."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from assistant.cli.chat import welcome
from assistant.cli.commands import setup
from assistant.cli.options import Globals
from assistant.workspace.folder import Workspace
from tests.cli.conftest import ASSISTANT
from tests.cli.tty import Tty
from tests.support.daemon import ended
from tests.support.provider import Provider, fails


@pytest.fixture
def made(home: Path) -> Iterator[Path]:
    """The default workspace, which the test is to make; its daemon is ended."""
    yield home / ".assistant/workspace"
    ended(home / ".assistant/workspace")


def test_the_first_hour(made: Path, home: Path) -> None:
    with Provider(fails(401), "Hello!", "Good evening to you.") as provider:
        keys = {"OPENAI_API_KEY": "x", "ASSISTANT_API_BASE": provider.url}
        with Tty(variables=keys, size=(100, 40)) as tty:
            tty.wait("There is no workspace yet. Create one at ")
            tty.say("")
            tty.wait("What is your name?")
            tty.say("Robin  Day")
            tty.wait("written to USER.md")
            tty.wait("How should I sound?")
            tty.say("dry and formal.")
            tty.wait("written to IDENTITY.md")
            tty.wait("(OPENAI_API_KEY is set)")
            tty.wait("Which model?")
            tty.say("1")
            tty.wait("did not accept the key")
            tty.say("openai/test")
            tty.wait("it says: Hello!")
            tty.wait("›")
            tty.say("Good evening")
            tty.wait("Good evening to you.", gone="Esc stops")
            tty.send("\x04")
            assert tty.end() == 0
    assert "- Name: Robin Day.\n" in (made / "USER.md").read_text()
    assert "still empty" not in (made / "USER.md").read_text()
    assert "## Voice\n\n- Above all: dry and formal.\n- Warm" in (made / "IDENTITY.md").read_text()
    assert 'name = "openai/test"' in (home / ".config/assistant/config.toml").read_text()
    with Tty() as again:
        again.wait("›")
        assert "your name" not in again.raw
        again.send("\x04")
        assert again.end() == 0


def test_each_question_may_be_skipped(made: Path) -> None:
    done = subprocess.run([ASSISTANT, "init"], capture_output=True, text=True)
    assert "opens the chat" in done.stdout
    before = {path.name: path.read_bytes() for path in made.glob("*.md")}
    with Tty("chat") as tty:
        for question in ("What is your name?", "How should I sound?"):
            tty.wait(question)
            tty.say("")
        tty.wait("Which model?")
        tty.say("good morning")
        tty.wait(
            "not the name of a model"
        )  # without a word to any provider, whose library is slow to load
        assert "trying" not in tty.text
        tty.send("\x03")
        tty.wait("›")
        tty.send("\x04")
        assert tty.end() == 0
    assert {path.name: path.read_bytes() for path in made.glob("*.md")} == before


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ({}, "name tone model"),
        ({"USER.md": "", "IDENTITY.md": " \n"}, "name tone model"),
        ({"USER.md": "Ik heet Sanne de Wit"}, "tone model"),
        ({"USER.md": "## Über mich\n\n- Mein Name ist Sanne"}, "tone model"),
        ({"IDENTITY.md": "I'm Jo"}, "name model"),
        ({"USER.md": "I'm Jo", "IDENTITY.md": "Be brief"}, "model"),
    ],
)
def test_what_the_owner_has_written_is_not_asked_for(
    written: dict[str, str],
    asked: str,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    created = setup.make(home / "place")
    for name, text in written.items():
        (created.workspace.root / name).write_text(text, "utf-8")
    heard = list[str]()
    monkeypatch.setattr(welcome, "ask_name", lambda: heard.append("name") or "")
    monkeypatch.setattr(welcome, "_answer", lambda question: heard.append("tone") or "")
    monkeypatch.setattr(welcome, "_choose_model", lambda options: heard.append("model"))
    before = {path.name: path.read_bytes() for path in created.workspace.root.glob("*.md")}
    options = SimpleNamespace(workspace=lambda: created.workspace)
    assert welcome.greet(cast(Globals, options)) == ""
    assert heard == asked.split()
    opening = capsys.readouterr().err
    assert (f"Welcome. {welcome.COUNTS[len(heard)]}; " in opening) == bool(heard)
    after = {path.name: path.read_bytes() for path in created.workspace.root.glob("*.md")}
    assert after == before and not created.workspace.new.exists()


def test_ctrl_c_while_a_model_is_tried_opens_the_chat_without_one(made: Path) -> None:
    subprocess.run([ASSISTANT, "init"], capture_output=True)
    with Provider() as provider:
        keys = {"OPENAI_API_KEY": "x", "ASSISTANT_API_BASE": provider.url}
        with Tty("chat", variables=keys) as tty:
            for question in ("What is your name?", "How should I sound?"):
                tty.wait(question)
                tty.say("")
            tty.wait("Which model?")
            tty.say("openai/test")
            tty.wait("trying openai/test")
            tty.send("\x03")
            tty.wait("›")
            tty.send("\x04")
            assert tty.end() == 0


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


@pytest.mark.parametrize(
    ("answer", "name"),
    [
        ("Ole", "Ole"),
        ("ada", "ada"),
        ("I'm Ole Berg.", "Ole Berg"),
        ("ich heiße Müller", "Müller"),
        ("Me llamo María de la Cruz", "María de la Cruz"),
        ("J. R. R. O'Neill-Day", "J. R. R. O'Neill-Day"),
        ("王小明", "王小明"),
    ],
)
def test_a_name_is_taken_with_or_without_an_introduction(
    answer: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("typer.prompt", lambda *_, **__: answer)
    assert welcome.ask_name() == name


@pytest.mark.parametrize(
    "answer",
    [
        "where is my key",
        "我的钥匙在哪里？",
        "remember: Lena lives in Porto",
        "call the bank tomorrow",
        "wo ist mein Schlüssel",
        "/help",
        "what I can do on the 3rd of May",
    ],
)
def test_what_is_no_name_is_taken_for_a_message(
    answer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("typer.prompt", lambda *_, **__: answer)
    with pytest.raises(welcome.MessageInstead, match=re.escape(answer)):
        welcome.ask_name()
