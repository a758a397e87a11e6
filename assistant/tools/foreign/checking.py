"""What a server says now, beside what was approved."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from assistant.errors import ToolError
from assistant.tools.foreign.pins import Pins
from assistant.tools.foreign.servers import Server


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
    from assistant.tools.foreign.connection import connected  # mcp: where a server is asked

    pins, began = Pins(), time.monotonic()
    if not pins.may_start(server):
        cure = f"`assistant mcp-servers approve {server.name}`"
        return Checked(server.name, fault=f"not approved, and so not started: {cure}")
    try:
        with connected(server) as connection:
            now = connection.definitions()
            seconds = round(time.monotonic() - began, 2)
    except ToolError as error:
        return Checked(server.name, fault=error.message)
    return Checked(server.name, seconds, list(now), pins.met(server, now).held)
