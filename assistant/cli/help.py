"""Groups and commands: their help pages, and how their arguments are parsed."""

import contextlib
import inspect
import os
import re
import shutil
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.exceptions import Exit, TyperException
from typer.models import ParameterInfo

from assistant.cli.options import argument, option
from assistant.cli.palette import echo
from assistant.errors import UsageError

MIN_WIDTH, MAX_WIDTH = 50, 80
"""Minimum and maximum columns of a help page."""

Function = Callable[..., None]
Sections = dict[str, list[tuple[str, str]]]
"""The rows of a help page by section title: a name and its description."""


def group(name: str, help: str, commands: Iterable[Function] = (), **settings: Any) -> typer.Typer:
    """Make a group of commands, each named after its function.

    The docstring is the help text, and may list arguments and examples.
    """
    columns = min(max(shutil.get_terminal_size().columns, MIN_WIDTH), MAX_WIDTH) - 2
    context = {"help_option_names": ["-h", "--help"], "terminal_width": columns}
    settings = {"cls": Group, **settings}
    app = typer.Typer(
        name=name, help=help, rich_markup_mode=None, context_settings=context, **settings
    )
    for command in commands:
        text, _, examples = inspect.cleandoc(command.__doc__ or "").partition("\n\nExamples:\n")
        text, _, arguments = text.partition("\n\nArguments:\n")
        _describe(command, re.sub(r"\n {3,}", " ", arguments).splitlines())
        epilog = f"\b\nExamples:\n{examples}" if examples else None
        name = command.__name__.removesuffix("_")
        app.command(name, cls=Command, help=text, epilog=epilog)(command)
    return app


def _describe(command: Function, lines: Iterable[str]) -> None:
    """Make each remaining parameter an argument or option, as its line `USAGE: HELP` says.

    A `partial` of `argument` or `option` in its annotation gives further settings.
    """
    kinds = command.__annotations__
    undescribed = [
        name
        for name, kind in kinds.items()
        if name not in ("context", "return") and not isinstance(_metadata(kind), ParameterInfo)
    ]
    for name, line in zip(undescribed, lines, strict=True):
        usage, _, help = line.strip().partition(": ")
        make = _metadata(kinds[name]) or (option if usage.startswith("-") else argument)
        kinds[name] = Annotated[kinds[name], make(usage, help)]


def _metadata(kind: Any) -> Any:
    return next(iter(getattr(kind, "__metadata__", ())), None)


class Command(TyperCommand):
    """A command whose texts are UTF-8 and whose paths may be any bytes."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments; a negative number is an argument. Raises UsageError for text not in
        UTF-8."""
        try:
            rest = super().parse_args(ctx, [*args])
        except TyperException as error:
            if not getattr(error, "option_name", "")[1:2].isdecimal():
                raise
            ctx.ignore_unknown_options = True
            rest = super().parse_args(ctx, args)
        for param in self.params:
            if param.type.name == "str" and not ctx.resilient_parsing:
                shown = param.get_error_hint(ctx)
                ctx.params[param.name] = _decoded(ctx.params[param.name], shown)
        return rest


def _decoded(value: Any, shown: str) -> Any:
    """Decode the texts of an argument as UTF-8, whatever the locale. Raises UsageError."""
    if not isinstance(value, str):
        return value and [_decoded(text, shown) for text in value]
    with contextlib.suppress(UnicodeEncodeError):
        return value.encode("utf-8").decode("utf-8")
    try:
        return os.fsencode(value).decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{shown} is not UTF-8 text", "Convert it first") from error


class Group(TyperGroup):
    """A group of commands; called without one, it shows its help."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Show the help if there are no arguments, and exit with the code for wrong usage."""
        if not args and not self.invoke_without_command and not ctx.resilient_parsing:
            echo(ctx.get_help(), err=True)
            raise Exit(2)
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command. Raises UsageError with similar names, including those in subgroups."""
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

    def sections(self) -> Sections:
        """Return the commands as the help page lists them."""
        commands: dict[str, Any] = dict(self.commands)
        rows = [(name, first_sentence(command.help)) for name, command in commands.items()]
        return {"Commands": rows}

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the commands and options."""
        options = [
            record
            for param in self.get_params(ctx)
            if param.name != "help" and (record := param.get_help_record(ctx))
        ]
        for title, rows in {**self.sections(), "Options": options}.items():
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


def first_sentence(text: str | None) -> str:
    """Return the first paragraph of a help text, on one line."""
    return " ".join((text or "").strip().partition("\n\n")[0].split())


def did_you_mean(names: Iterable[str]) -> str:
    """Return the question whether one of these names was meant; empty if there is none."""
    joined = " or ".join(names)
    return f"Did you mean {joined}?" if joined else ""
