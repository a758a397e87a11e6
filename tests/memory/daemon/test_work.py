"""Requests on their clients' threads, and none that nobody wants."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any

import pytest

from assistant.errors import DaemonError, LedgerError
from assistant.memory.base import Abandoned
from assistant.memory.daemon.lifecycle import TRIM_SECONDS, WORKED_SECONDS, MemoryTrim
from assistant.memory.daemon.server import Work
from assistant.memory.daemon.wire import OPERATIONS, Operation

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
def work(served: Served) -> Iterator[Work]:
    opened = iter([served])  # a second opening would end in StopIteration
    made: Any = Work(lambda: next(opened), "the.log")
    yield made
    made.close()


def begin(work: Work, operation: Operation, do: Callable[[], Any], wanted: bool = True) -> Any:
    given = "query" if operation is RECALL else "facts"
    done: Future[Any] = Future()

    def ask() -> None:
        try:
            done.set_result(work.do(operation, {given: do}, lambda: wanted))
        except BaseException as error:
            done.set_exception(error)

    threading.Thread(target=ask, daemon=True).start()
    return done


def test_what_is_no_longer_wanted_is_not_done(work: Work) -> None:
    written: list[str] = []

    def write() -> None:
        written.append("a fact")

    with pytest.raises(Abandoned):
        begin(work, REMEMBER, write, wanted=False).result(30)
    assert written == []


def test_a_failure_is_told_as_it_is_and_a_fault_with_its_log(work: Work) -> None:
    def refuse() -> None:
        raise LedgerError("this cannot be undone")

    with pytest.raises(LedgerError, match="cannot be undone"):
        begin(work, REMEMBER, refuse).result(30)
    with pytest.raises(DaemonError, match=r"recall failed .* ZeroDivisionError") as told:
        begin(work, RECALL, lambda: 1 / 0).result(30)
    assert "the.log" in told.value.cure


def test_it_is_opened_once_refreshed_ahead_and_closed_at_the_end(
    work: Work, served: Served
) -> None:
    work.freshen()
    assert served.refreshed.wait(30)
    begin(work, RECALL, lambda: None).result(30)
    work.close()
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
