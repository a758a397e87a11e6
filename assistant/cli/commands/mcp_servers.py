"""`mcp-servers`: the MCP servers whose tools the assistant uses, and their approval."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import typer

from assistant.cli.options import AsJson, Globals, Yes, answer, note
from assistant.cli.palette import echo
from assistant.cli.questions import must_confirm
from assistant.display import counted, revealed
from assistant.errors import UsageError
from assistant.tools.mcp_client import servers
from assistant.tools.mcp_client.pins import Pins
from assistant.tools.mcp_client.servers import Server
from assistant.tools.mcp_client.tools import Checked, check_all

NONE = "There are no MCP servers: add one with `assistant config edit`, or in a .mcp.json."


def list_(
    context: typer.Context,
    name: str | None = None,
    as_json: AsJson = False,
) -> None:
    """Connect to each server, and compare its tools with the approved ones.

    Arguments:
      [NAME]: Only this server.
    """
    chosen = [_server_named(context.obj, name)] if name else _servers(context.obj)
    enabled = [server for server in chosen if not server.settings.disabled]
    results = {result.name: result for result in check_all(enabled)}
    rows = [(server, results.get(server.name, Checked(server.name))) for server in chosen]
    answer([{**_origin(server), **asdict(result)} for server, result in rows])
    if not rows:
        echo(NONE, err=True)
    for server, result in rows:
        _show(server, result)
    if any(result.fault or result.changed for result in results.values()):
        raise typer.Exit(1)


def approve(context: typer.Context, name: str, yes: Yes = False) -> None:
    """Approve a server of a .mcp.json, or tools that have changed.

    Arguments:
      NAME: The server.
    """
    server, pins = _server_named(context.obj, name), Pins()
    pin, starts = pins.of(server), pins.may_start(server)
    changed = pin.held_back
    if starts and not changed:
        echo(f"{name} needs no approval.", err=True)
        return
    if not starts:
        echo(f"{server.origin or 'You'} would start or reach:")
        echo(_quoted(server.entry))
        for path in pins.changed(server):
            echo(f"It runs {path}, which has changed since you approved it.")
    for tool, difference in changed.items():
        echo(f"{tool}:\n{_quoted(difference)}")
    must_confirm("Approve this?", yes=yes)
    pins.agree(server, pin)
    echo(f"Approved: {name}.")


def _servers(options: Globals) -> Sequence[Server]:
    named = servers.of(options.workspace())
    for notice in named.notices:
        note(notice)
    return named.servers


def _server_named(options: Globals, name: str) -> Server:
    present = _servers(options)
    for server in present:
        if server.name == name:
            return server
    names = ", ".join(server.name for server in present) or "none"
    raise UsageError(f"there is no MCP server {name!r}", f"Available: {names}")


def _origin(server: Server) -> dict[str, Any]:
    """Return how a server is reached, the file of its entry, and whether it is disabled."""
    file = f"{server.origin}/.mcp.json" if server.origin else ""
    return {"how": server.how, "origin": file, "disabled": server.settings.disabled}


def _show(server: Server, checked: Checked) -> None:
    name, origin = checked.name, _origin(server)
    entry = "  " + " · ".join(filter(None, (server.how, origin["origin"])))
    if origin["disabled"]:
        echo(f"- {name}: disabled", entry)
        return
    if checked.fault:
        echo(f"✗ {name}: {checked.fault}")
        return
    tools = f"{counted(len(checked.tools), 'tool')} in {checked.seconds:.1f} s"
    mark = "✗" if checked.changed else "✓"
    echo(f"{mark} {name}: {tools}", entry)
    for tool, difference in checked.changed.items():
        echo(f"  {tool} has changed since it was approved:")
        echo(_quoted(difference))
    if checked.changed:
        echo(f"  `assistant mcp-servers approve {name}` approves it.")


def _quoted(difference: str) -> str:
    return "\n".join(f"  │ {revealed(line)}" for line in difference.split("\n"))
