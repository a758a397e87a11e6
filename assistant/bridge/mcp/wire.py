"""What a client writes and is answered, as the protocol's streams: each line is a message, or is
answered, and what was asked is answered also where nothing more will be asked."""

from typing import Any, Self

import anyio
from anyio.abc import AsyncResource
from mcp.shared.message import SessionMessage
from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)
from pydantic import ValidationError

Read = SessionMessage | Exception
LAST = 30.0
"""Seconds that a client which writes no more waits at most for what it has asked."""


class Answers(AsyncResource):
    """What goes to a client; it knows what was asked and is not answered yet."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._open: set[str | int | None] = set()

    def see(self, message: SessionMessage) -> None:
        """Note what the client asks, and what it wants no answer to any more."""
        match message.message:
            case JSONRPCRequest(id=name):
                self._open.add(name)
            case JSONRPCNotification(method="notifications/cancelled", params=params):
                self._open.discard((params or {}).get("requestId"))

    async def send(self, message: SessionMessage) -> None:
        """Send a message."""
        await self._stream.send(message)
        match message.message:
            case JSONRPCResponse(id=name) | JSONRPCError(id=name):
                self._open.discard(name)

    async def settled(self) -> None:
        """Return when all is answered, or has taken too long."""
        with anyio.move_on_after(LAST):
            while self._open:
                await anyio.sleep(0.01)

    async def aclose(self) -> None:
        """Send no more."""
        await self._stream.aclose()


class Lines(AsyncResource):
    """The messages of a client. A line that is none is answered with JSON-RPC's error for it, which
    names no request, and passed over."""

    def __init__(self, messages: Any, answers: Answers) -> None:
        self._messages = messages
        self._answers = answers

    @property
    def last_context(self) -> Any:
        """The context of who sent the last one."""
        return self._messages.last_context

    async def receive(self) -> Read:
        """The next message. Raises EndOfStream, once all that was asked is answered."""
        while isinstance(read := await self._next(), Exception):
            if fault := _fault(read):
                error = JSONRPCError(jsonrpc="2.0", id=None, error=fault)
                await self._answers.send(SessionMessage(error))
        self._answers.see(read)
        return read

    async def _next(self) -> Read:
        try:
            read: Read = await self._messages.receive()
        except anyio.EndOfStream:
            await self._answers.settled()
            raise
        return read

    async def aclose(self) -> None:
        """Read no more."""
        await self._messages.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Read:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None


def _fault(error: Exception) -> ErrorData | None:
    """What is wrong with a line; None for a blank one, which says nothing."""
    first = error.errors(include_url=False)[0] if isinstance(error, ValidationError) else None
    if first is None or first["type"] != "json_invalid":
        return ErrorData(code=INVALID_REQUEST, message="This is no message of JSON-RPC 2.0")
    if not first["input"].strip():
        return None
    return ErrorData(code=PARSE_ERROR, message="This line is no JSON: a message is one line of it")
