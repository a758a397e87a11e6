"""What only looks is let go of at once when the owner interrupts."""

import threading

import pytest

from assistant.errors import LedgerError
from assistant.memory.base import Query, Recall
from assistant.tools.files.access import Roots
from assistant.tools.files.read import searching_tools
from assistant.tools.memory import memory_tools
from assistant.tools.policy import DenyAll
from assistant.tools.toolbox import Toolbox
from assistant.workspace.folder import Workspace
from tests.tools.conftest import calling


def test_a_search_that_takes_for_ever_is_let_go_of(roots: Roots, workspace: Workspace) -> None:
    (workspace.root / "a.txt").write_text("a" * 5000 + "!\n")
    interrupt = threading.Event()
    call = calling(Toolbox(searching_tools(roots), interrupt=interrupt), DenyAll())
    threading.Timer(0.3, interrupt.set).start()
    result = call("grep", pattern=r"^(?:a|a|aa)+$")
    assert result.error
    assert result.content == "interrupted by the owner"
    interrupt.clear()
    assert call("grep", pattern="!$").compact == "1 match in 1 file"


class SilentMemory:
    """A memory that does not answer until it is told to."""

    def __init__(self) -> None:
        self.asked, self.told = threading.Event(), threading.Event()

    def recall(self, query: Query) -> Recall:
        self.asked.set()
        self.told.wait()
        raise LedgerError("too late", "Ask sooner")


@pytest.mark.parametrize("interrupted", [True, False])
def test_a_recall_is_let_go_of(roots: Roots, interrupted: bool) -> None:
    memory, interrupt = SilentMemory(), threading.Event()
    box = Toolbox(memory_tools(memory, roots), interrupt=interrupt)  # type: ignore[arg-type]

    def act() -> None:
        memory.asked.wait()
        (interrupt if interrupted else memory.told).set()

    threading.Thread(target=act).start()
    said = calling(box, DenyAll())("recall", query="x").content
    memory.told.set()
    assert said == ("interrupted by the owner" if interrupted else "too late. Ask sooner")
