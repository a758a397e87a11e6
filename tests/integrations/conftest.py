"""A trusted workspace, its memory in this process, and the SDK's own client."""

import os
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.shared.message import SessionMessage
from mcp_types import Implementation, jsonrpc_message_adapter

from assistant.integrations.mcp_server import Server
from assistant.integrations.mcp_tools import MemoryTools, Permissions
from assistant.memory.embedding.polyglot import PolyglotEmbedder
from assistant.memory.local import LocalMemory
from assistant.settings.tree import Settings
from assistant.workspace import trust
from assistant.workspace.folder import Workspace

DEFAULT = Permissions()
Connect = Callable[..., AbstractAsyncContextManager[Client]]


@pytest.fixture
def memory(workspace: Workspace, embedder: PolyglotEmbedder) -> Iterator[LocalMemory]:
    """Memory of a trusted workspace that knows of a key."""
    trust.grant(workspace)
    (workspace.root / "MEMORY.md").write_text("# Memory\n\n- The spare key is with Ada\n")
    (workspace.root / "USER.md").write_text("# About me\n\n- I am Mia\n")
    opened = LocalMemory(workspace, Settings(), embedder)
    yield opened
    opened.close()


@pytest.fixture
def connect(workspace: Workspace, memory: LocalMemory) -> Connect:
    """Connects a client to a server: `connect(Permissions(), mode, name, **callbacks)`."""

    @asynccontextmanager
    async def connecting(
        terms: Permissions = DEFAULT,
        mode: str = "auto",
        name: str = "claude-code",
        **callbacks: Any,
    ) -> AsyncIterator[Client]:
        tools = MemoryTools(workspace, terms, lambda: memory)
        client = Client(
            over_pipes(tools),
            mode=mode,
            client_info=Implementation(name=name, version="1"),
            **callbacks,
        )
        async with client:
            yield client

    return connecting


@asynccontextmanager
async def over_pipes(tools: MemoryTools) -> AsyncIterator[Any]:
    """A transport to a server on a thread, on real pipes."""
    to_server, from_client = os.pipe()
    to_client, from_server = os.pipe()
    answers, questions = os.fdopen(to_client, "rb"), os.fdopen(from_client, "wb")
    received, reading = anyio.create_memory_object_stream[Any](0)
    writing, sent = anyio.create_memory_object_stream[Any](0)

    def serve() -> None:
        with os.fdopen(to_server, "rb") as reader, os.fdopen(from_server, "wb") as writer:
            Server(tools, reader, writer).run()

    async def receive() -> None:
        with answers:
            while line := await anyio.to_thread.run_sync(answers.readline):
                await received.send(SessionMessage(jsonrpc_message_adapter.validate_json(line)))

    async def send() -> None:
        with questions:
            async for message in sent:
                line = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                await anyio.to_thread.run_sync(questions.write, f"{line}\n".encode())
                await anyio.to_thread.run_sync(questions.flush)

    thread = threading.Thread(target=serve)
    thread.start()
    async with received, reading, writing, sent, anyio.create_task_group() as tasks:
        tasks.start_soon(receive)
        tasks.start_soon(send)
        yield reading, writing
        await writing.aclose()
        await anyio.to_thread.run_sync(thread.join)
        tasks.cancel_scope.cancel()
