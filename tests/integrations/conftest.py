"""A trusted workspace, its memory in this process, and the SDK's own client."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest
from mcp import Client
from mcp_types import Implementation

from assistant.integrations.mcp_tools import MemoryTools, server
from assistant.integrations.mcp_wire import Terms
from assistant.memory.embedding.polyglot import PolyglotEmbedder
from assistant.memory.local import LocalMemory
from assistant.settings.tree import Settings
from assistant.workspace import trust
from assistant.workspace.folder import Workspace

DEFAULT = Terms()
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
    """Connects a client to a server of the memory: `connect(Terms(), mode, name, **callbacks)`."""

    @asynccontextmanager
    async def connecting(
        terms: Terms = DEFAULT, mode: str = "auto", name: str = "claude-code", **callbacks: Any
    ) -> AsyncIterator[Client]:
        made = server(MemoryTools(workspace, terms, lambda: memory))
        client = Client(
            made,
            mode=mode,
            client_info=Implementation(name=name, version="1"),
            **callbacks,
        )
        async with client:
            yield client

    return connecting
