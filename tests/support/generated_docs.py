"""The generated parts of docs/: made by `scripts/docs`, held to the code by `test_docs.py`."""

import re
from pathlib import Path
from typing import Any, get_origin

import typer
from pydantic import BaseModel

from assistant.cli.help import first_sentence
from assistant.cli.root import PANELS, cli
from assistant.settings.tree import Settings
from assistant.workspace.stores import STORES

DOCS = Path(__file__).resolve().parents[2] / "docs"
COMMON = ("Show this message and exit.", "Print JSON, for programs.", "Do not ask.")
"""What options mean that many commands have: told once, at the head of docs/cli.md."""
HEAD = """\
# The command line

Run `assistant COMMAND --help` to see the same, with examples. `scripts/docs` makes this page.

`-w DIR`, `--no-daemon` and `--debug` go before or after the command. `--json` prints JSON, for
programs; `--yes` does not ask.
"""
FILES = {
    ".assistant/workspace/": "the default workspace: markdown, yours to edit",
    ".config/assistant/config.toml": "settings",
    ".local/state/assistant/": "trust, logs, the prompt's history",
    ".cache/assistant/": "compiled embedding models and cached vectors; may be deleted",
}
STORES_MARKS = ("<!-- stores: generated -->", "<!-- end of stores -->")
MARKS = ("<!-- settings: generated -->", "<!-- end of settings -->")


def command_line() -> str:
    """docs/cli.md: every command, what it takes and what its options mean."""
    parts, panel = [HEAD, _options(typer.main.get_command(cli), "assistant")], ""
    for path, command in sorted(_leaves(), key=lambda leaf: [*PANELS].index(_panel(leaf[0]))):
        if panel != _panel(path):
            panel = _panel(path)
            parts.append(f"## {panel}\n")
        name = " ".join(path)
        taken = [each for each in command.params if each.param_type_name == "argument"]
        usage = " ".join(
            [name, *(piece for each in taken for piece in each.get_usage_pieces(None))]
        )
        text = "\n\n".join(" ".join(each.split()) for each in command.help.split("\n\n"))
        parts += [f"**`{usage}`**  ", f"{text}\n", _options(command, name)]
    return "\n".join(filter(None, parts))


def _options(command: Any, name: str) -> str:
    """The arguments and options of a command as a list; the common ones by name alone."""
    context = _context(command, name)
    own = [each for each in command.params if each.help not in COMMON]
    records = filter(None, (each.get_help_record(context) for each in own))
    lines = [f"- `{term}`: {meaning.partition('  [')[0]}" for term, meaning in records]
    common = [f"`{each.opts[0]}`" for each in command.params if each.help in COMMON[1:]]
    lines += [f"- {', '.join(common)}"] if common else []
    return "\n".join([*lines, ""]) if lines else ""


def _context(command: Any, name: str) -> typer.Context:
    command._help_option = None  # that of the first context is kept
    return typer.Context(command, info_name=name, help_option_names=["-h", "--help"])


def _leaves() -> list[tuple[tuple[str, ...], Any]]:
    root = typer.main.get_command(cli)
    return [
        (path, command)
        for path, command in _walk(root, ("assistant",))
        if not hasattr(command, "commands")
    ]


def _panel(path: tuple[str, ...]) -> str:
    commands: Any = typer.main.get_command(cli)
    return str(commands.commands[path[1]].rich_help_panel)


def manual_page() -> str:
    """docs/assistant.1: the same as a page for `man`."""
    root = typer.main.get_command(cli)
    lines = ['.TH ASSISTANT 1 "" "assistant" "User Commands"', ".SH NAME"]
    lines += [f"assistant \\- {_roff(first_sentence(root.help).rstrip('.'))}", ".SH SYNOPSIS"]
    lines += [".B assistant", "[OPTIONS] [COMMAND] [ARGS]...", ".SH DESCRIPTION"]
    lines += ["Without a command it opens the chat. The documentation is in docs/ of the source."]
    for path, command in _walk(root, ("assistant",)):
        context = _context(command, " ".join(path))
        title = "OPTIONS" if len(path) == 1 else " ".join(path).upper()
        lines += [f".SH {_roff(title)}", *_described(command, context)]
    lines += [".SH FILES", *_terms((f"~/{name}", meaning) for name, meaning in FILES.items())]
    return "\n".join(lines) + "\n"


def _described(command, context):
    if context.info_name != "assistant":
        usage = " ".join(command.collect_usage_pieces(context))
        yield f".B {_roff(context.info_name)} {_roff(usage)}"
        yield ".PP"
        yield _roff(" ".join((command.help or "").split()))
    records = (each.get_help_record(context) for each in command.get_params(context))
    yield from _terms(record for record in records if record)
    if command.epilog:
        examples = command.epilog.splitlines()[2:]
        yield from (".PP", ".nf", *(_roff(f"  {line}") for line in examples), ".fi")


def _terms(rows):
    for term, meaning in rows:
        yield from (".TP", f".B {_roff(term)}", _roff(meaning))


def _roff(text: str) -> str:
    """A text as roff has it: no backslash, dash or dot in it means anything."""
    safe = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{safe}" if safe.startswith((".", "'")) else safe


def settings_table() -> str:
    """Every setting: its name, its default, what it means."""
    rows = ["| setting | default | meaning |", "|---|---|---|"]
    for section, field in Settings.model_fields.items():
        model = field.annotation
        if get_origin(model) is tuple:
            model, section = model.__args__[0], f"{section}[]"
        elif get_origin(model) is dict:
            model, section = model.__args__[1], f"{section}.NAME"
        assert isinstance(model, type) and issubclass(model, BaseModel)
        for name, entry in model.model_fields.items():
            default = (
                ""
                if entry.is_required()
                else _literal(entry.get_default(call_default_factory=True))
            )
            meaning = re.sub(r"\s+", " ", entry.description or "")
            rows.append(f"| `{section}.{name}` | {default} | {meaning} |")
    return "\n".join(rows)


def configuration(text: str) -> str:
    """docs/configuration.md with its table rebuilt."""
    before, rest = text.split(MARKS[0])
    after = rest.split(MARKS[1])[1]
    return f"{before}{MARKS[0]}\n{settings_table()}\n{MARKS[1]}{after}"


def stores_table() -> str:
    """Every store: where it is, what it keeps, when a purge goes through it."""
    homes = {"workspace": "", "state": "~/.local/state/assistant/", "cache": "~/.cache/assistant/",
             "config": "~/.config/assistant/"}  # fmt: skip
    when = {"always": "yes", "sessions": "with `--sessions`", "owner": "yours to edit",
            "none": "no words in it"}  # fmt: skip
    rows = ["| where | what is kept | `--purge` |", "|---|---|---|"]
    for store in STORES:
        places = " ".join(f"`{homes[store.base]}{pattern}`" for pattern in store.patterns)
        rows.append(f"| {places} | {store.keeps} | {when[store.words]} |")
    return "\n".join(rows)


def memory(text: str) -> str:
    """docs/memory.md with its table of stores rebuilt."""
    before, rest = text.split(STORES_MARKS[0])
    after = rest.split(STORES_MARKS[1])[1]
    return f"{before}{STORES_MARKS[0]}\n{stores_table()}\n{STORES_MARKS[1]}{after}"


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
    (DOCS / "assistant.1").write_text(manual_page(), encoding="utf-8")
    page = DOCS / "configuration.md"
    page.write_text(configuration(page.read_text(encoding="utf-8")), encoding="utf-8")
    page = DOCS / "memory.md"
    page.write_text(memory(page.read_text(encoding="utf-8")), encoding="utf-8")
