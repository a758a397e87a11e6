"""MCP tools in a conversation: offered as approved, called on demand.

A server with pinned tools starts only when one of them is called. A server without pins is started
at once, so that its tools can be pinned.
"""

import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from assistant.display import counted
from assistant.errors import ToolError
from assistant.quoting import one_line
from assistant.tools.base import CORE, Plan, Tool, ToolResult
from assistant.tools.mcp_client.pins import Definition, Pins, spec, tool_name
from assistant.tools.mcp_client.servers import Server

if TYPE_CHECKING:
    from anyio.from_thread import BlockingPortal

    from assistant.tools.mcp_client.connection import Connection

FEW = 10
"""Maximum number of tools that are offered at once; more are only listed by name until loaded."""
HELD = (
    "held back: the MCP server {name} describes this tool differently than when it was approved. "
    "The owner sees the difference, and approves it, with `assistant mcp-servers approve {name}`"
)


@dataclass(eq=False)
class Foreign:
    """The MCP servers of one conversation. `tell` receives notices for the owner."""

    servers: Sequence[Server]
    pins: Pins
    tell: Callable[[str], None]
    interrupt: threading.Event

    def __post_init__(self) -> None:
        self._connections: dict[str, Connection] = {}
        self._cleanup = ExitStack()
        self._thread: BlockingPortal | None = None
        self._portal_lock = threading.Lock()
        self._starting = {server.key: threading.Lock() for server in self.servers}

    def tools(self) -> list[Tool]:
        """Return the tools to offer: of each server that may start, those unchanged since their
        approval."""
        enabled = (server for server in self.servers if not server.settings.disabled)
        startable = [server for server in enabled if self._may_start(server)]
        unmet = [server for server in startable if self.pins.of(server).tools is None]
        if unmet:
            with ThreadPoolExecutor(len(unmet)) as meeting:
                for message in meeting.map(self._meet, unmet):
                    self.tell(message)
        tools: dict[str, Tool] = {}
        offered = [(server, self.pins.of(server)) for server in startable]
        few = sum(len(pin.offered) for _, pin in offered) <= FEW
        for server, pin in offered:
            if pin.held_back:
                self.tell(_held_back(server, pin.held_back))
            for definition in pin.offered.values():
                tool = self._tool(server, definition, CORE if few else f"mcp_{server.name}")
                if tools.setdefault(tool.name, tool) is not tool:
                    self.tell(
                        f"The tool {one_line(definition.name)} of the MCP server {server.name} is "
                        f"not offered: another one is called {tool.name}"
                    )
        return list(tools.values())

    def close(self) -> None:
        """Stop the servers that were started."""
        self._cleanup.close()
        self._thread = None
        self._connections.clear()

    def _may_start(self, server: Server) -> bool:
        if self.pins.may_start(server):
            return True
        self.tell(f"The MCP server {server.name}: {_not_approved(server, self.pins)}")
        return False

    def _meet(self, server: Server) -> str:
        """Pin the tools of a server on first contact; return a message for the owner."""
        try:
            pin = self.pins.met(server, self.connection(server).definitions())
        except ToolError as error:
            return f"No tools of this MCP server: {error}"
        tools = counted(len(pin.offered), "tool")
        return f"MCP server {server.name}: {tools}, recorded as described now"

    def _tool(self, server: Server, definition: Definition, group: str) -> Tool:
        offered = spec(tool_name(server.name, definition.name), definition)
        plan = partial(self._plan, server, definition)
        return Tool(offered, plan, group, writes=True, reveals=True)

    def _plan(self, server: Server, definition: Definition, arguments: Mapping[str, Any]) -> Plan:
        call_arguments = dict(arguments)
        only_value = str(next(iter(call_arguments.values()))) if len(call_arguments) == 1 else None
        subject = (
            only_value
            if only_value is not None
            else json.dumps(call_arguments, ensure_ascii=False, default=str)
        )
        run = partial(self._call, server, definition, call_arguments)
        return Plan(run, (subject,), dangerous=True)

    def _call(
        self, server: Server, definition: Definition, arguments: dict[str, Any]
    ) -> ToolResult:
        connection = self.connection(server)
        pin = self.pins.of(server)
        if connection.changed:
            pin = self.pins.met(server, connection.definitions())
        if pin.offered.get(definition.name) != definition:
            raise ToolError(HELD.format(name=server.name))
        return connection.call(definition, arguments)

    def connection(self, server: Server) -> "Connection":
        """Return the connection to a server; start it if needed, and compare its tools."""
        from assistant.tools.mcp_client.connection import Connection  # imports anyio and mcp

        with self._starting[server.key]:
            running = self._connections.get(server.key)
            if running is None or not running.alive:
                if not self.pins.may_start(server):
                    raise ToolError(_not_approved(server, self.pins))
                running = Connection(server, self._portal(), self.interrupt)
                self._connections[server.key] = running
                if self.pins.of(server).tools is not None:
                    self.pins.met(server, running.definitions())
            return running

    def _portal(self) -> "BlockingPortal":
        """Return the thread that all connections share, started with the first one."""
        from assistant.tools.mcp_client.connection import portal

        with self._portal_lock:
            if self._thread is None:
                self._thread = self._cleanup.enter_context(portal())
            return self._thread


def _not_approved(server: Server, pins: Pins) -> str:
    """Explain why a server may not start, and how to approve it."""
    changed = pins.changed(server) if pins.of(server).agreed or not server.origin else []
    reason = f"{', '.join(changed)} has changed" if changed else "not approved"
    return f"{reason}, so it was not started: `assistant mcp-servers approve {server.name}`"


def _held_back(server: Server, differences: Mapping[str, str]) -> str:
    names = ", ".join(differences)
    return (
        f"Held back, since the MCP server {server.name} describes them differently than when "
        f"approved: {names}. `assistant mcp-servers approve {server.name}` shows the difference"
    )


@dataclass(frozen=True, slots=True)
class Checked:
    """The result of checking a server: its tools, the changed ones with their differences, or its
    fault."""

    name: str
    seconds: float = 0.0
    tools: Sequence[str] = ()
    changed: dict[str, str] = field(default_factory=dict)
    fault: str = ""


def checked(server: Server) -> Checked:
    """Start or contact a server, if the owner has approved it, and list its tools."""
    pins, started = Pins(), time.monotonic()
    with closing(Foreign([server], pins, lambda _: None, threading.Event())) as foreign:
        try:
            current = foreign.connection(server).definitions()
        except ToolError as error:
            return Checked(server.name, fault=error.message)
        seconds = round(time.monotonic() - started, 2)
    return Checked(server.name, seconds, list(current), pins.met(server, current).held_back)


def check_all(servers: Sequence[Server]) -> list[Checked]:
    """Check servers in parallel."""
    with ThreadPoolExecutor(max(len(servers), 1)) as pool:
        return list(pool.map(checked, servers))
