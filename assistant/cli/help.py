"""How help reads: a sentence for each command, groups by name on the first page, and examples."""

import inspect
import shutil
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import Any, TypeVar

import typer
from typer.core import TyperGroup
from typer.exceptions import Exit

from assistant.errors import UsageError

DAILY = "Every day"
"""The panel of the first page whose commands are described there."""
MEMORY, TOOLS, PROGRAMS, SETUP = "Memory", "Automation", "Programs", "Setup"
"""Its other panels, of which it gives the names."""
MORE = "More, each with its own --help"
WIDTH, LEAST_WIDTH = 80, 50
"""Columns of a page of help: longer lines read badly."""


def group(help: str, **more: Any) -> typer.Typer:
    """A group of commands."""
    columns = min(max(shutil.get_terminal_size().columns, LEAST_WIDTH), WIDTH) - 2
    settings = {"help_option_names": ["-h", "--help"], "terminal_width": columns}
    return typer.Typer(
        help=help, cls=Group, rich_markup_mode=None, context_settings=settings, **more
    )


Function = TypeVar("Function", bound=Callable[..., Any])


def command(
    group: typer.Typer, panel: str | None = None, *, name: str | None = None, **settings: Any
) -> Callable[[Function], Function]:
    """Add a function to a group; its docstring is the help, and may end with examples."""

    def add(function: Function) -> Function:
        text, _, lines = inspect.cleandoc(function.__doc__ or "").partition("\n\nExamples:\n")
        examples = f"\b\nExamples:\n{lines}" if lines else None
        group.command(name, help=text, epilog=examples, rich_help_panel=panel, **settings)(function)
        return function

    return add


class Group(TyperGroup):
    """A group of commands; without one of them it shows its help."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Without a command, show the help, as for wrong usage."""
        if not args and not self.invoke_without_command and not ctx.resilient_parsing:
            typer.echo(ctx.get_help(), err=True)
            raise Exit(2)
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that is called. Raises UsageError with those that may be meant."""
        name = args[0]
        if name in self.commands or name.startswith("-") or ctx.resilient_parsing:
            return super().resolve_command(ctx, args)
        path = ctx.command_path
        raise UsageError(
            f"there is no command `{path} {name}`",
            meant(f"`{path} {each}`" for each in self._like(name))
            or f"`{path} --help` lists the commands",
        )

    def _like(self, name: str) -> list[str]:
        """The commands with this name in a group below, else those with one that is like it."""
        below = {
            f"{group} {each}": each
            for group, command in self.commands.items()
            for each in getattr(command, "commands", {})
        }
        same = [path for path, each in below.items() if each == name]
        return same or get_close_matches(name, self.commands, n=2)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """The commands and the options; on the first page, the daily commands and others' names."""
        panels: dict[str, list[tuple[str, str]]] = {}
        commands: dict[str, Any] = dict(self.commands)
        for name, command in commands.items():
            if not command.hidden:
                panel = command.rich_help_panel or "Commands"
                panels.setdefault(panel, []).append((name, sentence(command.help or "")))
        whole = {title: rows for title, rows in panels.items() if title in (DAILY, "Commands")}
        names = {
            title: ", ".join(sorted(name for name, _ in rows))
            for title, rows in panels.items()
            if title not in whole
        }
        options = [
            record
            for param in self.get_params(ctx)
            if param.name != "help" and (record := param.get_help_record(ctx))
        ]
        for title, rows in (*whole.items(), (MORE, [*names.items()]), ("Options", options)):
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


def sentence(text: str) -> str:
    """The first paragraph of a help text, on one line."""
    return " ".join(text.strip().partition("\n\n")[0].split())


def meant(near: Iterable[str]) -> str:
    """The question whether one of these was meant; empty without any."""
    names = " or ".join(near)
    return f"Did you mean {names}?" if names else ""
