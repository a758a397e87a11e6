"""Who is connected to a memory daemon: how many there may be, and whether any of them is served."""

import asyncio
import time

from assistant.memory.daemon.connection import Connection

MOST_CONNECTIONS = 2048
"""Beyond this the connection idle for longest is closed; its client connects again by itself."""


class Clients:
    """The open connections of one daemon; used by the thread of its loop alone."""

    def __init__(self) -> None:
        self._connected: set[Connection] = set()
        self._last_used = time.monotonic()

    def add(self, connection: Connection) -> None:
        """Take one in, in the place of the one idle for longest where there are too many."""
        idle = [each for each in self._connected if each.asked is None]
        if len(self._connected) >= MOST_CONNECTIONS and idle:
            min(idle, key=lambda each: each.used).close()
        self._connected.add(connection)

    def remove(self, connection: Connection) -> None:
        """Hang up on one, whether it was taken in or not."""
        self._last_used = max(self._last_used, connection.used)
        self._connected.discard(connection)
        connection.close()

    def resting(self) -> float:
        """Seconds since one of them asked last; 0 while one is served."""
        if any(each.asked is not None for each in self._connected):
            return 0.0
        used = max([self._last_used, *(each.used for each in self._connected)])
        return time.monotonic() - used

    def tell(self, progress: tuple[str, int, int]) -> None:
        """Tell all who wait for an answer how far the work is."""
        for connection in self._connected:
            if connection.asked is not None:
                connection.tell(progress)

    async def answered(self) -> None:
        """Return when none of them waits for an answer."""
        await asyncio.gather(*(each.answered.wait() for each in self._connected))

    async def dismiss(self) -> None:
        """Hang up on all."""
        await asyncio.gather(*(each.closed() for each in list(self._connected)))
