"""A workspace with real memory that the attacks of a file share, and a conversation over it."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from assistant.conversation import Conversation
from assistant.memory.embedding.polyglot import PolyglotEmbedder
from assistant.memory.local import LocalMemory
from assistant.secrets.redactor import Redactor
from assistant.session import transcript
from assistant.settings.tree import Settings
from assistant.tools.base import Tool
from assistant.tools.files.access import Roots
from assistant.tools.files.read import reading_tools, searching_tools
from assistant.tools.files.write import writing_tools
from assistant.tools.memory import memory_tools
from assistant.tools.policy import ApproveAll
from assistant.tools.scratch import Scratch, scratch_tools
from assistant.tools.toolbox import Toolbox
from assistant.workspace.folder import Workspace

Opened = Callable[..., Conversation]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A workspace that stays for the file's tests."""
    root = tmp_path_factory.mktemp("attacked")
    (root / "MEMORY.md").write_text("# Memory\n", encoding="utf-8")
    return Workspace(root.resolve())


@pytest.fixture(scope="module")
def memory(place: Workspace, embedder: PolyglotEmbedder) -> Iterator[LocalMemory]:
    """Real memory over it."""
    opened = LocalMemory(place, Settings(), embedder)
    yield opened
    opened.close()


@pytest.fixture
def opened(place: Workspace, memory: LocalMemory) -> Iterator[Opened]:
    """Opens a conversation with the real tools, every call approved; nothing may be written."""
    sessions = []

    def make(model: Any, workspace: Workspace = place, **more: Any) -> Conversation:
        scratch = Scratch()
        session = transcript.create(place.sessions)
        sessions.append(session)
        tools = Toolbox(all_tools(place, memory, scratch))
        return Conversation(
            workspace, model, memory, tools, session, scratch=scratch, approver=ApproveAll(), **more
        )

    yield make
    for session in sessions:
        session.close()
    (place.root / "pwned.txt").unlink(missing_ok=True)


def all_tools(place: Workspace, memory: LocalMemory, scratch: Scratch) -> list[Tool]:
    """The tools of a chat but for the shell."""
    roots = Roots(place, ())
    return [
        *memory_tools(memory, roots),
        *reading_tools(roots),
        *searching_tools(roots),
        *writing_tools(roots, Redactor()),
        *scratch_tools(scratch),
    ]
