"""One client of a daemon: from its first line to its end.

A client asks one thing at a time. While that is done, the connection tells that the daemon is at
work, and notices if the client goes: then what has not begun is dropped.
"""

import asyncio
import contextlib
import os
import select
import time
from dataclasses import replace
from typing import Any, Protocol

from assistant.errors import AssistantError, DaemonError
from assistant.memory.base import Query
from assistant.memory.daemon import sockets, wire
from assistant.memory.daemon.operations import OPERATIONS, RECALL, Operation
from assistant.memory.daemon.work import Work
from assistant.memory.state import DaemonStatus, MemoryStatus
from assistant.memory.wanted import Abandoned
from assistant.settings.memory import MemorySettings

ALIVE_SECONDS = 3.0
"""How often a client that waits is told that the daemon is at work."""
SLOW_SECONDS = 30.0
"""How long a client may take to accept its answer before it is cut off."""
SLOW_BYTES = 65536
"""Progress is not sent to a client that has so much still to read."""
_LEFT = select.POLLHUP | select.POLLERR | getattr(select, "POLLRDHUP", 0)


class Host(Protocol):
    """The server, as a connection needs it."""

    work: Work
    gone: asyncio.Event
    """Set when the index is free."""

    def greeted(self, greeting: wire.Greeting) -> MemorySettings | None:
        """The settings for a client's recalls; None if this daemon does not suit it and leaves.

        Raises ConfigError, and DaemonError if the daemon stays though it does not suit.
        """

    def about(self) -> DaemonStatus:
        """What there is to say of the daemon itself."""

    def leave(self, reason: str) -> None:
        """End, once what has begun is done."""

    def is_leaving(self) -> bool:
        """Whether the daemon takes no more requests."""

    def take_notices(self) -> tuple[str, ...]:
        """What the owner should know and was not told yet."""


class Connection:
    """A client that is connected.

    `asked` names its request at work, `answered` is set while there is none, `used` is when it
    last asked (time.monotonic).
    """

    def __init__(
        self, host: Host, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.asked: str | None = None
        self.used = time.monotonic()
        self.answered = asyncio.Event()
        self.answered.set()
        self._host = host
        self._reader = reader
        self._writer = writer
        self._lines: asyncio.Queue[bytes] = asyncio.Queue(1)
        self._left = False
        self._settings: MemorySettings | None = None

    @property
    def ours(self) -> bool:
        """Whether the client is a process of the user this daemon belongs to."""
        return sockets.peer(self._socket()).user == os.geteuid()

    async def converse(self) -> None:
        """Answer until the client goes, or until the daemon does.

        Raises TimeoutError if the client does not read what it asked for; ConnectionError.
        """
        reading = asyncio.create_task(self._read_ahead())
        try:
            while (line := await self._lines.get()) and not self._host.is_leaving():
                await self._take(line)
            if line:
                await self._wait_until_gone()
        finally:
            reading.cancel()

    def tell(self, progress: tuple[str, int, int] | None) -> None:
        """Say how far the work is, or only that there is some; not to one who does not read."""
        unread = self._writer.transport.get_write_buffer_size()
        if unread < SLOW_BYTES and not self._writer.is_closing():
            self._writer.write(wire.line(wire.Answer(self.asked, progress)))

    def close(self) -> None:
        """Hang up."""
        self._writer.close()

    def abort(self) -> None:
        """Hang up on one who does not read."""
        self._writer.transport.abort()

    async def closed(self) -> None:
        """Hang up, and return when what was said is sent, or soon."""
        self._writer.close()
        with contextlib.suppress(ConnectionError, TimeoutError):
            async with asyncio.timeout(1.0):
                await self._writer.wait_closed()

    # Reading

    async def _read_ahead(self) -> None:
        """Take lines as they come; an empty one stands for the end."""
        try:
            while True:
                await self._lines.put(await self._reader.readuntil(b"\n"))
        except asyncio.LimitOverrunError:
            failure = DaemonError(f"a request is longer than {wire.MAX_REQUEST:,} bytes")
            with contextlib.suppress(ConnectionError, TimeoutError):
                await self._send(wire.refusal(None, failure))
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the client went away
        self._left = True
        await self._lines.put(b"")

    def _is_there(self) -> bool:
        """Whether the client still waits; asked from the thread that is about to work for it."""
        if self._left:
            return False
        poll = select.poll()
        poll.register(self._socket().fileno(), _LEFT)
        return not poll.poll(0)

    def _socket(self) -> Any:
        return self._writer.get_extra_info("socket")

    # Answering

    async def _take(self, line: bytes) -> None:
        ident = None
        try:
            request = wire.parse(line, wire.Request)
            ident = request.id
            await self._handle(request)
        except Abandoned:
            pass  # nobody is there to be told
        except AssistantError as error:
            await self._send(wire.refusal(ident, error))

    async def _handle(self, request: wire.Request) -> None:
        match request.op:
            case wire.HELLO:
                greeting = wire.parse(request.params, wire.Greeting)
                self._settings = self._host.greeted(greeting)
                await self._send(wire.result(request.id, self._settings is not None))
            case wire.ABOUT:
                await self._send(wire.result(request.id, self._host.about()))
            case wire.YIELD:
                self._host.leave("asked to yield")
                await self._wait_until_gone()
            case op if self._settings is not None and op in OPERATIONS:
                await self._answer(request, OPERATIONS[op], self._settings)
            case _:
                raise DaemonError("the memory daemon was asked before it was greeted, or amiss")

    async def _answer(
        self, request: wire.Request, operation: Operation[..., Any], settings: MemorySettings
    ) -> None:
        arguments = operation.parameters(request.params)
        if operation is RECALL:
            arguments["query"] = _as_set(arguments["query"], settings)
        self.asked, self.used = request.id, time.monotonic()
        self.answered.clear()
        try:
            work = self._host.work.do(operation, arguments, self._is_there)
            result = await self._awaited(asyncio.wrap_future(work))
            if isinstance(result, MemoryStatus):
                result = replace(result, daemon=self._host.about())
            notices = self._host.take_notices()
            await self._send(wire.result(request.id, result, notices))
        finally:
            self.asked, self.used = None, time.monotonic()
            self.answered.set()

    async def _awaited(self, work: "asyncio.Future[Any]") -> Any:
        while not (await asyncio.wait({work}, timeout=ALIVE_SECONDS))[0]:
            self.tell(None)
        return work.result()

    async def _wait_until_gone(self) -> None:
        """The end of the connection says that the index is free."""
        while not self._host.gone.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._host.gone.wait(), ALIVE_SECONDS)
            self.tell(None)

    async def _send(self, answer: wire.Answer) -> None:
        self._writer.write(wire.line(answer))
        if self._writer.transport.get_write_buffer_size():
            async with asyncio.timeout(SLOW_SECONDS):
                await self._writer.drain()


def _as_set(query: Query, settings: MemorySettings) -> Query:
    """The query with the client's own settings for what it leaves open."""
    return replace(
        query,
        k=query.k or settings.k,
        budget=query.budget or settings.budget,
        abstain=settings.abstain if query.abstain is None else query.abstain,
    )
