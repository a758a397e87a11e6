"""Other people's tools in a conversation: offered as they were approved, called on demand.

A server whose tools are known is not started before one of them is called. One that was never met
is, so that its tools can be kept as they are.
"""

import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from assistant.display import counted
from assistant.errors import ToolError
from assistant.quoting import one_line
from assistant.tools.base import CORE, Danger, Plan, Tool, ToolResult
from assistant.tools.mcp_client.pins import Definition, Pins, spec, tool_name
from assistant.tools.mcp_client.servers import Server

if TYPE_CHECKING:
    from anyio.from_thread import BlockingPortal

    from assistant.tools.mcp_client.connection import Connection

FEW = 10
"""Tools that are offered whole; of more only the names are, until they are fetched."""
HELD = (
    "held back: the MCP server {name} describes this tool otherwise than it was approved. The "
    "owner sees the difference, and approves it, with `assistant mcp-servers approve {name}`"
)


class Foreign:
    """The servers of one conversation. `tell` is given what the owner should hear."""

    def __init__(
        self,
        servers: Sequence[Server],
        pins: Pins,
        tell: Callable[[str], None],
        interrupt: threading.Event,
    ) -> None:
        self._servers = [server for server in servers if not server.settings.disabled]
        self._pins = pins
        self._tell = tell
        self._interrupt = interrupt
        self._connections: dict[str, Connection] = {}
        self._ending = ExitStack()
        self._thread: BlockingPortal | None = None
        self._beginning = threading.Lock()
        self._starting = {server.key: threading.Lock() for server in self._servers}

    def tools(self) -> list[Tool]:
        """What can be offered: of each server that may start, what is as it was approved."""
        wanted = [each for each in self._servers if self._may_start(each)]
        unmet = [each for each in wanted if self._pins.of(each).tools is None]
        if unmet:
            with ThreadPoolExecutor(len(unmet)) as meeting:
                for told in meeting.map(self._meet, unmet):
                    self._tell(told)
        found: dict[str, Tool] = {}
        offered = [(each, self._pins.of(each)) for each in wanted]
        few = sum(len(pin.offered) for _, pin in offered) <= FEW
        for server, pin in offered:
            if pin.held:
                self._tell(_held_back(server, pin.held))
            for definition in pin.offered.values():
                made = self._tool(server, definition, CORE if few else f"mcp_{server.name}")
                if found.setdefault(made.name, made) is not made:
                    self._tell(
                        f"The tool {one_line(definition.name)} of the MCP server {server.name} is "
                        f"not offered: another one is called {made.name}"
                    )
        return list(found.values())

    def close(self) -> None:
        """End the servers that were started."""
        for connection in self._connections.values():
            connection.close()
        for connection in self._connections.values():
            connection.ended()
        self._ending.close()
        self._thread = None
        self._connections.clear()

    def _may_start(self, server: Server) -> bool:
        if self._pins.may_start(server):
            return True
        self._tell(f"The MCP server {server.name}: {_not_agreed(server, self._pins)}")
        return False

    def _meet(self, server: Server) -> str:
        """Learn the tools of a server that was never met; what the owner is told of it."""
        try:
            met = self._pins.met(server, self._connected(server).definitions())
        except ToolError as error:
            return f"No tools of this MCP server: {error}"
        tools = counted(len(met.offered), "tool")
        return f"MCP server {server.name}: {tools}, kept as described now"

    def _tool(self, server: Server, definition: Definition, group: str) -> Tool:
        offered = spec(tool_name(server.name, definition.name), definition)
        plan = partial(self._plan, server, definition)
        return Tool(offered, plan, group, writes=True, reveals=True)

    def _plan(self, server: Server, definition: Definition, arguments: Mapping[str, Any]) -> Plan:
        given = dict(arguments)
        only = str(next(iter(given.values()))) if len(given) == 1 else None
        subject = only if only is not None else json.dumps(given, ensure_ascii=False, default=str)
        run = partial(self._call, server, definition, given)
        return Plan(run, Danger.DANGEROUS, (subject,))

    def _call(self, server: Server, definition: Definition, given: dict[str, Any]) -> ToolResult:
        connection = self._connected(server)
        pin = self._pins.of(server)
        if connection.changed:
            pin = self._pins.met(server, connection.definitions())
        now = pin.offered.get(definition.name)
        if now is None or now.digest != definition.digest:
            raise ToolError(HELD.format(name=server.name))
        return connection.call(definition.name, given)

    def _connected(self, server: Server) -> "Connection":
        """The running server, started if it is not, and what it says looked at."""
        from assistant.tools.mcp_client.connection import Connection  # anyio, mcp: where used

        with self._starting[server.key]:
            running = self._connections.get(server.key)
            if running is None or not running.alive:
                if not self._pins.may_start(server):
                    raise ToolError(f"{server.name}: {_not_agreed(server, self._pins)}")
                running = Connection(server, self._begin(), self._interrupt)
                self._connections[server.key] = running
                if self._pins.of(server).tools is not None:
                    self._pins.met(server, running.definitions())
            return running

    def _begin(self) -> "BlockingPortal":
        """The thread of the connections, begun with the first."""
        from assistant.tools.mcp_client.connection import portal

        with self._beginning:
            if self._thread is None:
                self._thread = self._ending.enter_context(portal())
            return self._thread


def _not_agreed(server: Server, pins: Pins) -> str:
    """Why a server may not start, and what lets it."""
    changed = pins.changed(server)
    why = f"{', '.join(changed)} has changed" if changed else "not approved"
    return f"{why}, and so not started: `assistant mcp-servers approve {server.name}`"


def _held_back(server: Server, held: Mapping[str, str]) -> str:
    names = ", ".join(held)
    return (
        f"Held back, since the MCP server {server.name} describes them otherwise than approved: "
        f"{names}. `assistant mcp-servers approve {server.name}` shows the difference"
    )


@dataclass(frozen=True, slots=True)
class Checked:
    """A server that was asked: its tools, the changed ones with the difference, or its fault."""

    name: str
    seconds: float = 0.0
    tools: Sequence[str] = ()
    changed: dict[str, str] = field(default_factory=dict)
    fault: str = ""


def checked(server: Server) -> Checked:
    """Start or reach a server, unless its owner has not agreed to that, and list its tools."""
    from assistant.tools.mcp_client.connection import connected  # mcp: where a server is asked

    pins, began = Pins(), time.monotonic()
    if not pins.may_start(server):
        return Checked(server.name, fault=_not_agreed(server, pins))
    try:
        with connected(server) as connection:
            now = connection.definitions()
            seconds = round(time.monotonic() - began, 2)
    except ToolError as error:
        return Checked(server.name, fault=error.message)
    return Checked(server.name, seconds, list(now), pins.met(server, now).held)
