"""A memory daemon's life: it listens, serves, and notices a reason to leave.

Reasons are: idle, asked to yield, told by a signal, robbed of its workspace, older than its code.
If its socket is lost, as when a logout removes the runtime directory, it listens again, where it
can be found.
"""

import asyncio
import contextlib
import logging
import os
import resource
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace

import assistant
from assistant.disk.locking import Lock
from assistant.errors import DaemonError
from assistant.memory.base import Notify, Progress
from assistant.memory.daemon import sockets, wire
from assistant.memory.daemon.clients import Clients
from assistant.memory.daemon.code import Code
from assistant.memory.daemon.connection import Connection
from assistant.memory.daemon.work import Rest, Served, Work
from assistant.memory.state import DaemonStatus
from assistant.settings.memory import MemorySettings
from assistant.settings.tree import validate

Opener = Callable[[Progress, Notify], Served]

LOOK_SECONDS = 2.0
"""How often the server looks whether its workspace and its socket are still there."""
PROGRESS_SECONDS = 0.1
"""The least time between two reports of progress."""
IN_USE_SECONDS = 300.0
"""After so long without a client of its own settings it leaves for one of others."""

logger = logging.getLogger(__name__)


class Server:
    """Serves the memory that `opener` opens, to clients whose hello is `hello`."""

    def __init__(
        self,
        opener: Opener,
        hello: wire.Hello,
        held: Lock,
        idle_seconds: float,
    ) -> None:
        self._hello = hello
        self._root = Path(hello.workspace)
        self._code = Code()
        self._held = held
        self._idle_seconds = idle_seconds
        log = str(sockets.log_path(self._root))
        self.work = Work(lambda: self._opened(opener), log)
        self.gone = asyncio.Event()
        self._leaving = asyncio.Event()
        self._clients = Clients()
        self._started = time.monotonic()
        self._rest = Rest()
        self._suited = time.time()
        self._reported = 0.0
        self._notices: list[str] = []

    async def run(self, listener: sockets.Listener, ready: Callable[[], None]) -> None:
        """Serve until there is a reason to leave; then finish what runs and let go of the index."""
        self._loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            self._loop.add_signal_handler(number, self.leave, "told to end")
        await self._listen(listener)
        ready()
        self.work.freshen()
        await self._look_around()
        self._hush()
        await self._finish()

    def _opened(self, opener: Opener) -> Served:
        memory = opener(self._progress, self._notify)
        self._code.look()  # most of it was loaded for that
        return memory

    def touch(self) -> None:
        """Take the hint that a memory file may have changed; from any thread."""
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._freshen)

    def _freshen(self) -> None:
        if not self.is_leaving():
            self.work.freshen()

    # Life

    async def _listen(self, listener: sockets.Listener) -> None:
        self._listener = listener
        self._listening = await asyncio.start_unix_server(
            self._serve, sock=listener.socket, limit=wire.MAX_REQUEST, backlog=1024
        )

    def _hush(self) -> None:
        self._listening.close()
        self._listener.close()

    async def _look_around(self) -> None:
        """Return when there is a reason to leave."""
        while not self._leaving.is_set():
            pause = min(LOOK_SECONDS, self._idle_seconds / 4)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._leaving.wait(), pause)
            if self.is_leaving():
                return
            if not self._listener.stands():
                await self._listen_again()
            resting = self._clients.resting()
            if resting > self._idle_seconds:
                self.leave("idle")
            elif self._rest.is_due(resting):
                self._rest.take()

    async def _listen_again(self) -> None:
        self._hush()
        try:
            await self._listen(sockets.listen(self._root))
        except (DaemonError, OSError) as error:
            self.leave(f"there is no place to listen ({type(error).__name__})")
        else:
            logger.info("the socket was lost; listening again")

    def is_leaving(self) -> bool:
        """Whether no more requests are taken."""
        if not (self._held.stands() and self._root.exists()):
            self.leave("the workspace is gone")
        return self._leaving.is_set()

    def leave(self, reason: str) -> None:
        """End, once what has begun is done."""
        if not self._leaving.is_set():
            logger.info("leaving: %s", reason)
            self._leaving.set()

    async def _finish(self) -> None:
        """Answer what has begun, close the index, and only then let another have it."""
        await self._clients.answered()
        await self._loop.run_in_executor(None, self.work.close)
        self._held.release()
        self.gone.set()
        await self._clients.dismiss()

    # Clients

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = Connection(self, reader, writer)
        try:
            if connection.ours:
                self._clients.add(connection)
                await connection.converse()
        except ConnectionError:
            pass  # the client went away
        except TimeoutError:
            connection.abort()
        finally:
            self._clients.remove(connection)

    def greeted(self, greeting: wire.Greeting) -> MemorySettings | None:
        """The settings for a client's recalls; None if this daemon does not suit it and leaves.

        Raises ConfigError, and DaemonError if it stays though it does not suit.
        """
        hello = greeting.hello
        if replace(hello, digest="") != replace(self._hello, digest=""):
            self.leave("a client needs another version")
            return None
        if self._code.changed():
            self.leave("its code is another by now")
            return None
        if hello.digest != self._hello.digest:
            self._give_way(greeting.configured)
            return None
        self._suited = time.time()
        chosen = validate(greeting.settings)
        self._idle_seconds = chosen.daemon.idle_seconds
        return chosen.memory

    def _give_way(self, configured: float) -> None:
        """Leave for a client with other settings of the index, unless both are in use.

        Two shells that differ would restart each other's daemon at every command; a configuration
        that was changed meanwhile is meant.
        """
        if configured < self._suited and time.time() - self._suited < IN_USE_SECONDS:
            raise DaemonError(
                f"the memory daemon, process {os.getpid()}, is in use with other settings of "
                "[embedding] or [index]",
                "Make them the same in both shells, or run `assistant daemon stop` first",
            )
        self.leave("a client needs other settings")

    def about(self) -> DaemonStatus:
        """What there is to say of the daemon itself."""
        uptime = time.monotonic() - self._started
        return DaemonStatus(os.getpid(), assistant.__version__, _resident_bytes(), uptime)

    # What there is to tell

    def take_notices(self) -> tuple[str, ...]:
        """What the owner should know, for the next answer, whoever asked."""
        taken, self._notices = tuple(self._notices), []
        return taken

    def _notify(self, notice: str) -> None:
        self._loop.call_soon_threadsafe(self._notices.append, notice)

    def _progress(self, what: str, done: int, total: int) -> None:
        """Tell all who wait, now and then; called on a thread that works."""
        now = time.monotonic()
        if now - self._reported >= PROGRESS_SECONDS or done == total:
            self._reported = now
            self._loop.call_soon_threadsafe(self._clients.tell, (what, done, total))


def _resident_bytes() -> int:
    """The memory this process holds; on macOS the most it ever held."""
    if sys.platform == "darwin":
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * resource.getpagesize()
