"""The root of the tree of commands: the global options, and the one place that prints an error."""

import os
import re
import signal
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Protocol

import typer
from typer.exceptions import Abort, Exit, TyperException

from assistant import __version__
from assistant.cli.help import group, meant
from assistant.cli.options import Globals, at_terminal
from assistant.display import spelled
from assistant.errors import INTERRUPTED, AssistantError, UsageError


class Branch(Protocol):
    """A module with commands."""

    def register(self, cli: typer.Typer) -> None: ...


def tree(branches: Sequence[Branch]) -> typer.Typer:
    """`assistant`, with the commands of these modules in their order."""
    cli = group(
        "A personal assistant whose long-term memory is plain markdown.",
        name="assistant",
        add_completion=False,
        invoke_without_command=True,
        pretty_exceptions_enable=False,
    )
    cli.callback()(options)
    for branch in branches:
        branch.register(cli)
    return cli


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"assistant {__version__}")
        raise Exit()


def options(
    context: typer.Context,
    workspace: Annotated[
        Path | None, typer.Option("-w", "--workspace", metavar="DIR", help="Use this workspace.")
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
            "`assistant ask` takes a message, `assistant chat` one a line; see `assistant --help`",
        )
    from assistant.cli import talk
    from assistant.cli.chat import welcome  # for this alone: `recall` loads the root too

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
        wrong = in_our_words(error) if isinstance(error, TyperException) else error
        if wrong is error and "--debug" in arguments:
            raise
        typer.echo(f"assistant: {spelled(str(wrong))}", err=True)
        sys.exit(wrong.exit_code)
    except (KeyboardInterrupt, Abort):
        sys.exit(INTERRUPTED)
    except BrokenPipeError:  # the reader of a pipe has gone; so do we, quietly, as `head` expects
        _write_no_more()
        sys.exit(1)
    except OSError as error:  # of what reads and writes, most often of standard output: a full disk
        if "--debug" in arguments:
            raise
        _write_no_more()
        what = spelled(str(error.filename or "the output could not be written"))
        typer.echo(f"assistant: {what}: {error.strerror or error}. See --debug", err=True)
        sys.exit(1)


def _open_closed_streams() -> None:
    """Have the standard streams that our caller closed lead nowhere, and their numbers taken."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, os.fdopen(nowhere, mode, encoding="utf-8"))


def _write_no_more() -> None:
    """Have nothing that is still to be written fail again at the end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def in_our_words(error: TyperException) -> UsageError:
    """What the parser found wrong: an option, a value, an argument too few or too many."""
    context: Any = getattr(error, "ctx", None)
    help = f"See `{context.command_path} --help`" if context else ""
    option, parameter = getattr(error, "option_name", ""), getattr(error, "param", None)
    if parameter and hasattr(error, "param_type"):
        return UsageError(f"{_name(parameter, context)} is missing", help)
    if parameter:
        value = error.message.partition(" is not ")[0]
        return UsageError(
            f"{_name(parameter, context)} cannot be {value}",
            f"It should be {_wanted(parameter.type)}",
        )
    if option and hasattr(error, "possibilities"):
        near = get_close_matches(option, error.possibilities or (), n=1)
        return UsageError(f"there is no option {option}", meant(near) or help)
    if option:
        lacks = "requires" in error.message
        return UsageError(f"{option} {'needs a value' if lacks else 'takes no value'}", help)
    extra = re.fullmatch(r"Got unexpected extra argument\(s\) \((.*)\)", error.message)
    return UsageError(f"{extra[1]!r} is one word too many" if extra else error.message, help)


def _name(parameter: Any, context: Any) -> str:
    """A parameter as help names it."""
    if parameter.param_type_name == "option":
        return str(parameter.opts[-1])
    return str(parameter.make_metavar(context)).strip("[]{}.")


def _wanted(kind: Any) -> str:
    """The values that a parameter takes."""
    if choices := getattr(kind, "choices", ()):
        return f"one of {', '.join(choices)}"
    least = getattr(kind, "min", None)
    return f"a whole number{'' if least is None else f' of at least {least}'}"


def hoisted(arguments: list[str]) -> list[str]:
    """The arguments with the global options moved to the front, wherever they stood."""
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
