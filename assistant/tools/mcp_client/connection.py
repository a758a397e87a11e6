"""A connection to one server, kept in a thread of its own; what hangs, dies or floods, ends there.

The protocol is the `mcp` library's, which is imported when the first server is.
"""

import json
import logging
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import anyio
from anyio.from_thread import BlockingPortal, start_blocking_portal

from assistant import __version__
from assistant.disk import programs
from assistant.errors import ToolError
from assistant.quoting import neutralised, one_line
from assistant.tools.base import ToolResult, awaited
from assistant.tools.launch import starting
from assistant.tools.mcp_client.pins import Definition
from assistant.tools.mcp_client.servers import Server, filled

if TYPE_CHECKING:
    from mcp import Client

SHOWN = 80


def result_of(answer: Any) -> ToolResult:
    """A result of the `mcp` library's as one of ours."""
    text = "\n".join(_parts(answer.content))
    if not text.strip() and answer.structured_content is not None:
        text = json.dumps(answer.structured_content, ensure_ascii=False, default=str)
    said = neutralised(text)
    first = one_line(said.strip().partition("\n")[0])[:SHOWN]
    return ToolResult(said, error=bool(answer.is_error), compact=first)


def _parts(content: Any) -> Iterator[str]:
    for each in content:
        match each.type:
            case "text":
                yield each.text
            case "image" | "audio":
                yield f"[{each.type}, {each.mime_type}, {len(each.data):,} characters: not shown]"
            case "resource_link":
                yield f"[resource: {each.uri}]"
            case "resource" if hasattr(each.resource, "text"):
                yield each.resource.text
            case _:
                yield f"[{each.type}: not shown]"


COMPANION = starting("run_server")
PATIENCE = 10.0
"""Seconds that the end of a connection is waited for."""
CLOSED = -32000
"""The library's code for a connection that is no more."""
PAGES = 20
"""Pages of tools that a server may list."""
TOLD = 300
"""Characters of a server's last words that are told."""


@contextmanager
def portal() -> Iterator[BlockingPortal]:
    """The thread that all connections of a conversation live in, until it is left."""
    with start_blocking_portal(name="MCP servers") as begun:
        try:
            yield begun
        finally:
            begun.call(begun.stop, True)


class Connection:
    """A server that runs, or is reached, until `close`. Raises ToolError if it does not start."""

    def __init__(self, server: Server, thread: BlockingPortal, interrupt: threading.Event) -> None:
        self.server = server
        self.changed = False
        """Whether the server has said that its tools are others now."""
        self._thread = thread
        self._interrupt = interrupt
        self._log = tempfile.TemporaryFile("w+b")  # noqa: SIM115  # as long as the server lives
        self._words = ""
        self._client: Client | None = None
        self._ready: Future[None] = Future()
        self._over = threading.Event()
        self._serving = thread.start_task_soon(self._serve)
        try:
            self._wait(self._ready, server.settings.start_seconds, "start")
        except ToolError:
            self.close()
            raise

    @property
    def alive(self) -> bool:
        """Whether it can still be asked."""
        return not (self._serving.done() or self._over.is_set())

    def definitions(self) -> dict[str, Definition]:
        """The tools that it has now. Raises ToolError."""
        self.changed = False
        listed: dict[str, Definition] = self._ask(
            self._list, self.server.settings.start_seconds, "list its tools"
        )
        return listed

    def call(self, tool: str, arguments: Mapping[str, Any]) -> ToolResult:
        """What a tool answers. Raises ToolError."""

        async def calling() -> ToolResult:
            assert self._client is not None
            return result_of(await self._client.call_tool(tool, dict(arguments)))

        answered: ToolResult = self._ask(calling, self.server.settings.timeout_seconds, "answer")
        return answered

    def close(self) -> None:
        """Hang up; a server that we started ends with all that it started."""
        self._serving.cancel()

    def ended(self) -> None:
        """Wait until it has hung up."""
        self._over.wait(PATIENCE)

    async def _serve(self) -> None:
        """Hold the connection open until it breaks or is closed."""
        try:
            async with self._connected() as self._client:
                self._ready.set_result(None)
                await anyio.sleep_forever()
        except BaseException as error:  # carried to whoever waits for it to begin
            if not self._ready.done():
                self._ready.set_exception(ToolError(self._why(error)))
            if not isinstance(error, Exception):
                raise
        finally:
            self._words = self._last_words()
            self._over.set()
            self._log.close()

    def _connected(self) -> "Client":
        from mcp import Client, StdioServerParameters  # 0.6 s: where a server is used
        from mcp.client.stdio import stdio_client
        from mcp.client.streamable_http import streamable_http_client
        from mcp_types import Implementation

        # It logs each line that is no message, such as a server's greeting, with a whole trace.
        logging.getLogger("mcp").addHandler(logging.NullHandler())
        settings = self.server.settings
        about = Implementation(name="assistant", version=__version__)
        if settings.url:
            reached = _http(settings.url, settings.headers)
            transport: Any = streamable_http_client(filled(settings.url), http_client=reached)
        else:
            log: Any = self._log  # its descriptor is all that is used
            command = [filled(arg) for arg in (settings.command or "", *settings.args)]
            command[0] = programs.find(command[0], self.server.roots) or command[0]
            transport = stdio_client(
                StdioServerParameters(
                    command=COMPANION[0],
                    args=[*COMPANION[1:], *command],
                    env={name: filled(value) for name, value in settings.env.items()},
                    cwd=settings.cwd or self.server.origin or None,
                ),
                errlog=log,
            )
        return Client(transport, mode="legacy", client_info=about, message_handler=self._told)

    async def _told(self, message: Any) -> None:
        if type(message).__name__ == "ToolListChangedNotification":
            self.changed = True

    async def _list(self) -> dict[str, Definition]:
        assert self._client is not None
        found: dict[str, Definition] = {}
        cursor: str | None = None
        for _ in range(PAGES):
            page = await self._client.list_tools(cursor=cursor, cache_mode="bypass")
            for tool in page.tools:
                schema = json.loads(json.dumps(tool.input_schema, default=str))
                found[tool.name] = Definition(tool.name, tool.description or "", schema)
            cursor = page.next_cursor
            if cursor is None:
                break
        return found

    def _ask(self, work: Callable[[], Any], seconds: float, what: str) -> Any:
        if not self.alive:
            raise ToolError(f"the MCP server {self.server.name} has ended{self._last_words()}")
        return self._wait(self._thread.start_task_soon(work), seconds, what)

    def _wait(self, answer: Future[Any], seconds: float, what: str) -> Any:
        """What comes of some work there. Raises ToolError if it fails, or the owner interrupts."""
        begun = answer is not self._ready
        try:
            return awaited(answer, seconds, self._interrupt, lambda: self.alive or not begun)
        except ToolError:
            raise
        except TimeoutError as error:
            name, words = self.server.name, self._last_words()
            if begun and not self.alive:
                raise ToolError(f"the MCP server {name} has ended{words}") from error
            raise ToolError(
                f"the MCP server {name} did not {what} within {seconds:g} s{words}"
            ) from error
        except Exception as error:  # what a server of anybody's answers
            if getattr(error, "code", None) in (None, CLOSED):
                self.close()
            raise ToolError(self._why(error)) from error
        finally:
            answer.cancel()

    def _why(self, error: BaseException) -> str:
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        said = one_line(str(error))[:TOLD] or type(error).__name__
        return f"the MCP server {self.server.name} failed: {said}{self._last_words()}"

    def _last_words(self) -> str:
        """The end of what it printed on standard error."""
        if self._over.is_set():
            return self._words
        self._log.seek(0)
        lines = one_line(self._log.read().decode("utf-8", "replace"))
        return f" ({lines[-TOLD:]})" if lines else ""


def _http(url: str, headers: Mapping[str, str]) -> Any:
    import httpx2

    given = {name: filled(value) for name, value in headers.items()}
    return httpx2.AsyncClient(headers=given, timeout=httpx2.Timeout(30.0, read=300.0))


@contextmanager
def connected(server: Server) -> Iterator[Connection]:
    """A connection for a moment. Raises ToolError."""
    with portal() as thread:
        connection = Connection(server, thread, threading.Event())
        try:
            yield connection
        finally:
            connection.close()
            connection.ended()
