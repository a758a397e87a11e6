"""A daemon's life: what it notices, when it leaves, and what it leaves behind."""

import contextlib
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest

import assistant
from assistant import config
from assistant.errors import ConfigError, DaemonError, StorageError
from assistant.memory.base import Keeper, Query
from assistant.memory.daemon import client, lifecycle, sockets, wire
from assistant.memory.daemon.lifecycle import CODE_SECONDS
from assistant.workspace.folder import Workspace
from tests.memory.daemon.daemons import dial, ended, pid, running
from tests.memory.memory_contract import FACTS, found, remember


def test_an_idle_daemon_ends_and_is_started_again(workspace: Workspace) -> None:
    memory = client.connect(workspace, {})
    remember(memory, FACTS[0])
    with dial(workspace) as watching:
        client.connect(workspace, {"daemon": {"idle_seconds": 0.2}}).close()
        assert ended(watching)
    assert running(workspace) is None
    assert found(memory, FACTS[0]) == [FACTS[0]]
    memory.close()


def test_a_daemon_does_not_end_while_it_is_asked(workspace: Workspace) -> None:
    """Longer than its idle time, by many requests that each come in time."""
    idle = 1.0
    memory = client.connect(workspace, {"daemon": {"idle_seconds": idle}})
    first = running(workspace)
    times = [time.monotonic()]
    while times[-1] < times[0] + 2.5 * idle:
        memory.recall(Query("anything"))
        times.append(time.monotonic())
    last = running(workspace)
    late = any(after - before > idle / 2 for before, after in pairwise(times))
    assert first and (last == first or late)  # a busy machine may let none come in time
    memory.close()
    lifecycle.ask_to_yield(workspace)


def test_a_daemon_told_to_end_finishes_and_leaves_nothing(
    memory: Keeper, workspace: Workspace
) -> None:
    remember(memory, FACTS[0])
    with dial(workspace) as watching:
        os.kill(pid(workspace), signal.SIGTERM)
        assert ended(watching)
    assert not any(path.exists() for path in sockets.paths(workspace.root))
    assert list(workspace.index.glob("*.open")) == []


def test_a_deleted_workspace_ends_its_daemon(
    memory: client.DaemonMemory, workspace: Workspace
) -> None:
    with dial(workspace) as watching:
        shutil.rmtree(workspace.root)
        assert ended(watching)
    assert running(workspace) is None


def test_a_workspace_made_again_gets_a_daemon_of_its_own(
    memory: client.DaemonMemory, workspace: Workspace
) -> None:
    before = running(workspace)
    shutil.rmtree(workspace.root)
    workspace.root.mkdir()
    (workspace.root / "MEMORY.md").write_text("- Something else\n", encoding="utf-8")
    with pytest.raises(StorageError, match="no longer the folder that was opened"):
        memory.recall(Query("anything else"))
    with contextlib.closing(client.connect(workspace, {})) as anew:
        assert found(anew, "anything else") == ["Something else"]
    after = running(workspace)
    assert before and after and before != after


def test_a_daemon_of_another_protocol_is_seen_off(memory: Keeper, workspace: Workspace) -> None:
    """As after an upgrade: it answers no, lets go of the index, and a fresh one is started."""
    first = pid(workspace)
    newer = wire.Hello(wire.PROTOCOL + 1, "9.9", "", str(workspace.root))
    connection = sockets.connect(workspace.root)
    assert connection is not None
    with connection, connection.makefile("rb") as lines:
        connection.sendall(wire.request("1", wire.HELLO, wire.Greeting(newer)))
        assert lines.readline() == b'{"id":"1","result":false}\n'
        lifecycle.wait_until_gone(connection)
    assert running(workspace) is None
    assert memory.status().daemon is not None
    assert pid(workspace) != first


def test_two_shells_with_different_settings_share_a_daemon(workspace: Workspace) -> None:
    """Each asks by its own; neither restarts the other's."""
    one = client.connect(workspace, {"memory": {"k": "3"}, "daemon": {"idle_seconds": "100"}})
    remember(one, *FACTS)
    first = pid(workspace)
    for _ in range(3):
        other = client.connect(workspace, {"memory": {"k": 1}, "model": {"name": "some/model"}})
        assert len(found(other, "tea dentist car")) == 1
        assert len(found(one, "tea dentist car")) == 3
        other.close()
    assert pid(workspace) == first
    with pytest.raises(ConfigError, match=r"memory\.k"):
        client.connect(workspace, {"memory": {"k": 0}})
    assert found(one, FACTS[0])
    one.close()


def test_a_daemon_in_use_does_not_give_way_to_other_settings_of_the_index(
    memory: client.DaemonMemory, workspace: Workspace
) -> None:
    """They would restart each other's at every command, and index all anew."""
    remember(memory, FACTS[0])
    first = pid(workspace)
    other = {"sources": [{"name": "notizen", "path": "/tmp"}]}
    for settings, section in (({"index": {"api_key_env": "ANOTHER"}}, "index"), (other, "sources")):
        said = rf"process {first}, is in use with other settings of \[{section}\]\."
        with pytest.raises(DaemonError, match=said) as caught:
            client.connect(workspace, settings)
        assert "daemon stop" in caught.value.cure
        assert found(memory, FACTS[0]) == [FACTS[0]]
    assert pid(workspace) == first


def test_a_changed_configuration_replaces_the_daemon(
    memory: client.DaemonMemory, workspace: Workspace
) -> None:
    remember(memory, FACTS[0])
    first = pid(workspace)
    path = config.config_file()
    path.parent.mkdir(parents=True)
    path.write_text('[index]\napi_key_env = "ANOTHER"\n')
    changed = client.connect(workspace, config.load())
    assert found(changed, FACTS[0]) == [FACTS[0]]
    assert pid(workspace) != first
    changed.close()


def test_a_daemon_whose_socket_is_lost_ends_and_the_next_command_starts_one(
    runtime: Path, memory: client.DaemonMemory, workspace: Workspace
) -> None:
    """A logout removes the runtime directory: here with all that is in it."""
    remember(memory, FACTS[0])
    first = pid(workspace)
    shutil.rmtree(runtime / "assistant")
    assert sockets.connect(workspace.root) is None
    fresh = client.connect(workspace, {})
    assert found(fresh, FACTS[0]) == [FACTS[0]]
    assert pid(workspace) != first
    assert found(memory, FACTS[0]) == [FACTS[0]]  # a chat that was open goes on with the new one
    fresh.close()


def test_a_save_is_indexed_before_anybody_asks(
    memory: client.DaemonMemory, workspace: Workspace
) -> None:
    """The daemon looks by itself; what is asked here is the catalog file, not the daemon."""
    remember(memory, FACTS[0])
    with contextlib.closing(sqlite3.connect(workspace.index / "catalog.db")) as catalog:
        path = workspace.root / "MEMORY.md"
        path.write_text(path.read_text("utf-8") + "- Sails on Sundays\n", encoding="utf-8")
        until = time.monotonic() + 90
        wanted = "SELECT count(*) FROM chunks WHERE plain = 'Sails on Sundays'"
        while not catalog.execute(wanted).fetchone()[0]:
            assert time.monotonic() < until
            time.sleep(0.02)


def test_the_log_holds_no_query_and_no_fact(
    memory: client.DaemonMemory, workspace: Workspace
) -> None:
    memory.recall(Query("zanzibar"))
    remember(memory, "The safe is in zanzibar")
    log = sockets.log_path(workspace.root)
    assert "listening as process" in log.read_text("utf-8")
    assert "zanzibar" not in log.read_text("utf-8")
    assert log.parent.stat().st_mode & 0o777 == 0o700


ASKING = """
import sys
from pathlib import Path
from assistant.memory.base import (Keeper, Query)
from assistant.memory.daemon import client, sockets
from assistant.workspace.folder import Workspace
workspace = Workspace(Path(sys.argv[1]))
client.connect(workspace, {}).recall(Query("anything"))
print(sockets.peer(sockets.connect(workspace.root)).process)
"""


def test_a_daemon_whose_code_was_changed_gives_way(workspace: Workspace, tmp_path: Path) -> None:
    """As a checkout or an upgrade in place does, which leave the number of the version."""

    def ask() -> str:
        command = [sys.executable, "-c", ASKING, str(workspace.root)]
        return subprocess.run(
            command, cwd=tmp_path, check=True, capture_output=True, text=True
        ).stdout

    code = tmp_path / "assistant"
    shutil.copytree(Path(assistant.__file__).parent, code)
    first = ask()
    time.sleep(CODE_SECONDS)
    assert ask() == first
    with (code / "memory" / "local.py").open("a", encoding="utf-8") as file:
        file.write("# changed\n")
    time.sleep(CODE_SECONDS)
    assert ask() not in ("", first)


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A time zone in which it is not the day that it is in UTC, until the test is over."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "XST-14" if datetime.now(UTC).hour >= 10 else "XST12")
        yield
    time.tzset()


def test_a_client_in_another_time_zone_gets_its_own_today(
    memory: Keeper, workspace: Workspace, elsewhere: None
) -> None:
    first = pid(workspace)
    time.tzset()
    there = client.connect(workspace, {})
    remember(there, "Swim tomorrow at 6")
    tomorrow = (date.today() + timedelta(days=1)).isoformat()
    assert [due.start for due in there.due("2026-01-01", "2199-01-01")] == [tomorrow]
    second = pid(workspace)
    client.connect(workspace, {}).close()
    assert second == pid(workspace) != first
    there.close()
