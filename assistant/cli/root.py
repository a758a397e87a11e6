"""The root command: the global options, and the one place that prints an error."""

import os
import signal
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.exceptions import Abort, Exit, TyperException

from assistant import __version__
from assistant.cli.help import Function, add, group
from assistant.cli.options import Globals, at_terminal
from assistant.display import spelled
from assistant.errors import INTERRUPTED, AssistantError, UsageError
from assistant.workspace.folder import path_of


def tree(panels: Mapping[str, Iterable[Function | typer.Typer]]) -> typer.Typer:
    """`assistant`, with commands and groups of commands by the panels of its first page."""
    cli = group(
        "assistant",
        "A personal assistant whose long-term memory is plain markdown.",
        add_completion=False,
        invoke_without_command=True,
        pretty_exceptions_enable=False,
    )
    cli.callback()(options)
    for panel, commands in panels.items():
        for command in commands:
            if isinstance(command, typer.Typer):
                cli.add_typer(command, rich_help_panel=panel)
            else:
                add(cli, command, rich_help_panel=panel)
    return cli


def _show_version(requested: bool) -> None:
    if requested:
        typer.echo(f"assistant {__version__}")
        raise Exit()


def options(
    context: typer.Context,
    workspace: Annotated[
        Path | None,
        typer.Option(
            "-w", "--workspace", parser=path_of, metavar="DIR", help="Use this workspace."
        ),
    ] = None,
    no_daemon: Annotated[
        bool, typer.Option("--no-daemon", help="Do not use the memory daemon.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Keep the global options for the command."""
    context.obj = Globals(workspace, no_daemon, debug)
    if context.invoked_subcommand is not None:
        return
    if not at_terminal():
        raise UsageError(
            "no command given, and standard input is not a terminal",
            "`assistant ask` takes a message, `assistant chat` one per line, `--help` lists all",
        )
    from assistant.cli import talk
    from assistant.cli.chat import welcome  # `recall` loads this module too, and needs none of it

    welcome.ensure_workspace(context.obj)
    talk.chat(context)


def run(cli: typer.Typer) -> None:
    """Run the command, print an error in one place, exit with its code."""
    arguments = hoisted(sys.argv[1:])
    _open_closed_streams()
    try:
        if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        code = cli(arguments, prog_name="assistant", standalone_mode=False)
        sys.stdout.flush()
        sys.exit(code)  # None, or what a command's `typer.Exit` says
    except (AssistantError, TyperException) as error:
        if isinstance(error, TyperException):
            error = _usage_error(error)
        elif "--debug" in arguments:
            raise
        typer.echo(f"assistant: {spelled(str(error))}", err=True)
        sys.exit(error.exit_code)
    except (KeyboardInterrupt, Abort):
        sys.exit(INTERRUPTED)
    except BrokenPipeError:  # the reader of the pipe has exited, as `head` does
        _discard_output()
        sys.exit(1)
    except OSError as error:  # most often from standard output: the disk is full
        if "--debug" in arguments:
            raise
        _discard_output()
        path = spelled(str(error.filename or "the output could not be written"))
        typer.echo(f"assistant: {path}: {error.strerror or error}. See --debug", err=True)
        sys.exit(1)


def _open_closed_streams() -> None:
    """Open /dev/null as each standard stream that the caller has closed."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            null = os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, os.fdopen(null, mode, encoding="utf-8"))


def _discard_output() -> None:
    """Discard buffered output, so that writing it at exit does not fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _usage_error(error: TyperException) -> UsageError:
    """An error of the parser, with the page of help that shows what is right."""
    command: Any = getattr(error, "ctx", None)
    cure = f"See `{command.command_path} --help`" if command else ""
    message = error.format_message().rstrip(".").replace("a valid int range", "a whole number")
    return UsageError(f"{message[0].lower()}{message[1:]}", cure)


def hoisted(arguments: list[str]) -> list[str]:
    """The arguments with the global options moved to the front."""
    front: list[str] = []
    rest: list[str] = []
    words = iter(arguments)
    for word in words:
        if word == "--":
            return [*front, *rest, word, *words]
        if word in ("-w", "--workspace"):
            front += [word, *(value for value in [next(words, None)] if value is not None)]
        elif word in ("--no-daemon", "--debug") or word.startswith("--workspace="):
            front.append(word)
        else:
            rest.append(word)
    return front + rest
