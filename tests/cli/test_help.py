"""Help: every command has its place, its whole sentence and examples that work."""

import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from assistant.cli.root import DAILY, MORE, PANELS, cli, hoisted
from assistant.session import transcript
from assistant.session.entries import UserEntry
from assistant.workspace import template
from tests.cli.conftest import ASSISTANT
from tests.cli.test_main import run_assistant
from tests.cli.tty import Tty

ROOT = typer.main.get_command(cli)


def walk(command: Any = ROOT, path: str = "assistant") -> Iterator[tuple[str, Any]]:
    yield path, command
    for name, child in getattr(command, "commands", {}).items():
        yield from walk(child, f"{path} {name}")


def shown(command: Any, path: str, width: int = 0) -> str:
    context = typer.Context(
        command, info_name=path, terminal_width=width or 80, help_option_names=["-h", "--help"]
    )
    return str(command.get_help(context))


LEAVES = {path: each for path, each in walk() if not hasattr(each, "commands")}


def test_there_are_no_more_commands_than_one_can_know() -> None:
    assert len(LEAVES) <= 50


def test_the_first_page_fits_a_screen_and_names_every_command() -> None:
    lines = shown(ROOT, "assistant").splitlines()
    assert len(lines) <= 24 and max(map(len, lines)) <= 80
    daily, rest = "\n".join(lines).split(f"\n{MORE}:\n")
    assert f"{DAILY}:\n" in daily
    for name, command in ROOT.commands.items():
        panel = command.rich_help_panel
        if panel == DAILY:
            assert re.search(rf"^  {name} +[A-Z].*[.]$", daily, re.MULTILINE), name
        else:
            assert panel in PANELS
            assert re.search(rf"^  {panel} .*\b{name}\b", rest, re.MULTILINE), name


@pytest.mark.parametrize("width", [50, 80])
def test_sentences_are_whole_and_lines_fit_at_any_width(width: int) -> None:
    for path, command in walk():
        text = shown(command, path, width - 2)
        lines = text.split("Examples:")[0].splitlines()[1:]
        assert [line for line in lines if len(line) > width] == [], path
        squeezed = " ".join(text.split())
        for name, child in getattr(command, "commands", {}).items():
            first = " ".join((child.help or "").partition("\n\n")[0].split())
            assert first.endswith("."), (path, first)
            assert first in squeezed or (command is ROOT and name in text), (path, first)


def calls(example: str) -> Iterator[list[str]]:
    """The words of each call of ours in a line of shell."""
    for part in re.split(r" [|>]+ ", example.split(" #")[0]):
        words = shlex.split(part)
        if words[0] == "assistant":
            yield words[1:]


@pytest.mark.parametrize("path", [path for path, each in LEAVES.items() if each.epilog])
def test_examples_are_of_their_command_and_parse(path: str) -> None:
    for example in LEAVES[path].epilog.splitlines()[2:]:
        found = list(calls(example.strip()))
        assert found, example
        for words in found:
            command, context = ROOT, typer.Context(ROOT, info_name="assistant")
            rest = hoisted(words)
            while hasattr(command, "commands") and rest:
                command = command.commands[rest.pop(0)]
            command.make_context("x", rest, parent=context)
        assert example in shown(LEAVES[path], path)
    assert path in LEAVES[path].epilog


def test_a_group_alone_shows_its_help() -> None:
    done = run_assistant("memory")
    assert done.returncode == 2
    assert done.stderr.startswith("Usage: assistant memory")


def test_alone_it_says_what_to_do_without_a_terminal() -> None:
    done = run_assistant()
    assert done.returncode == 2
    assert "`assistant ask`" in done.stderr


def test_alone_it_opens_the_chat_at_a_terminal(place: Path) -> None:
    with Tty("-w", str(place)) as tty:
        tty.wait("›")
        tty.send("\x04")
        assert tty.end() == 0


def test_bash_completes_commands_options_settings_and_values(tmp_path: Path) -> None:
    place = template.create(tmp_path / "place").workspace
    place.sessions.mkdir(parents=True)
    opened = transcript.create(place.sessions)
    opened.append(UserEntry("where is the key?"))
    opened.close()
    script = subprocess.run(
        [ASSISTANT, "completion", "bash"], capture_output=True, text=True
    ).stdout
    (tmp_path / "script").write_text(script)
    for words, expected in (
        ("assistant mem", ["memory"]),
        ("assistant memory re", ["restore", "review"]),
        ("assistant recall --bud", ["--budget"]),
        ("assistant config show memory.", ["memory.budget", "memory.k"]),
        ("assistant completion ", ["bash", "fish", "zsh"]),
        ("assistant config set memory.capture ", ["always", "compaction", "never"]),
        ("assistant config set web.fetch ", ["true", "false"]),
        ("assistant config set web.search t", ["tavily"]),
        ("assistant connect c", ["claude-code", "codex", "cursor"]),
        (f"assistant -w {place.root} sessions show ", [opened.session]),
        (f"assistant -w {place.root} ask --resume ", [opened.session]),
        (f"assistant -w {place.root} context --session ", [opened.session]),
    ):
        line = f"COMP_WORDS=({words.rstrip()}"
        line += ' "")' if words.endswith(" ") else ")"
        ask = f"source {tmp_path}/script; {line}; COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); "
        ask += f"_assistant_completion {ASSISTANT}; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        done = subprocess.run(["bash", "-c", ask], capture_output=True, text=True)
        assert set(expected) <= set(done.stdout.split()), (words, done)


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_complete_too(shell: str) -> None:
    assert "_ASSISTANT_COMPLETE" in run_assistant("completion", shell).stdout
    asked = {"_TYPER_COMPLETE_ARGS": "assistant mem", "_ASSISTANT_COMPLETE": f"complete_{shell}"}
    asked["_TYPER_COMPLETE_FISH_ACTION"] = "get-args"
    done = subprocess.run([ASSISTANT], capture_output=True, text=True, env=os.environ | asked)
    assert "memory" in done.stdout and "Inspect and maintain memory" in done.stdout
