"""One `Memory` served to many connections.

Requests of all clients run one after another on one thread. The event loop stays free to answer,
to report progress, and to notice a reason to leave: idle, asked to yield, told by a signal, or
robbed of the workspace.
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
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import assistant
from assistant.errors import AssistantError, DaemonError
from assistant.locking import Lock
from assistant.memory.base import DaemonStatus, MemoryStatus, Notify, Progress
from assistant.memory.daemon import sockets, wire
from assistant.memory.daemon.operations import OPERATIONS, Operation
from assistant.memory.protocol import Keeper


class Served(Keeper, Protocol):
    """Memory as it is served."""

    def refresh(self) -> None:
        """Bring the index up to the files ahead of the next question."""


Opener = Callable[[Progress, Notify], Served]

ALIVE_SECONDS = 5.0
"""How often a client that waits is told that its request is still at work."""
LOOK_SECONDS = 5.0
"""How often the server looks whether its workspace is still there."""
PROGRESS_SECONDS = 0.1
"""The least time between two reports of progress."""
SLOW_SECONDS = 30.0
"""How long a client may take to accept its answer before it is cut off."""
SLOW_BYTES = 65536
"""Progress is not sent to a client that has so much still to read."""
MOST_CONNECTIONS = 2048
"""Beyond this the connection idle for longest is closed; its client connects again by itself."""

logger = logging.getLogger(__name__)


class Server:
    """Serves the memory that `opener` opens, to clients whose hello is `hello`."""

    def __init__(
        self,
        opener: Opener,
        hello: wire.Hello,
        held: Lock,
        idle_seconds: float,
        most_connections: int = MOST_CONNECTIONS,
    ) -> None:
        self._opener = opener
        self._hello = hello
        self._held = held
        self._idle_seconds = idle_seconds
        self._most_connections = most_connections
        self._memory: Served | None = None
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="memory")
        self._connections: dict[asyncio.StreamWriter, float] = {}
        self._waiting: dict[asyncio.StreamWriter, str] = {}
        self._all_answered = asyncio.Event()
        self._all_answered.set()
        self._leaving = asyncio.Event()
        self._gone = asyncio.Event()
        self._started = self._last_used = time.monotonic()
        self._reported = 0.0
        self._notices: list[str] = []

    async def run(self, listener: sockets.Listener, ready: Callable[[], None]) -> None:
        """Serve until there is a reason to leave; then finish what runs and let go of the index."""
        self._loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            self._loop.add_signal_handler(number, self._leave, "told to end")
        server = await asyncio.start_unix_server(
            self._serve, sock=listener.socket, limit=wire.MAX_REQUEST, backlog=1024
        )
        ready()
        warm_up = self._loop.run_in_executor(self._worker, self._warm_up)
        await self._look_around()
        server.close()
        listener.close()
        await warm_up
        await self._finish()

    def touch(self) -> None:
        """Take the hint that a memory file may have changed; from any thread."""
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._freshen)

    def _freshen(self) -> None:
        if not self._is_leaving():
            self._loop.run_in_executor(self._worker, self._warm_up)

    async def _look_around(self) -> None:
        """Return when there is a reason to leave."""
        pause = min(LOOK_SECONDS, self._idle_seconds / 4)
        while not self._leaving.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._leaving.wait(), pause)
            if self._is_leaving():
                return
            if not self._waiting and time.monotonic() - self._last_used > self._idle_seconds:
                self._leave("idle")

    def _is_leaving(self) -> bool:
        if not self._held.stands():
            self._leave("the workspace is gone")
        return self._leaving.is_set()

    def _leave(self, reason: str) -> None:
        if not self._leaving.is_set():
            logger.info("leaving: %s", reason)
            self._leaving.set()

    async def _finish(self) -> None:
        """Answer what was asked, close the index, and only then let another have it."""
        await self._all_answered.wait()
        if self._memory is not None:
            await self._loop.run_in_executor(self._worker, self._memory.close)
        self._worker.shutdown()
        self._held.release()
        self._gone.set()
        await asyncio.gather(*(_close(writer) for writer in list(self._connections)))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, from its first line to its end."""
        try:
            if sockets.peer_uid(writer.get_extra_info("socket")) == os.geteuid():
                self._make_room()
                self._connections[writer] = time.monotonic()
                await self._converse(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client went away
        except TimeoutError:
            writer.transport.abort()  # it does not read what it asked for
        finally:
            self._connections.pop(writer, None)
            writer.close()

    def _make_room(self) -> None:
        idle = self._connections.keys() - self._waiting.keys()
        if len(self._connections) >= self._most_connections and idle:
            min(idle, key=self._connections.__getitem__).close()

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        greeted = False
        while True:
            line = await _read_line(reader, writer)
            if self._is_leaving():
                break
            ident = None
            try:
                request = wire.parse(line, wire.Request)
                ident = request.id
                greeted |= await self._handle(writer, request, greeted)
            except AssistantError as error:
                await _send(writer, wire.refusal(ident, error))
        await self._gone.wait()  # the end of the connection says that the index is free

    async def _handle(
        self, writer: asyncio.StreamWriter, request: wire.Request, greeted: bool
    ) -> bool:
        """Do what one line asks; true if it was a hello that suits."""
        match request.op:
            case wire.HELLO:
                suits = self._suits(request.params)
                await _send(writer, wire.result(request.id, suits))
                return suits
            case wire.ABOUT:
                await _send(writer, wire.result(request.id, self._about()))
            case wire.YIELD:
                self._leave("asked to yield")
                await self._gone.wait()
            case op if greeted and op in OPERATIONS:
                await self._answer(writer, request, OPERATIONS[op])
            case _:
                raise DaemonError("the memory daemon was asked before it was greeted, or amiss")
        return False

    def _suits(self, params: bytes) -> bool:
        """Whether this daemon is what the client needs; if not, it leaves."""
        suits = wire.parse(params, wire.Greeting).hello == self._hello
        if not suits:
            self._leave("a client needs another version or other settings")
        return suits

    def _about(self) -> DaemonStatus:
        uptime = time.monotonic() - self._started
        return DaemonStatus(os.getpid(), assistant.__version__, _resident_bytes(), uptime)

    async def _answer(
        self,
        writer: asyncio.StreamWriter,
        request: wire.Request,
        operation: Operation[..., Any],
    ) -> None:
        self._waiting[writer] = request.id
        self._all_answered.clear()
        self._connections[writer] = time.monotonic()
        try:
            work = self._loop.run_in_executor(
                self._worker, self._perform, operation, request.params
            )
            while not (await asyncio.wait({work}, timeout=ALIVE_SECONDS))[0]:
                self._tell(writer, None)
            notices, self._notices = self._notices, []
            await _send(writer, wire.result(request.id, work.result(), tuple(notices)))
        finally:
            self._last_used = time.monotonic()
            del self._waiting[writer]
            if not self._waiting:
                self._all_answered.set()

    def _perform(self, operation: Operation[..., Any], params: bytes) -> Any:
        """Do what was asked, on the worker's thread; whatever fails in it becomes an answer."""
        try:
            done = operation.perform(self._opened(), params)
        except AssistantError:
            raise
        except BaseException as error:  # Chroma's Rust panics are no Exception
            logger.exception("%s failed", operation.name)
            raise DaemonError(
                f"{operation.name} failed in the memory daemon: {type(error).__name__}: {error}",
                f"Its log is {sockets.log_path(Path(self._hello.workspace))}",
            ) from error
        return replace(done, daemon=self._about()) if isinstance(done, MemoryStatus) else done

    def _warm_up(self) -> None:
        """Do ahead what the next request would do; if it fails, that request tells why."""
        try:
            self._opened().refresh()
        except AssistantError as error:
            logger.warning("memory cannot be made ready: %s", type(error).__name__)
        except Exception:
            logger.exception("memory cannot be made ready")

    def _opened(self) -> Served:
        if self._memory is None:
            self._memory = self._opener(self._progress, self._notify)
        return self._memory

    def _notify(self, notice: str) -> None:
        """Keep what the owner should know for the next answer, whoever asked."""
        self._notices.append(notice)

    def _progress(self, what: str, done: int, total: int) -> None:
        """Tell all who wait, now and then; called on the worker's thread."""
        now = time.monotonic()
        if now - self._reported >= PROGRESS_SECONDS or done == total:
            self._reported = now
            self._loop.call_soon_threadsafe(self._tell_all, (what, done, total))

    def _tell_all(self, progress: tuple[str, int, int]) -> None:
        for writer in self._waiting:
            self._tell(writer, progress)

    def _tell(self, writer: asyncio.StreamWriter, progress: tuple[str, int, int] | None) -> None:
        if writer.transport.get_write_buffer_size() < SLOW_BYTES and not writer.is_closing():
            writer.write(wire.line(wire.Answer(self._waiting[writer], progress)))


async def _read_line(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
    try:
        return await reader.readuntil(b"\n")
    except asyncio.LimitOverrunError as overrun:
        error = DaemonError(f"a request is longer than {wire.MAX_REQUEST:,} bytes")
        await _send(writer, wire.refusal(None, error))
        raise ConnectionAbortedError from overrun


async def _send(writer: asyncio.StreamWriter, answer: wire.Answer) -> None:
    """Send one line. Raises TimeoutError if the client does not take it, ConnectionError."""
    writer.write(wire.line(answer))
    async with asyncio.timeout(SLOW_SECONDS):
        await writer.drain()


async def _close(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with contextlib.suppress(ConnectionError, TimeoutError):
        async with asyncio.timeout(1.0):
            await writer.wait_closed()


def _resident_bytes() -> int:
    """The memory this process holds; on macOS the most it ever held."""
    if sys.platform == "darwin":
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * resource.getpagesize()
