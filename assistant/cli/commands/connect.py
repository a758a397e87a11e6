"""`connect`, `hook` and `mcp`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer

from assistant.cli.memory_text import show_diff
from assistant.cli.options import (
    AsJson,
    Globals,
    Yes,
    answer,
    argument,
    at_terminal,
    own_command,
)
from assistant.cli.palette import echo
from assistant.cli.questions import must_confirm
from assistant.errors import UsageError
from assistant.integrations import connecting
from assistant.integrations.connecting import Connection
from assistant.integrations.hook import Call, respond
from assistant.integrations.programs import PROGRAMS, Launch, Program, named
from assistant.workspace.folder import default_root

NAMES = "claude-code, codex, gemini-cli, qwen-code, cursor, opencode, claude-desktop or zed"


def connect(
    context: typer.Context,
    program: Annotated[
        str,
        argument(
            "[PROGRAM]", f"{NAMES}; without one, list all.", autocompletion=lambda: list(PROGRAMS)
        ),
    ] = "",
    print_only: bool = False,
    undo: bool = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Let a coding agent or an editor use this memory; the change is shown first.

    Arguments:
      --print: Show the change without making it.
      --undo: Disconnect it.

    Examples:
      assistant connect
      assistant connect claude-code
      assistant connect zed --print
      assistant connect codex --undo
    """
    workspace = (context.obj.directory or default_root()).resolve()  # it may not exist
    if not program:
        if undo or print_only or yes:
            raise UsageError("no program given", f"Name one of {NAMES}")
        return _list(workspace)
    root = workspace if undo else context.obj.workspace().root
    launch = Launch(own_command(), root)
    chosen = named(program)
    changes = connecting.changes(chosen, launch, undo=undo)
    made = bool(changes) and not print_only and (yes or not as_json)
    for change in changes:
        show_diff(change.diff())
    replaced = [f"{change.path} has another server in its place: {change.replaces}"
                for change in changes if change.replaces]  # fmt: skip
    for text in replaced:
        echo(f"{text}.")
    copies: list[Path] = []
    if made:
        if replaced and (yes or not at_terminal()):
            cure = "Run this at a terminal, without --yes, to be asked about it"
            raise UsageError(". ".join(replaced), cure)
        must_confirm("Replace it until --undo?" if replaced else "Make this change?", yes=yes)
        copies = connecting.carry_out(chosen, changes, undo=undo)
    diffs = [{"path": str(change.path), "diff": list(change.diff())} for change in changes]
    backups = list(map(str, copies))
    answer({"program": chosen.name, "changes": diffs, "made": made, "copies": backups})
    if made or not changes:
        _report(chosen, copies, made=made, undo=undo)


def _list(workspace: Path) -> None:
    """Print how each program is connected to a workspace, which may not exist; starts none of
    them."""
    launch = Launch(own_command(), workspace)
    connected = {
        connection.program.name: connection for connection in connecting.connections(launch)
    }
    states = {name: _state(connected.get(name), str(workspace)) for name in PROGRAMS}
    answer([{"program": name, "state": state} for name, state in states.items()])
    width = max(map(len, states))
    for name, state in states.items():
        echo(f"{name:{width}}  {state}")


def _state(connection: Connection | None, workspace: str) -> str:
    if connection is None:
        return "not connected"
    if connection.unclear:
        return connection.unclear
    hooks = "" if connection.whole else ", without its hooks"
    return f"connected{'' if workspace in connection.command else ' to another workspace'}{hooks}"


def _report(program: Program, copies: Sequence[Path], *, made: bool, undo: bool) -> None:
    for copy in copies:
        echo(f"Backup: {copy}")
    if not made:
        state = "is not connected" if undo else "is already connected"
        echo(f"{program.title} {state}; nothing to change.")
    elif undo:
        echo(f"{program.title} is no longer connected.")
    else:
        echo(f"{program.title} is connected. {program.afterwards}")


def hook(
    context: typer.Context,
    event: str = "prompt",
    program: str = "",
    quiet: Literal["once", "session"] | None = None,
    patient: Annotated[bool, typer.Option("--patient", hidden=True)] = False,
) -> None:
    """Answer an event of a coding agent: JSON on standard input. `connect` sets it up.

    It always succeeds, so that it never stops the agent; --debug prints errors.

    Arguments:
      [EVENT]: prompt, compact, session-end or session-start.
      --for NAME: The program that calls.
      --quiet-for once|session: Give no memory to the next prompt, or to the rest of its
          conversation.

    Examples:
      assistant hook --quiet-for session
    """
    options: Globals = context.obj
    call = Call(event, program, quiet, patient)
    respond(options.workspace, call, debug=options.debug)


def mcp(
    context: typer.Context,
    name: str | None = None,
    trust: bool = False,
    read_only: bool = False,
) -> None:
    """Serve memory over MCP, on standard input and output.

    Arguments:
      --as NAME: The program's name in memory's journal.
      --trust: Store what it writes without your review.
      --read-only: Do not let it write.

    Examples:
      assistant mcp --as claude-code
      assistant mcp --as zed --read-only
    """
    if trust and read_only:
        raise UsageError("--trust and --read-only cannot be combined", "Give one of them")
    from assistant.integrations.mcp_server import serve  # not for `--help`
    from assistant.integrations.mcp_tools import Permissions

    options: Globals = context.obj
    serve(
        options.workspace(), Permissions(name or "", trust, read_only), no_daemon=options.no_daemon
    )
