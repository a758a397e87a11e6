"""Where a daemon listens, and that nobody else can."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from assistant.errors import DaemonError
from assistant.memory.daemon import client, sockets
from assistant.workspace.folder import Workspace
from tests.memory.memory_contract import FACTS, found, remember


def test_the_socket_is_the_users_alone(memory: client.DaemonMemory, workspace: Workspace) -> None:
    (path,) = [path for path in sockets.paths(workspace.root) if path.exists()]
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert len(os.fsencode(path)) <= sockets.LONGEST_PATH


def test_a_directory_that_others_can_write_is_refused(workspace: Workspace, runtime: Path) -> None:
    own = runtime / "assistant"
    own.mkdir(mode=0o700)
    assert sockets.usable_path(workspace.root).parent == own
    own.chmod(0o777)
    assert sockets.usable_path(workspace.root).parent != own
    own.rmdir()
    own.symlink_to(runtime)
    assert sockets.usable_path(workspace.root).parent != own


@pytest.mark.parametrize("first", ["with", "without"])
def test_one_place_is_found_with_and_without_a_runtime_directory(
    workspace: Workspace, runtime: Path, monkeypatch: pytest.MonkeyPatch, first: str
) -> None:
    """One terminal has XDG_RUNTIME_DIR, a cron job has not; whoever starts the daemon."""

    def enter(environment: str) -> None:
        if environment == "with":
            monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
        else:
            monkeypatch.delenv("XDG_RUNTIME_DIR")

    enter(first)
    one = client.connect(workspace, {})
    assert found(one, FACTS[0]) == []
    enter("without" if first == "with" else "with")
    other = client.connect(workspace, {})
    remember(other, FACTS[0])
    assert found(one, FACTS[0]) == [FACTS[0]]
    daemons = [memory.status().daemon for memory in (one, other)]
    assert len({daemon.pid for daemon in daemons if daemon}) == 1
    one.close()
    other.close()


def test_a_link_is_believed_that_leads_to_a_private_place_only(
    workspace: Workspace, runtime: Path
) -> None:
    """A workspace may come from elsewhere, with a link that leads to another program's socket."""
    name = f"{sockets.workspace_id(workspace.root)}.sock"
    private, common = runtime / "private", runtime / "common"
    private.mkdir(mode=0o700)
    common.mkdir()
    common.chmod(0o777)
    workspace.private.mkdir()
    link = workspace.private / sockets.LINK
    for target, believed in (
        (private / name, True),
        (private / "agent.sock", False),
        (common / name, False),
        (Path("private") / name, False),
        (runtime / "nowhere" / name, False),
    ):
        link.symlink_to(target)
        assert (next(sockets.paths(workspace.root)) == target) is believed, target
        link.unlink()


def test_a_connection_waits_where_many_come_at_once(workspace: Workspace) -> None:
    """As many as the kernel queues are connected; one more waits until one of them is taken."""
    listener = sockets.listen(workspace.root)
    listener.socket.listen(1)
    with ThreadPoolExecutor() as pool:
        coming = [pool.submit(sockets.connect, workspace.root) for _ in range(4)]
        taken = [listener.socket.accept()[0] for _ in coming]
        for each in [*taken, *(task.result() for task in coming)]:
            assert each is not None
            each.close()
    listener.close()


def test_a_daemon_that_accepts_nobody_is_told_with_its_cure(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sockets, "SILENCE_SECONDS", 1.0)
    listener = sockets.listen(workspace.root)
    listener.socket.listen(0)
    waiting = sockets.connect(workspace.root)
    assert waiting is not None
    with pytest.raises(DaemonError, match="accepts no connections") as told:
        sockets.connect(workspace.root)
    assert told.value.cure == sockets.STOP
    waiting.close()
    listener.close()
