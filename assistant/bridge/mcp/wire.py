"""What a client writes, as the protocol's stream: each line of it is a message, or is answered."""

from types import TracebackType
from typing import Any, Self

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError
from pydantic import ValidationError

Read = SessionMessage | Exception


class Lines:
    """The messages of a client. A line that is none is answered with JSON-RPC's error for it, which
    names no request, and passed over."""

    def __init__(self, messages: Any, answers: Any) -> None:
        self._messages = messages
        self._answers = answers

    @property
    def last_context(self) -> Any:
        """The context of who sent the last one."""
        return self._messages.last_context

    async def receive(self) -> Read:
        """The next message. Raises EndOfStream."""
        while isinstance(read := await self._messages.receive(), Exception):
            if fault := _fault(read):
                error = JSONRPCError(jsonrpc="2.0", id=None, error=fault)
                await self._answers.send(SessionMessage(error))
        message: Read = read
        return message

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

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()


def _fault(error: Exception) -> ErrorData | None:
    """What is wrong with a line; None for a blank one, which says nothing."""
    first = error.errors(include_url=False)[0] if isinstance(error, ValidationError) else None
    if first is None or first["type"] != "json_invalid":
        return ErrorData(code=INVALID_REQUEST, message="This is no message of JSON-RPC 2.0")
    if not first["input"].strip():
        return None
    return ErrorData(code=PARSE_ERROR, message="This line is no JSON: a message is one line of it")
