"""Help pages: a sentence for each command; the first page only names the rarer ones."""

import inspect
import shutil
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import Any

import typer
from typer.core import TyperGroup
from typer.exceptions import Exit

from assistant.errors import UsageError

DAILY = "Every day"
"""The panel of the first page whose commands are described there."""
MEMORY, TOOLS, PROGRAMS, SETUP = "Memory", "Automation", "Programs", "Setup"
"""The other panels, which only name their commands."""
MORE = "More, each with its own --help"
MIN_WIDTH, MAX_WIDTH = 50, 80
"""Columns of a page of help."""

Function = Callable[..., None]


def group(name: str, help: str, commands: Iterable[Function] = (), **settings: Any) -> typer.Typer:
    """A group of commands."""
    columns = min(max(shutil.get_terminal_size().columns, MIN_WIDTH), MAX_WIDTH) - 2
    context = {"help_option_names": ["-h", "--help"], "terminal_width": columns}
    app = typer.Typer(
        name=name, help=help, cls=Group, rich_markup_mode=None, context_settings=context, **settings
    )
    for command in commands:
        add(app, command)
    return app


def add(app: typer.Typer, function: Function, **settings: Any) -> None:
    """Add a command of the function's name; its docstring is the help, and may have examples."""
    name = function.__name__.removesuffix("_")
    text, _, lines = inspect.cleandoc(function.__doc__ or "").partition("\n\nExamples:\n")
    examples = f"\b\nExamples:\n{lines}" if lines else None
    app.command(name, help=text, epilog=examples, **settings)(function)


class Group(TyperGroup):
    """A group of commands; called without one, it shows its help."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Show the help if there are no arguments, and exit as for wrong usage."""
        if not args and not self.invoke_without_command and not ctx.resilient_parsing:
            typer.echo(ctx.get_help(), err=True)
            raise Exit(2)
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command. Raises UsageError with similar names, those in subgroups included."""
        name = args[0]
        if name in self.commands or name.startswith("-") or ctx.resilient_parsing:
            return super().resolve_command(ctx, args)
        nested = [
            f"{group} {name}"
            for group, command in self.commands.items()
            if name in getattr(command, "commands", ())
        ]
        similar = nested or get_close_matches(name, self.commands, n=2)
        path = ctx.command_path
        raise UsageError(
            f"there is no command `{path} {name}`",
            did_you_mean(f"`{path} {other}`" for other in similar)
            or f"`{path} --help` lists the commands",
        )

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the commands and options; on the first page, only daily commands with sentences."""
        panels: dict[str, list[tuple[str, str]]] = {}
        commands: dict[str, Any] = dict(self.commands)
        for name, command in commands.items():
            panel = command.rich_help_panel or "Commands"
            panels.setdefault(panel, []).append((name, first_sentence(command.help or "")))
        described = {title: panels.pop(title) for title in (DAILY, "Commands") if title in panels}
        named = [
            (title, ", ".join(sorted(name for name, _ in rows))) for title, rows in panels.items()
        ]
        options = [
            record
            for param in self.get_params(ctx)
            if param.name != "help" and (record := param.get_help_record(ctx))
        ]
        for title, rows in (*described.items(), (MORE, named), ("Options", options)):
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


def first_sentence(text: str) -> str:
    """The first paragraph of a help text, on one line."""
    return " ".join(text.strip().partition("\n\n")[0].split())


def did_you_mean(names: Iterable[str]) -> str:
    """The question whether one of these was meant; empty without any."""
    joined = " or ".join(names)
    return f"Did you mean {joined}?" if joined else ""
