"""Requests on their clients' threads, and none that nobody wants."""

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any

import pytest

from assistant.disk import locking
from assistant.errors import DaemonError, LedgerError
from assistant.memory.base import Abandoned
from assistant.memory.daemon import sockets
from assistant.memory.daemon.lifecycle import TRIM_SECONDS, WORKED_SECONDS, MemoryTrim
from assistant.memory.daemon.server import Server
from assistant.memory.daemon.wire import OPERATIONS, Greeting, Hello, Operation
from assistant.workspace.folder import Workspace

RECALL, REMEMBER = OPERATIONS["recall"], OPERATIONS["remember"]


class Served:
    """Memory that does what each request brings along, and notes what became of it."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.refreshed = threading.Event()

    def recall(self, query: Callable[[], Any]) -> Any:
        return query()

    def remember(self, facts: Callable[[], Any]) -> Any:
        return facts()

    def refresh(self) -> None:
        self.done.append("refreshed")
        self.refreshed.set()

    def close(self) -> None:
        self.done.append("closed")


@pytest.fixture
def served() -> Served:
    return Served()


@pytest.fixture
def server(served: Served, workspace: Workspace) -> Iterator[Server]:
    opened: Iterator[Any] = iter([served])  # a second opening would end in StopIteration
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    workspace.private.mkdir(exist_ok=True)
    lock = locking.lock(workspace.private / "owner.lock")
    greeting = Greeting(Hello(0, "", "", str(workspace.root)))
    yield Server(lambda *_: next(opened), greeting, lock, 60.0)
    lock.release()
    for number, handler in before.items():
        signal.signal(number, handler)


def begin(server: Server, operation: Operation, do: Callable[[], Any], wanted: bool = True) -> Any:
    given = "query" if operation is RECALL else "facts"
    done: Future[Any] = Future()

    def ask() -> None:
        try:
            done.set_result(server.do(operation, {given: do}, lambda: wanted))
        except BaseException as error:
            done.set_exception(error)

    threading.Thread(target=ask, daemon=True).start()
    return done


def test_what_is_no_longer_wanted_is_not_done(server: Server) -> None:
    written: list[str] = []

    def write() -> None:
        written.append("a fact")

    with pytest.raises(Abandoned):
        begin(server, REMEMBER, write, wanted=False).result(60)
    assert written == []


def test_a_failure_is_told_as_it_is_and_a_fault_with_its_log(
    server: Server, workspace: Workspace
) -> None:
    def refuse() -> None:
        raise LedgerError("this cannot be undone")

    with pytest.raises(LedgerError, match="cannot be undone"):
        begin(server, REMEMBER, refuse).result(60)
    with pytest.raises(DaemonError, match=r"recall failed .* ZeroDivisionError") as told:
        begin(server, RECALL, lambda: 1 / 0).result(60)
    assert str(sockets.log_path(workspace.root)) in told.value.cure


def test_it_is_opened_once_refreshed_ahead_and_closed_at_the_end(
    server: Server, served: Served, workspace: Workspace
) -> None:
    def ask() -> None:
        assert served.refreshed.wait(60)
        begin(server, RECALL, lambda: None).result(60)
        server.leave("the test is over")

    asking = threading.Thread(target=ask)
    asking.start()
    with contextlib.closing(sockets.listen(workspace.root)) as listener:
        server.run(listener, lambda: None)
    asking.join()
    assert served.done == ["refreshed", "closed"]


def test_after_work_there_is_one_rest_as_soon_as_it_is_over() -> None:
    rest, long_ago = MemoryTrim(), 2 * TRIM_SECONDS
    assert not rest.is_due(long_ago)
    busy_until = time.process_time() + WORKED_SECONDS + 0.2
    while time.process_time() < busy_until:
        pass
    assert not rest.is_due(long_ago)  # it may still be at it
    assert not rest.is_due(0.0)
    assert rest.is_due(long_ago)
    rest.run()
    assert not rest.is_due(long_ago)
