"""The root command: the global options, and the only code that prints errors."""

import gc
import os
import re
import signal
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.exceptions import Abort, Exit, TyperException
from typer.main import get_group

from assistant import __version__
from assistant.cli import COMPLETES
from assistant.cli.help import Function, Group, Sections, first_sentence, group
from assistant.cli.options import Globals, at_terminal, option
from assistant.cli.palette import echo
from assistant.disk import storage
from assistant.errors import INTERRUPTED, AssistantError, UsageError
from assistant.workspace.folder import default_root, path_of

DAILY, MORE = "Every day", "More, each with its own --help"
"""The panel of the commands that the first page describes, and the title of the other panels."""
PANELS = {
    DAILY: ".talk.chat .talk.ask facts.remember facts.recall facts.forget agenda.agenda"
    " agenda.remind",
    "Memory": "context.context evaluation.eval_ sessions.undo moving.import_ moving.export memory"
    " sessions",
    "Automation": "heartbeat.event heartbeat.listen reach.reach skills heartbeat",
    "Programs": "connect.connect connect.mcp connect.hook mcp-servers",
    "Setup": "setup.init .doctor.doctor setup.trust_ setup.completion setup.secrets daemon config",
}
"""The panels of the first page with their groups and commands, each a function in a module of
`commands` or of this package."""
GROUPS = {
    "memory": (
        "Inspect and maintain memory: its state, history, reviews and index.",
        "memory.status memory.log memory.undo memory.check memory.capture memory.merge memory.map_"
        " review.review review.restore review.tidy memory.core",
    ),
    "sessions": (
        "Inspect past conversations.",
        "sessions.list_ sessions.show sessions.rename sessions.delete",
    ),
    "skills": ("Inspect the assistant's skills, or write one.", "skills.list_ skills.new"),
    "heartbeat": (
        "Run the tasks of HEARTBEAT.md, now or by a timer.",
        "heartbeat.run heartbeat.explain heartbeat.install",
    ),
    "mcp-servers": (
        "Inspect and approve the MCP servers whose tools the assistant uses.",
        "mcp_servers.list_ mcp_servers.approve",
    ),
    "daemon": ("Control the process that holds the index in memory.", "setup.stop"),
    "config": ("Show and change settings.", "config.show config.set_ config.unset config.edit"),
}


PARSER_WORDS = {
    "a valid int range": "a whole number",
    r"(\S+) is not in the range x>=(\d+)": r"\1 is less than \2",
    r"Got unexpected extra argument\(s\) \((.*)\)": r"'\1' is not expected here",
    r"(Directory|File) ('.*') does not exist": r"there is nothing at \2",
    r"(Directory|File) ('.*') is a (file|directory)": r"\2 is a \3",
}
"""The parser's messages, as regular expressions, and their replacements."""


def name_of(path: str) -> str:
    """Return the name of a command or group."""
    return path.rpartition(".")[2].removesuffix("_")


PATHS = {name_of(path): (path, panel) for panel in PANELS for path in PANELS[panel].split()}
"""The path and the panel of each command and group, by name."""


class Commands(Mapping[str, Any]):
    """The commands and groups by name. A command's module is imported when it is looked up."""

    def __getitem__(self, name: str) -> Any:
        return _loaded(*PATHS[name])

    def __iter__(self) -> Iterator[str]:
        return iter(PATHS)

    def __len__(self) -> int:
        return len(PATHS)


@cache
def _loaded(path: str, panel: str) -> Any:
    help, paths = GROUPS.get(path, ("", path))
    loaded: Any = get_group(group(path, help, map(function, paths.split())))
    if path not in GROUPS:
        loaded = loaded.commands[name_of(path)]
    if path == "connect.hook":  # other programs may add arguments
        loaded.ignore_unknown_options = loaded.allow_extra_args = True
    loaded.rich_help_panel = panel
    return loaded


def function(path: str) -> Function:
    """Import the module of a command, and return the command's function."""
    module, _, name = path.rpartition(".")
    loaded: Function = getattr(import_module(f".{module}", "assistant.cli.commands"), name)
    gc.freeze()
    gc.enable()
    return loaded


class Root(Group):
    """The root group: its first page describes the daily commands and lists the names of the
    others."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings | {"commands": Commands()})

    def sections(self) -> Sections:
        """Return the commands of the first page, those of each panel in one row."""
        names = {panel: [name_of(path) for path in PANELS[panel].split()] for panel in PANELS}
        daily = [(name, first_sentence(self.commands[name].help)) for name in names.pop(DAILY)]
        named = [(panel, ", ".join(sorted(names[panel]))) for panel in names]
        return {DAILY: daily, MORE: named}


def _show_version(requested: bool) -> None:
    if requested:
        echo(f"assistant {__version__}")
        raise Exit()


cli = group(
    "assistant",
    "A personal assistant whose long-term memory is plain markdown.",
    cls=Root,
    add_completion=False,
    invoke_without_command=True,
    pretty_exceptions_enable=False,
)


@cli.callback()
def options(
    context: typer.Context,
    workspace: Annotated[
        Path | None, option("-w --workspace DIR", "Use this workspace.", parser=path_of)
    ] = None,
    no_daemon: Annotated[bool, option("--no-daemon", "Do not use the memory daemon.")] = False,
    debug: Annotated[bool, option("--debug", "Show the traceback of an error.")] = False,
    version: Annotated[
        bool, option("--version", "Show the version.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """Store the global options for the command."""
    context.obj = Globals(workspace, no_daemon, debug)
    storage.TOOL_FOLDERS.add(workspace or default_root())
    if context.invoked_subcommand is not None:
        return
    if not at_terminal():
        raise UsageError(
            "no command given, and standard input is not a terminal",
            "`assistant ask` takes a message, `assistant chat` one per line, `--help` lists all",
        )
    from assistant.cli.chat import welcome  # `recall` also loads this module, but not the chat

    welcome.ensure_workspace(context.obj)
    function(".talk.chat")(context)


def run() -> None:
    """Run the command, print any error, and exit with its code."""
    if COMPLETES in os.environ:
        from typer.completion import completion_init  # takes 5 ms

        completion_init()
    arguments = hoisted(sys.argv[1:])
    _open_closed_streams()
    try:
        if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        code = cli(arguments, prog_name="assistant", standalone_mode=False)
        sys.stdout.flush()
        sys.exit(code)  # None, or the code of a command's `typer.Exit`
    except (AssistantError, TyperException) as error:
        if isinstance(error, TyperException):
            error = _usage_error(error)
        elif "--debug" in arguments:
            raise
        echo(f"assistant: {error}", err=True)
        sys.exit(error.exit_code)
    except (KeyboardInterrupt, Abort):
        if sys.stderr.isatty():
            echo(err=True)  # the terminal has printed `^C`
        sys.exit(INTERRUPTED)
    except BrokenPipeError:  # the reader of the pipe has exited, as `head` does
        _discard_output()
        sys.exit(1)
    except OSError as error:  # usually from standard output: the disk is full
        if "--debug" in arguments:
            raise
        _discard_output()
        path = error.filename or "the output could not be written"
        echo(f"assistant: {path}: {error.strerror or error}. See --debug", err=True)
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
    """Convert a parser error, with a pointer to the help page as its cure."""
    command: Any = getattr(error, "ctx", None)
    cure = f"See `{command.command_path} --help`" if command else ""
    is_unknown = hasattr(error, "possibilities") and not error.possibilities
    flag = getattr(error, "option_name", "")
    if command and not command.parent and any(flag in p.opts for p in Commands()["chat"].params):
        cure = f"Write `assistant chat {flag}`"
    if command and is_unknown and any(param.nargs == -1 for param in command.command.params):
        cure = f"Write `--` before words that begin with a dash. {cure}"
    message = error.format_message().rstrip(".")
    for theirs, ours in PARSER_WORDS.items():
        message = re.sub(theirs, ours, message)
    return UsageError(f"{message[0].lower()}{message[1:]}", cure)


def hoisted(arguments: list[str]) -> list[str]:
    """Move the global options to the front of the arguments."""
    front: list[str] = []
    rest: list[str] = []
    words = iter(arguments)
    for word in words:
        if word == "--":
            return [*front, *rest, word, *words]
        if word in ("-w", "--workspace"):
            front += [word, *(value for value in [next(words, None)] if value is not None)]
        elif word in ("--no-daemon", "--debug") or word.startswith(("--workspace=", "-w")):
            front.append(word)
        else:
            rest.append(word)
    return front + rest
