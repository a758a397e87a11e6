"""A connection to one MCP server, in its own thread; it ends if the server hangs, dies or floods.

The protocol comes from the `mcp` library, which is imported with the first server.
"""

import base64
import json
import logging
import tempfile
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
from anyio.from_thread import BlockingPortal, start_blocking_portal

from assistant import __version__
from assistant.config import cache_dir
from assistant.disk import programs
from assistant.errors import ToolError, UsageError
from assistant.messages import Picture
from assistant.model.pictures import picture_of
from assistant.quoting import neutralised, one_line
from assistant.tools.base import ToolResult, awaited, picture_notice
from assistant.tools.launch import starting
from assistant.tools.mcp_client.pins import PROMPTS, RESOURCES, Definition
from assistant.tools.mcp_client.servers import Server, filled

if TYPE_CHECKING:
    from mcp import Client

SHOWN = 80


def result_of(answer: Any) -> ToolResult:
    """Convert a result of the `mcp` library to ours."""
    pictures: list[Picture] = []
    text = "\n".join(_parts(answer.content, pictures))
    if not text.strip() and answer.structured_content is not None:
        text = json.dumps(answer.structured_content, ensure_ascii=False, default=str)
    return _text([text], pictures, error=bool(answer.is_error))


def _text(
    lines: Iterable[str], pictures: Sequence[Picture] = (), *, error: bool = False
) -> ToolResult:
    neutral = neutralised("\n".join(lines)) or "(none)"
    first_line = one_line(neutral.strip().partition("\n")[0])[:SHOWN]
    return ToolResult(neutral, error=error, compact=first_line, pictures=tuple(pictures))


def _parts(content: Any, pictures: list[Picture]) -> Iterator[str]:
    """Yield the text of each part, adding pictures to the list."""
    for part in content:
        match part.type:
            case "text":
                yield part.text
            case "image" | "audio":
                yield _picture(part.data, pictures) or f"[{part.type}, {part.mime_type}: not shown]"
            case "resource_link":
                yield f"[resource: {part.uri}]"
            case "resource":
                yield _content(part.resource, pictures)
            case _:
                yield f"[{part.type}: not shown]"


def _content(resource: Any, pictures: list[Picture]) -> str:
    """Return the text of a resource, or a description of a resource without text."""
    text = getattr(resource, "text", None) or _picture(getattr(resource, "blob", ""), pictures)
    return text or f"[{resource.uri}, {resource.mime_type}: not shown]"


def _picture(encoded: str, pictures: list[Picture]) -> str:
    """Add base64-encoded data if it is a picture; return the text that stands for it."""
    try:
        picture = picture_of(base64.b64decode(encoded))
    except (ValueError, UsageError):
        return ""
    if picture is None:
        return ""
    pictures.append(picture)
    return picture_notice(picture)


def _line(name: str, description: str | None) -> str:
    return one_line(f"{name}: {description}" if description else name)


COMPANION = starting("run_server")
CLOSED = -32000
"""The library's code for a closed connection."""
PAGES = 20
"""Maximum number of pages of a list that are read."""
TOLD = 300
"""Maximum characters of a server's last output that are reported."""


@contextmanager
def portal() -> Iterator[BlockingPortal]:
    """Run the thread that holds all connections of a conversation; at the end they are closed."""
    with start_blocking_portal(name="MCP servers") as blocking_portal:
        try:
            yield blocking_portal
        finally:
            blocking_portal.call(blocking_portal.stop, True)


class Connection:
    """A running or remote server, until `close`. Raises ToolError if it does not start."""

    def __init__(self, server: Server, thread: BlockingPortal, interrupt: threading.Event) -> None:
        self.server = server
        self.changed = False
        """Whether the server has announced that its tools changed."""
        self._thread = thread
        self._interrupt = interrupt
        self._log = tempfile.TemporaryFile("w+b")  # noqa: SIM115  # as long as the server lives
        self._words = ""
        self._client: Client | None = None
        self._ready: Future[None] = Future()
        self._serving = thread.start_task_soon(self._keep_open)
        try:
            self._wait(self._ready, server.settings.start_seconds, "start")
        except ToolError:
            self.close()
            raise

    @property
    def alive(self) -> bool:
        """Whether the connection is still usable."""
        return not (self._serving.done() or self._log.closed)

    def definitions(self) -> dict[str, Definition]:
        """Return the server's current tools. Raises ToolError."""
        self.changed = False
        seconds = self.server.settings.start_seconds
        listed: dict[str, Definition] = self._run(_definitions, seconds, "list its tools")
        return listed

    def call(self, definition: Definition, arguments: Mapping[str, Any]) -> ToolResult:
        """Call a tool and return its result. Raises ToolError."""
        seconds = self.server.settings.timeout_seconds
        work = partial(_called, definition, arguments)
        result: ToolResult = self._run(work, seconds, "answer")
        return result

    def close(self) -> None:
        """Disconnect; a server that this process started ends with its descendants."""
        self._serving.cancel()

    async def _keep_open(self) -> None:
        """Keep the connection open until it breaks or is closed."""
        try:
            async with self._make_client() as self._client:
                self._ready.set_result(None)
                await anyio.sleep_forever()
        except BaseException as error:  # re-raised in the thread that waits for the start
            if not self._ready.done():
                self._ready.set_exception(ToolError(self._describe_error(error)))
            if not isinstance(error, Exception):
                raise
        finally:
            self._words = self._stderr_end()
            self._log.close()

    def _make_client(self) -> "Client":
        from mcp import Client, StdioServerParameters  # takes 0.6 s to import
        from mcp.client.stdio import stdio_client
        from mcp.client.streamable_http import streamable_http_client
        from mcp_types import Implementation

        # It logs a traceback for each line that is not a message, such as a server's greeting.
        logging.getLogger("mcp").addHandler(logging.NullHandler())
        settings = self.server.settings
        client_info = Implementation(name="assistant", version=__version__)
        if settings.url:
            http_client = _http(settings.url, settings.headers)
            transport: Any = streamable_http_client(filled(settings.url), http_client=http_client)
        else:
            log: Any = self._log  # only its descriptor is used
            command = [self.server.program, *map(filled, settings.args)]
            transport = stdio_client(
                StdioServerParameters(
                    command=COMPANION[0],
                    args=[*COMPANION[1:], *command],
                    env={
                        "PATH": programs.environment(self.server.roots)["PATH"],
                        "PYTHONPYCACHEPREFIX": str(
                            cache_dir() / "bytecode"
                        ),  # no tool can write it
                        **{name: filled(value) for name, value in settings.env.items()},
                    },
                    cwd=settings.cwd or self.server.origin or None,
                ),
                errlog=log,
            )
        return Client(
            transport, mode="legacy", client_info=client_info, message_handler=self._on_message
        )

    async def _on_message(self, message: Any) -> None:
        if type(message).__name__ == "ToolListChangedNotification":
            self.changed = True

    def _run(self, work: Callable[["Client"], Any], seconds: float, what: str) -> Any:
        if not self.alive:
            raise ToolError(f"the MCP server {self.server.name} has ended{self._stderr_end()}")
        client: Any = self._client  # open, since the connection is alive
        return self._wait(self._thread.start_task_soon(work, client), seconds, what)

    def _wait(self, answer: Future[Any], seconds: float, what: str) -> Any:
        """Wait for the result of work in the thread. Raises ToolError on failure or interrupt."""
        is_started = answer is not self._ready
        try:
            return awaited(answer, seconds, self._interrupt, lambda: self.alive or not is_started)
        except ToolError:
            raise
        except TimeoutError as error:
            name, words = self.server.name, self._stderr_end()
            if is_started and not self.alive:
                raise ToolError(f"the MCP server {name} has ended{words}") from error
            raise ToolError(
                f"the MCP server {name} did not {what} within {seconds:g} s{words}"
            ) from error
        except Exception as error:  # any server may answer with any error
            if getattr(error, "code", None) in (None, CLOSED):
                self.close()
            raise ToolError(self._describe_error(error)) from error
        finally:
            answer.cancel()

    def _describe_error(self, error: BaseException) -> str:
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        message = one_line(str(error))[:TOLD] or type(error).__name__
        return f"the MCP server {self.server.name} failed: {message}{self._stderr_end()}"

    def _stderr_end(self) -> str:
        """Return the end of the server's standard error."""
        if self._log.closed:
            return self._words
        self._log.seek(0)
        lines = one_line(self._log.read().decode("utf-8", "replace"))
        return f" ({lines[-TOLD:]})" if lines else ""


async def _definitions(client: "Client") -> dict[str, Definition]:
    definitions: dict[str, Definition] = {}
    async for page in _pages(client.list_tools):
        for tool in page.tools:
            schema = json.loads(json.dumps(tool.input_schema, default=str))
            definitions[tool.name] = Definition(tool.name, tool.description or "", schema)
    can = client.server_capabilities
    if can.resources and (
        await _all(client.list_resources, "resources")
        or await _all(client.list_resource_templates, "resource_templates")
    ):
        definitions.setdefault(RESOURCES.name, RESOURCES)
    if can.prompts and await _all(client.list_prompts, "prompts"):
        definitions.setdefault(PROMPTS.name, PROMPTS)
    return definitions


async def _called(
    definition: Definition, arguments: Mapping[str, Any], client: "Client"
) -> ToolResult:
    pictures: list[Picture] = []
    if definition == RESOURCES and (uri := arguments.get("uri")):
        contents = (await client.read_resource(uri)).contents
        return _text((_content(each, pictures) for each in contents), pictures)
    if definition == RESOURCES:
        listed = await _all(client.list_resources, "resources")
        patterns = await _all(client.list_resource_templates, "resource_templates")
        return _text(
            [_line(resource.uri, resource.description or resource.name) for resource in listed]
            + [_line(pattern.uri_template, pattern.description) for pattern in patterns]
        )
    if definition == PROMPTS and (name := arguments.get("name")):
        filled_in = await client.get_prompt(name, dict(arguments.get("arguments") or {}))
        content = (message.content for message in filled_in.messages)
        return _text(_parts(content, pictures), pictures)
    if definition == PROMPTS:
        return _text(
            _line(
                f"{prompt.name}({', '.join(arg.name for arg in prompt.arguments or ())})",
                prompt.description,
            )
            for prompt in await _all(client.list_prompts, "prompts")
        )
    return result_of(await client.call_tool(definition.name, dict(arguments)))


async def _pages(request: Callable[..., Any]) -> AsyncIterator[Any]:
    """Yield the pages of a list."""
    cursor: str | None = None
    for _ in range(PAGES):
        page = await request(cursor=cursor, cache_mode="bypass")
        yield page
        cursor = page.next_cursor
        if cursor is None:
            break


async def _all(request: Callable[..., Any], name: str) -> list[Any]:
    """Return all items of a list; only those received if the server fails, since many servers
    declare lists that they do not have."""
    from mcp import MCPError

    items: list[Any] = []
    try:
        async for page in _pages(request):
            items += getattr(page, name)
    except MCPError as error:
        if error.code == CLOSED:
            raise
    return items


def _http(url: str, headers: Mapping[str, str]) -> Any:
    import httpx2

    filled_headers = {name: filled(value) for name, value in headers.items()}
    return httpx2.AsyncClient(headers=filled_headers, timeout=httpx2.Timeout(30.0, read=300.0))
