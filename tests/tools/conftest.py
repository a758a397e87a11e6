"""Tools over a real workspace, called the way the loop calls them."""

import contextlib
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from assistant.events import ApprovalRequested
from assistant.messages import ToolCall
from assistant.secrets.redactor import Redactor
from assistant.tools.base import ToolResult
from assistant.tools.files.access import Roots
from assistant.tools.files.read import reading_tools, searching_tools
from assistant.tools.files.write import writing_tools
from assistant.tools.policy import ApproveAll, Approver, DenyAll
from assistant.tools.shell.command import Shell
from assistant.tools.toolbox import Toolbox
from assistant.workspace.folder import Workspace

Call = Callable[..., ToolResult]


def calling(toolbox: Toolbox, approver: Approver) -> Call:
    """Call a tool by name; what asks is put before the approver."""

    def call(name: str, /, **arguments: object) -> ToolResult:
        verdict = toolbox.review(ToolCall("1", name, arguments))
        if verdict.action == "ask":
            request = ApprovalRequested("1", name, verdict.compact, verdict.detail)
            verdict = toolbox.settle(verdict, approver.decide(request))
        return toolbox.run(verdict)

    return call


@pytest.fixture
def roots(workspace: Workspace) -> Roots:
    return Roots(workspace)


@pytest.fixture
def interrupt() -> threading.Event:
    return threading.Event()


@pytest.fixture
def toolbox(roots: Roots, interrupt: threading.Event) -> Toolbox:
    redactor = Redactor()
    return Toolbox(
        [
            *reading_tools(roots),
            *searching_tools(roots),
            *writing_tools(roots, redactor),
            *Shell(roots, redactor, interrupt).tools(),
        ]
    )


@pytest.fixture
def call(toolbox: Toolbox) -> Call:
    """Calls a tool; nobody is there to approve."""
    return calling(toolbox, DenyAll())


@pytest.fixture
def approved(toolbox: Toolbox) -> Call:
    """Calls a tool; everything is approved."""
    return calling(toolbox, ApproveAll())


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A directory beside the workspace, with a file nobody may see or change."""
    place = tmp_path / "outside"
    place.mkdir()
    (place / "secret.txt").write_text("the crown jewels\n")
    return place


PATIENCE = 60.0
"""Seconds in which what is waited for must have happened."""


def happens(what: Callable[[], bool]) -> bool:
    """Whether it comes true in time."""
    deadline = time.monotonic() + PATIENCE
    while not what():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def reached(path: Path) -> bool:
    """Whether a file is there in time."""
    return happens(path.exists)


def ends(words: str) -> bool:
    """Whether in time no command of this machine holds these words, where /proc tells."""
    return happens(lambda: not running(words))


def running(words: str) -> bool:
    """Whether a command of this machine holds these words."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            line = path.read_bytes().decode("utf-8", "replace")
            if words in line and "host.py" not in line:
                return True
    return False
