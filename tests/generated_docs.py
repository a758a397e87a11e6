"""The generated parts of docs/: made by `scripts/docs`, held to the code by `test_docs.py`."""

import re
from pathlib import Path
from typing import get_origin

import typer
from pydantic import BaseModel

from assistant.cli.main import cli
from assistant.settings import Settings

DOCS = Path(__file__).resolve().parent.parent / "docs"
MARKS = ("<!-- settings: generated -->", "<!-- end of settings -->")


def command_line() -> str:
    """docs/cli.md: every command with its help, as the terminal prints it."""
    root = typer.main.get_command(cli)
    parts = ["# The command line", "", "Generated from the program itself by `scripts/docs`.", ""]
    for path, command in _walk(root, ("assistant",)):
        context = typer.Context(command, info_name=" ".join(path), max_content_width=90)
        parts += [f"## `{' '.join(path)}`", "", "```", command.get_help(context), "```", ""]
    return "\n".join(parts)


def settings_table() -> str:
    """Every setting: its name, its default, what it means."""
    rows = ["| setting | default | meaning |", "|---|---|---|"]
    for section, field in Settings.model_fields.items():
        model = field.annotation
        if get_origin(model) is tuple:
            model, section = model.__args__[0], f"{section}[]"
        assert isinstance(model, type) and issubclass(model, BaseModel)
        for name, entry in model.model_fields.items():
            default = "" if entry.is_required() else _literal(entry.default)
            meaning = re.sub(r"\s+", " ", entry.description or "")
            rows.append(f"| `{section}.{name}` | {default} | {meaning} |")
    return "\n".join(rows)


def configuration(text: str) -> str:
    """docs/configuration.md with its table made anew."""
    before, rest = text.split(MARKS[0])
    after = rest.split(MARKS[1])[1]
    return f"{before}{MARKS[0]}\n{settings_table()}\n{MARKS[1]}{after}"


def _walk(command, path):
    yield path, command
    for name, child in getattr(command, "commands", {}).items():
        yield from _walk(child, (*path, name))


def _literal(value: object) -> str:
    match value:
        case None:
            return "unset"
        case bool():
            return f"`{str(value).lower()}`"
        case tuple():
            return "`[]`"
        case _:
            return f"`{value}`"


if __name__ == "__main__":
    (DOCS / "cli.md").write_text(command_line(), encoding="utf-8")
    page = DOCS / "configuration.md"
    page.write_text(configuration(page.read_text(encoding="utf-8")), encoding="utf-8")
