"""Readers beside one writer, on a real database."""

import contextlib
import sqlite3
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from assistant.memory.index.sqlite.snapshots import Snapshots


@pytest.fixture
def connect(tmp_path: Path) -> Iterator[Callable[[], sqlite3.Connection]]:
    """Opens connections to a database that counts its generations."""
    opened: list[sqlite3.Connection] = []

    def connected() -> sqlite3.Connection:
        opened.append(
            sqlite3.connect(tmp_path / "db", isolation_level=None, check_same_thread=False)
        )
        return opened[-1]

    db = connected()
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT)")
    db.execute("INSERT INTO meta VALUES ('generation', '1')")
    yield connected
    for each in opened:
        each.close()


@pytest.fixture
def snapshots(connect: Callable[[], sqlite3.Connection]) -> Snapshots:
    return Snapshots(connect, contextlib.nullcontext)


def generation(snapshots: Snapshots) -> int:
    """What the thread that asks sees now."""
    assert snapshots.current is not None
    query = "SELECT value FROM meta WHERE key = 'generation'"
    return int(snapshots.current.connection.execute(query).fetchone()[0])


def test_a_reader_sees_one_state_however_often_it_looks(
    snapshots: Snapshots, connect: Callable[[], sqlite3.Connection]
) -> None:
    writer = connect()
    with snapshots.reading():
        assert generation(snapshots) == 1
        writer.execute("UPDATE meta SET value = '2'")
        with snapshots.reading():
            assert generation(snapshots) == 1
        assert snapshots.current and snapshots.current.generation == 1
    assert snapshots.current is None
    with snapshots.reading():
        assert snapshots.current.generation == generation(snapshots) == 2


def test_connections_are_used_again_and_another_thread_can_share_a_state(
    snapshots: Snapshots, connect: Callable[[], sqlite3.Connection]
) -> None:
    with snapshots.reading():
        first = snapshots.current
    seen: list[int] = []

    def read() -> None:
        with snapshots.reading(first):
            seen.append(generation(snapshots))

    with snapshots.reading():
        assert snapshots.current is first
        connect().execute("UPDATE meta SET value = '2'")
        other = threading.Thread(target=read)
        other.start()
        other.join()
    assert seen == [1]


def test_whoever_wants_nobody_to_read_waits_for_readers_and_holds_up_the_next(
    snapshots: Snapshots,
) -> None:
    entered, order = threading.Event(), list[str]()

    def alone() -> None:
        entered.set()
        with snapshots.none():
            order.append("alone")

    with snapshots.reading():
        held = snapshots.current
        thread = threading.Thread(target=alone)
        thread.start()
        entered.wait()
        order.append("read")
    thread.join()
    assert order == ["read", "alone"]
    with snapshots.reading():
        assert snapshots.current is not held  # what was idle is closed
    assert held is not None
    with pytest.raises(sqlite3.ProgrammingError):
        held.connection.execute("SELECT 1")


def test_a_connection_that_fails_leaves_nobody_waiting() -> None:
    def broken() -> sqlite3.Connection:
        raise sqlite3.OperationalError

    snapshots = Snapshots(broken, contextlib.nullcontext)
    with pytest.raises(sqlite3.OperationalError), snapshots.reading():
        pass
    with snapshots.none():
        assert snapshots.current is None
