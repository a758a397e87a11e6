"""`mcp`: memory as a server for other programs."""

from typing import Annotated

import typer

from assistant import config
from assistant.cli.options import Globals
from assistant.errors import UsageError


def register(cli: typer.Typer) -> None:
    """Add the command to the tree."""
    cli.command()(mcp)


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
    options: Globals = context.obj
    place = options.place()
    import gc

    gc.disable()  # a fifth of the time that the protocol's many models take to load
    from assistant.bridge.mcp.desk import Desk, Terms, notify
    from assistant.bridge.mcp.server import serve
    from assistant.memory.door import open_memory

    gc.freeze()
    gc.enable()
    desk = Desk(
        place,
        Terms(name or "", trust, read_only),
        lambda: open_memory(place, config.load(), no_daemon=options.no_daemon, notify=notify),
    )
    serve(desk)
