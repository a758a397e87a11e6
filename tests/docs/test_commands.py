"""Every command that README, the docs and the program's own texts name is one that there is."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from assistant.cli.root import cli, hoisted

ROOT = Path(__file__).resolve().parents[2]
TREE = typer.main.get_command(cli)
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
SOURCES = sorted((ROOT / "assistant").rglob("*.py"))
NAMED = re.compile(r"`assistant (?!COMMAND)([^`]+)`")


def typed(page: Path) -> Iterator[str]:
    """The command lines of the blocks of a page, and those in its text."""
    text = page.read_text("utf-8")
    for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL):
        for line in re.findall(r"^\$ (.*(?:\\\n.*)*)", block, re.MULTILINE):
            for part in re.split(r" [|>]+ |; | && ", line.split("  #")[0].replace("\\\n", " ")):
                if part.strip().startswith("assistant "):
                    yield part.strip().removeprefix("assistant ")
    yield from NAMED.findall(text)


def check(line: str) -> None:
    """Follow a command line down the tree; its options have to be those of the command."""
    command = TREE
    words = hoisted([word for word in shlex.split(line) if word not in ("…", "...")])
    while words and words[0].startswith("-"):
        words = words[2:] if words[0] in ("-w", "--workspace") else words[1:]
    while hasattr(command, "commands") and words:
        name = words.pop(0)
        assert name in command.commands, f"assistant {line}: there is no {name!r}"
        command = command.commands[name]
    known = {option for each in command.params for option in (*each.opts, *each.secondary_opts)}
    for word in words:
        if re.fullmatch(r"--?[a-z][a-z-]*(=.*)?", word):
            assert word.partition("=")[0] in known | {"--help", "-h"}, f"assistant {line}: {word}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_commands_of_a_page_exist(page: Path) -> None:
    for line in typed(page):
        check(line)


def test_the_commands_that_the_program_names_exist() -> None:
    sources = [re.sub(r'"\s*f?"', "", each.read_text("utf-8")) for each in SOURCES]
    named = [line for source in sources for line in NAMED.findall(source)]
    assert len(named) > 50
    for line in named:
        check(re.sub(r"\{[^}]*\}", "X", line))
