"""What the owner has agreed to: which servers may start, and what their tools were said to be.

It is kept outside any workspace, so that none can agree in its owner's place. A server's tools are
kept as they are when it is first met; what it says otherwise later is held back until approved.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import msgspec

from assistant import config
from assistant.disk import locking, storage
from assistant.errors import StorageError
from assistant.tools.foreign.definitions import Definition, Definitions, changes
from assistant.tools.foreign.servers import Server


@dataclass(frozen=True, slots=True)
class Pin:
    """What is kept of a server.

    `agreed` is the digest of the entry that may start; `tools` what its tools are approved as, None
    before it was met; `seen` what it said last, where that is something else.
    """

    agreed: str = ""
    tools: dict[str, Definition] | None = None
    seen: dict[str, Definition] = field(default_factory=dict)

    @property
    def held(self) -> dict[str, str]:
        """The tools that are held back, each with its difference."""
        return changes(self.tools or {}, self.seen)

    @property
    def offered(self) -> dict[str, Definition]:
        """The tools that are as they were approved."""
        return {name: each for name, each in (self.tools or {}).items() if name not in self.held}


class Pins:
    """The file of pins."""

    def __init__(self) -> None:
        self._path = config.state_dir() / "mcp.json"

    def of(self, server: Server) -> Pin:
        """What is kept of a server. Raises StorageError."""
        return self._all().get(server.key, Pin())

    def may_start(self, server: Server) -> bool:
        """Whether the owner wants it: it is theirs, or they agreed to this very entry."""
        return not server.origin or self.of(server).agreed == server.digest

    def agree(self, server: Server, shown: Pin) -> None:
        """The owner has been shown the entry and what is held back, and agrees to just these.

        Raises StorageError if something else is held back by now.
        """

        def approved(pin: Pin) -> Pin:
            if pin.seen != shown.seen:
                raise StorageError(f"{server.name} has changed since it was shown", "Look again")
            tools = {**(pin.tools or {}), **pin.seen} if pin.tools is not None else None
            return Pin(server.digest, tools)

        self._change(server, approved)

    def met(self, server: Server, now: Definitions) -> Pin:
        """Compare what a server says now with what is kept; at the first time, keep it."""

        def compared(pin: Pin) -> Pin:
            if pin.tools is None:
                return replace(pin, tools=dict(now), seen={})
            return replace(pin, seen=dict(now) if changes(pin.tools, now) else {})

        return self._change(server, compared)

    def _change(self, server: Server, change: Callable[[Pin], Pin]) -> Pin:
        storage.private_directory(self._path.parent)
        with locking.lock(self._path.with_suffix(".lock")):
            pins = self._all()
            before = pins.get(server.key, Pin())
            after = change(before)
            if after != before:
                storage.replace(self._path, msgspec.json.encode({**pins, server.key: after}))
        return after

    def _all(self) -> dict[str, Pin]:
        try:
            return msgspec.json.decode(storage.read(self._path), type=dict[str, Pin])
        except FileNotFoundError:
            return {}
        except msgspec.MsgspecError as error:
            raise StorageError(
                f"{self._path} is damaged", "Remove it, and approve the servers anew"
            ) from error
