"""Serves memory over MCP on standard input and output.

It implements the protocol itself, one request after the other: it needs little of it, and the
official SDK takes a second to import, for which not every program waits.
"""

import json
import os
import re
import signal
import sys
import traceback
from collections import deque
from contextlib import suppress
from typing import Any, BinaryIO
from urllib.parse import quote, unquote

import assistant
from assistant import config
from assistant.errors import AssistantError, UsageError
from assistant.integrations.mcp_tools import MemoryTools, Permissions
from assistant.integrations.visible import SCHEME
from assistant.memory.open import open_memory
from assistant.quoting import neutralised
from assistant.tables import table_of
from assistant.workspace.folder import Workspace, command_for

Json = dict[str, Any]

VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""Protocol versions that start with `initialize`; newer clients fall back to it."""
MARKDOWN = "text/markdown"
QUOTING = ("recall", "read", "context", "agenda")
"""Tools whose answers quote memory verbatim; a command in any other answer is for the owner."""
PARSE_ERROR, INVALID_REQUEST, NO_METHOD, INVALID_PARAMS = -32700, -32600, -32601, -32602
FAILED, NO_RESOURCE = -32603, -32002
_data: Json = table_of(__file__)


class Refused(Exception):
    """A request to answer with a JSON-RPC error."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.error = {"code": code, "message": message}


class Server:
    """Answers one client, whose messages are lines of JSON."""

    def __init__(self, tools: MemoryTools, reader: BinaryIO, writer: BinaryIO) -> None:
        self._tools = tools
        self._reader = reader
        self._writer = writer
        self._calls: deque[Json] = deque()
        """Tool calls that arrived while waiting for the owner's answer."""
        self._questions = 0
        self._answering: Any = None
        """The ID of the current request."""
        tools.ask = self._ask

    def run(self) -> None:
        """Answer until the client disconnects."""
        while (message := self._calls.popleft() if self._calls else self._read()) is not None:
            self._handle(message)

    def _read(self) -> Json | None:
        """Return the next message; None at the end. Malformed lines are answered with an error."""
        while line := self._reader.readline():
            try:
                message = json.loads(line)
            except (ValueError, RecursionError):
                if line.strip():
                    self._refuse(PARSE_ERROR, "This line is not JSON: each message is one line")
                continue
            if isinstance(message, dict) and message.get("jsonrpc") == "2.0":
                return message
            self._refuse(INVALID_REQUEST, "This is not a message of JSON-RPC 2.0")
        return None

    def _handle(self, message: Json) -> None:
        """Answer a request; ignore notifications and unexpected responses."""
        method, ident = message.get("method"), message.get("id")
        if not isinstance(method, str) or ident is None:
            return
        self._answering = ident
        try:
            result = self._result(method, message.get("params") or {})
        except Refused as refused:
            self._send({"id": ident, "error": refused.error})
        except (KeyError, TypeError, AttributeError):
            error = {"code": INVALID_PARAMS, "message": f"{method}: invalid parameters"}
            self._send({"id": ident, "error": error})
        else:
            self._send({"id": ident, "result": result})

    def _result(self, method: str, params: Json) -> Json:
        match method:
            case "initialize":
                return self._initialized(params)
            case "ping":
                return {}
            case "tools/list":
                return {"tools": [tool.listed for tool in self._tools.offered.values()]}
            case "tools/call":
                return self._called(params["name"], params.get("arguments") or {})
            case "resources/list":
                names = self._tools.files.names()
                return {"resources": [{"name": name, **_resource(name)} for name in names]}
            case "resources/templates/list":
                return {"resourceTemplates": _data["templates"]}
            case "resources/read":
                return {
                    "contents": [{"text": self._file(params["uri"]), **_resource(params["uri"])}]
                }
            case "prompts/list":
                return {"prompts": []}
        raise Refused(NO_METHOD, f"There is no method {method[:100]!r}")

    def _initialized(self, params: Json) -> Json:
        version = params.get("protocolVersion")
        self._tools.client = str((params.get("clientInfo") or {}).get("name", ""))
        self._tools.can_ask = "elicitation" in (params.get("capabilities") or {})
        about: Json = _data["initialized"]
        return about | {
            "protocolVersion": version if version in VERSIONS else VERSIONS[-1],
            "serverInfo": about["serverInfo"] | {"version": assistant.__version__},
            "instructions": self._tools.instructions(),
        }

    def _called(self, name: Any, arguments: Any) -> Json:
        """Call a tool; the client's model also reads its errors."""
        failed = True
        try:
            text = self._tools.call(name, arguments)
            failed = False
        except AssistantError as error:
            text = neutralised(str(error))  # it may quote facts
        except Exception as error:
            traceback.print_exc()
            text = f"{name} failed: {type(error).__name__}: {error}"
        if failed or name not in QUOTING:
            command = command_for(self._tools.workspace.root)
            text = re.sub("`assistant(?= )", f"`{command}", text)
        return {"content": [{"type": "text", "text": text}], "isError": failed}

    def _file(self, uri: str) -> str:
        try:
            return neutralised(self._tools.files.text(unquote(uri)))
        except UsageError as error:
            raise Refused(NO_RESOURCE, str(error)) from error
        except AssistantError as error:
            raise Refused(FAILED, str(error)) from error

    def _ask(self, question: str) -> bool | None:
        """Ask the owner through the client; return None without an answer. Other calls wait
        meanwhile."""
        self._questions += 1
        call, ident = self._answering, f"question-{self._questions}"
        params = {"message": question, "requestedSchema": _data["consent"]}
        self._send({"id": ident, "method": "elicitation/create", "params": params})
        while (message := self._read()) is not None:
            match message:
                case {"method": "notifications/cancelled", "params": {"requestId": cancelled}}:
                    if cancelled == call:
                        return None
                case {"method": "tools/call"}:
                    self._calls.append(message)
                case {"method": _}:
                    self._handle(message)
                case {"id": answered, **answer} if answered == ident:
                    match answer.get("result"):
                        case {"action": "decline"}:
                            return False
                        case {"content": {"forget": bool(answered)}}:
                            return answered
                    return None
        return None

    def _refuse(self, code: int, text: str) -> None:
        self._send({"id": None, "error": {"code": code, "message": text}})

    def _send(self, message: Json) -> None:
        text = json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False, separators=(",", ":"))
        self._writer.write(f"{text}\n".encode("utf-8", "replace"))
        self._writer.flush()


def _resource(name: str) -> Json:
    """Return a file of memory as a resource, given its name or URI."""
    uri = name if name.startswith(SCHEME) else f"{SCHEME}{quote(name)}"
    return {"uri": uri, "mimeType": MARKDOWN}


def serve(workspace: Workspace, permissions: Permissions, *, no_daemon: bool) -> None:
    """Serve a client on standard input and output until it disconnects."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # otherwise it waits for the client's next message
    reader, writer = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(2, 1)  # other output goes to the client's log
    os.close(null)
    tools = MemoryTools(
        workspace,
        permissions,
        lambda: open_memory(workspace, config.load(), no_daemon=no_daemon, notify=_notify),
    )
    with suppress(BrokenPipeError):
        Server(tools, reader, writer).run()
    tools.close()


def _notify(text: str) -> None:
    """Write to standard error, which is the client's log."""
    with suppress(OSError, ValueError):
        sys.stderr.write(f"assistant: {text}\n")
