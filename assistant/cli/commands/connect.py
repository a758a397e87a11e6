"""`connect`, `hook` and `mcp`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assistant.cli.options import AsJson, Globals, confirmed, own_command, print_json
from assistant.display import spelled
from assistant.errors import UsageError
from assistant.workspace.folder import default_root

if TYPE_CHECKING:
    from assistant.bridge.connecting import Change, Connection
    from assistant.bridge.programs import Program


NAMES = "claude-code, codex, cursor, opencode, claude-desktop or zed."
COLOURS = {"-": "red", "+": "green", "@": "cyan"}


def register(cli: typer.Typer) -> None:
    """Add the commands to the tree."""
    lenient = {"ignore_unknown_options": True, "allow_extra_args": True}
    cli.command()(connect)
    cli.command()(mcp)
    cli.command(context_settings=lenient)(hook)  # an option it does not know stops no program


def connect(
    context: typer.Context,
    program: Annotated[
        str, typer.Argument(metavar="[PROGRAM]", help=f"{NAMES} Without one, each is listed.")
    ] = "",
    print_only: Annotated[
        bool, typer.Option("--print", help="Show what would change, and change nothing.")
    ] = False,
    undo: Annotated[bool, typer.Option("--undo", help="Take the connection back.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: AsJson = False,
) -> None:
    """Connect another program to this memory: the change is shown, and made after your yes."""
    from assistant.bridge import connecting
    from assistant.bridge.programs import Launch, named

    if not program:
        if undo or print_only or yes:
            raise UsageError("no program is named", f"One of {NAMES}")
        return _list(context.obj.directory or default_root(), as_json=as_json)
    place = (
        (context.obj.directory or default_root()).resolve() if undo else context.obj.place().root
    )
    launch = Launch(own_command(), place)
    chosen = named(program)
    changes = (connecting.unmaking if undo else connecting.making)(chosen, launch)
    made = bool(changes) and not print_only and (yes or not as_json)
    if made:
        connecting.check(changes)
    if not as_json:
        _show(changes)
    copies: list[Path] = []
    if made:
        if not confirmed("Make this change?", yes=yes, cure="Run it again with --yes"):
            typer.echo("Nothing was changed.")
            raise typer.Exit(1)
        copies = (connecting.unmake if undo else connecting.make)(chosen, changes)
    if as_json:
        said = [{"path": str(each.path), "diff": list(each.diff())} for each in changes]
        kept = list(map(str, copies))
        print_json({"program": chosen.name, "changes": said, "made": made, "copies": kept})
    elif made or not changes:
        _tell(chosen, copies, made=made, undo=undo)


def _list(workspace: Path, *, as_json: bool) -> None:
    """Tell how each program stands to a workspace, which need not be there yet; none is started."""
    from assistant.bridge.connecting import connections
    from assistant.bridge.programs import PROGRAMS, Launch

    launch = Launch(own_command(), workspace.resolve())
    found = {each.program.name: each for each in connections(launch)}
    told = {name: _state(found.get(name), str(launch.workspace)) for name in PROGRAMS}
    if as_json:
        print_json([{"program": name, "state": state} for name, state in told.items()])
        return
    width = max(map(len, told))
    for name, state in told.items():
        typer.echo(f"{name:{width}}  {spelled(state)}")


def _state(connection: "Connection | None", workspace: str) -> str:
    if connection is None:
        return "not connected"
    if connection.unclear:
        return connection.unclear
    hooks = "" if connection.whole else ", without its hooks"
    return f"connected{'' if workspace in connection.command else ' to another workspace'}{hooks}"


def _tell(program: "Program", copies: Sequence[Path], *, made: bool, undo: bool) -> None:
    for copy in copies:
        typer.echo(f"As it was: {spelled(str(copy))}")
    if not made:
        state = "is not connected" if undo else "is connected already"
        typer.echo(f"{program.title} {state}; nothing to change.")
    elif undo:
        typer.echo(f"{program.title} is no longer connected.")
    else:
        typer.echo(f"{program.title} is connected. {program.afterwards}")


def _show(changes: "Sequence[Change]") -> None:
    for change in changes:
        for line in change.diff():
            typer.echo(typer.style(spelled(line), fg=COLOURS.get(line[:1])))


def hook(
    context: typer.Context,
    event: Annotated[
        str, typer.Argument(metavar="[EVENT]", help="prompt, compact, session-end, session-start.")
    ] = "prompt",
    program: Annotated[
        str, typer.Option("--for", metavar="NAME", help="The program that calls.")
    ] = "",
    quiet: Annotated[
        str | None,
        typer.Option(
            "--quiet-for",
            metavar="once|session",
            help="Give nothing from memory to the next prompt, or to its whole conversation.",
        ),
    ] = None,
    patient: Annotated[bool, typer.Option("--patient", hidden=True)] = False,
) -> None:
    """Answer an event of a coding agent, told as JSON on standard input; `connect` sets it up.

    Whatever is wrong, it says nothing and succeeds; --debug says what it was.
    """
    from assistant.bridge.hook import Call, respond  # behind `--help`

    options: Globals = context.obj
    call = Call(event, program, quiet, patient)
    respond(options.place, call, debug=options.debug)


def mcp(
    context: typer.Context,
    name: Annotated[
        str | None,
        typer.Option(
            "--as", metavar="NAME", help="What the program is called in memory's records."
        ),
    ] = None,
    trust: Annotated[
        bool, typer.Option("--trust", help="Store what it writes at once, without your review.")
    ] = False,
    read_only: Annotated[bool, typer.Option("--read-only", help="Let it write nothing.")] = False,
) -> None:
    """Serve memory to another program over MCP, on standard input and output."""
    if trust and read_only:
        raise UsageError("--trust and --read-only are opposites", "Give one of them")
    from assistant.bridge.mcp_server import serve  # behind `--help`
    from assistant.bridge.mcp_wire import Terms

    options: Globals = context.obj
    serve(options.place(), Terms(name or "", trust, read_only), no_daemon=options.no_daemon)
