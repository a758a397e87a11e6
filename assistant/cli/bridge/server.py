"""`mcp`: memory as a server for other programs."""

from typing import Annotated

import typer

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
    from assistant.bridge.mcp.beginning import serve_memory  # behind `--help`

    options: Globals = context.obj
    serve_memory(
        options.place(),
        name or "",
        trusted=trust,
        read_only=read_only,
        no_daemon=options.no_daemon,
    )
