"""The memory of one workspace as a program of another maker meets it: what it may, and as whom."""

import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from assistant.bridge.shelf import Shelf
from assistant.memory.protocol import Keeper
from assistant.workspace.folder import Workspace


@dataclass(frozen=True, slots=True)
class Terms:
    """What the owner granted when they had the server started.

    `name` is what the client is called, whatever it calls itself. What it writes waits for the
    owner's review unless `trusted`; it writes nothing if `read_only`.
    """

    name: str = ""
    trusted: bool = False
    read_only: bool = False


@dataclass(slots=True)
class Desk:
    """A workspace, the terms, and memory, which is opened when it is first asked."""

    place: Workspace
    terms: Terms
    opened: Callable[[], Keeper]
    _memory: Keeper | None = None
    _alone: threading.Lock = field(default_factory=threading.Lock)

    @property
    def shelf(self) -> Shelf:
        """The files that may be seen, by the rules as they are now."""
        return Shelf(self.place)

    def memory(self) -> Keeper:
        """Memory, opened once. Raises DaemonError, ConfigError, EmbedderError, StorageError."""
        with self._alone:
            if self._memory is None:
                self._memory = self.opened()
            return self._memory

    def close(self) -> None:
        """Let go of memory."""
        with self._alone:
            if self._memory is not None:
                self._memory.close()
                self._memory = None


def notify(text: str) -> None:
    """Tell the client's log, which is standard error."""
    with suppress(OSError, ValueError):
        sys.stderr.write(f"assistant: {text}\n")
