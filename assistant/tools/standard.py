"""The tools of a conversation, put together."""

import threading
from collections.abc import Sequence
from pathlib import Path

from assistant.memory.base import Memory
from assistant.secrets import Redactor
from assistant.tools.base import Tool
from assistant.tools.memory import memory_tools
from assistant.tools.read import reading_tools
from assistant.tools.roots import Roots
from assistant.tools.scratch import Scratch, scratch_tools
from assistant.tools.search import searching_tools
from assistant.tools.shell import shell_tool
from assistant.tools.write import writing_tools
from assistant.workspace import Workspace


def standard_tools(
    workspace: Workspace,
    memory: Memory,
    scratch: Scratch,
    redactor: Redactor,
    *,
    added: Sequence[Path] = (),
    session: str | None = None,
    interrupt: threading.Event | None = None,
) -> list[Tool]:
    """Every tool, in the order the model is offered them.

    `added` are the directories of `--add-dir`. `interrupt`, once set, stops a running command.
    """
    roots = Roots(workspace, added)
    return [
        *reading_tools(roots),
        *searching_tools(roots),
        *writing_tools(roots, redactor),
        shell_tool(roots, redactor, interrupt or threading.Event()),
        *memory_tools(memory, session=session),
        *scratch_tools(scratch),
    ]
