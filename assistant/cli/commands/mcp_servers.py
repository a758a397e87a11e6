"""`mcp-servers list|check|approve`: servers of other people's tools, and what was agreed to."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assistant.cli.help import commands
from assistant.cli.options import AsJson, Globals, confirmed, print_json
from assistant.display import counted, revealed, spelled
from assistant.errors import UsageError

if TYPE_CHECKING:
    from assistant.tools.mcp_client.servers import Server
    from assistant.tools.mcp_client.tools import Checked


server_commands = commands("Servers of other people's tools, in the Model Context Protocol.")

NONE = "No MCP servers are named: `assistant config edit`, or a .mcp.json in the workspace."
STATES = {
    "ready": "",
    "new": "not met yet",
    "changed": "tools held back",
    "not approved": "not approved",
    "disabled": "switched off",
}


def register(cli: typer.Typer) -> None:
    """Add the commands to the tree."""
    cli.add_typer(server_commands, name="mcp-servers")
    for command in (list_, check, approve):
        server_commands.command(command.__name__.rstrip("_"))(command)


def list_(context: typer.Context, as_json: AsJson = False) -> None:
    """List the servers, how each is reached, and how many tools of it are offered."""
    listed = [_told(each) for each in _servers(context.obj)]
    if as_json:
        print_json(listed)
        return
    if not listed:
        typer.echo(NONE, err=True)
    for each in listed:
        facts = [counted(each["tools"], "tool"), STATES[each["state"]], each["origin"]]
        said = " · ".join(filter(None, [spelled(each["how"]), *facts]))
        typer.echo(f"{spelled(each['name'])}  {typer.style(said, dim=True)}")
        if each["held"]:
            typer.echo(f"  held back: {spelled(', '.join(each['held']))}")


def check(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(help="Only this server.")] = None,
    as_json: AsJson = False,
) -> None:
    """Start or reach each server, and compare its tools with what was approved."""
    from assistant.tools.mcp_client.tools import checked

    chosen = [_named(context.obj, name)] if name else _servers(context.obj)
    found = [checked(each) for each in chosen if not each.settings.disabled]
    if as_json:
        print_json([asdict(each) for each in found])
    elif not found:
        typer.echo(NONE, err=True)
    else:
        for each in found:
            _show(each)
    if any(each.fault or each.changed for each in found):
        raise typer.Exit(1)


def approve(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="The server.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Agree to a server of a .mcp.json, or to tools that are described otherwise than before."""
    from assistant.tools.mcp_client.pins import Pins

    server, pins = _named(context.obj, name), Pins()
    pin, starts = pins.of(server), pins.may_start(server)
    held = pin.held
    if starts and not held:
        typer.echo(f"Nothing of {spelled(name)} waits for you.", err=True)
        return
    if not starts:
        typer.echo(f"{spelled(server.origin or 'You')}: this would be started or reached:")
        typer.echo(_shown(server.entry))
        for path in pins.changed(server):
            typer.echo(f"It runs {spelled(path)}, which you have not agreed to as it is now.")
    for tool, difference in held.items():
        typer.echo(f"{spelled(tool)}:\n{_shown(difference)}")
    if not confirmed("Agree to this?", yes=yes, cure="Run it again with --yes"):
        raise typer.Exit(1)
    pins.agree(server, pin)
    typer.echo(f"Approved: {spelled(name)}.")


def _servers(options: Globals) -> Sequence["Server"]:
    from assistant.tools.mcp_client.servers import of

    named = of(options.place())
    for notice in named.notices:
        typer.echo(f"note: {spelled(notice)}", err=True)
    return named.servers


def _named(options: Globals, name: str) -> "Server":
    servers = _servers(options)
    for each in servers:
        if each.name == name:
            return each
    known = ", ".join(each.name for each in servers) or "none"
    raise UsageError(f"there is no MCP server {name!r}", f"There are: {known}")


def _told(server: "Server") -> dict[str, Any]:
    """What is known of a server without asking it."""
    from assistant.tools.mcp_client.pins import Pins

    pins = Pins()
    pin = pins.of(server)
    state = "changed" if pin.held else "new" if pin.tools is None else "ready"
    state = state if pins.may_start(server) else "not approved"
    return {
        "name": server.name,
        "how": server.how,
        "origin": f"{server.origin}/.mcp.json" if server.origin else "",
        "state": "disabled" if server.settings.disabled else state,
        "tools": len(pin.offered),
        "held": list(pin.held),
    }


def _show(checked: "Checked") -> None:
    name = spelled(checked.name)
    if checked.fault:
        typer.echo(f"✗ {name}: {spelled(checked.fault)}")
        return
    tools = f"{counted(len(checked.tools), 'tool')} in {checked.seconds:.1f} s"
    typer.echo(f"{'✗' if checked.changed else '✓'} {name}: {tools}")
    for tool, difference in checked.changed.items():
        typer.echo(f"  {spelled(tool)} is described otherwise than approved:")
        typer.echo(_shown(difference))
    if checked.changed:
        typer.echo(f"  `assistant mcp-servers approve {name}` approves it.")


def _shown(difference: str) -> str:
    return "\n".join(f"  │ {revealed(line)}" for line in difference.split("\n"))
