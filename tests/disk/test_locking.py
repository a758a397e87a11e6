"""A lock lets one in at a time, dies with its holder, and is not waited for without end."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from assistant.disk import locking
from assistant.errors import StorageError


def _add_one(path: Path, times: int) -> None:
    for _ in range(times):
        with locking.lock(path.with_name("lock")):
            path.write_text(str(int(path.read_text()) + 1))


def test_the_lock_lets_one_in_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "count"
    path.write_text("0")
    context = multiprocessing.get_context("fork")
    workers: list[multiprocessing.process.BaseProcess | threading.Thread] = [
        context.Process(target=_add_one, args=(path, 50)) for _ in range(4)
    ]
    workers += [threading.Thread(target=_add_one, args=(path, 50)) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert path.read_text() == "300"


def test_a_held_lock_is_not_had_twice(tmp_path: Path) -> None:
    held = locking.try_lock(tmp_path / "lock")
    assert held is not None
    assert locking.try_lock(tmp_path / "lock") is None
    held.release()
    again = locking.try_lock(tmp_path / "lock")
    assert again is not None
    again.release()


HOLD = """
import sys
from pathlib import Path
from assistant.disk import locking
held = locking.lock(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


def test_who_holds_a_lock_too_long_is_named(tmp_path: Path) -> None:
    """Stopped in the middle, as by Ctrl-Z or a debugger."""
    path = tmp_path / "lock"
    command = [sys.executable, "-c", HOLD, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holding:
        assert holding.stdout
        holding.stdout.readline()
        holding.send_signal(signal.SIGSTOP)
        with pytest.raises(locking.LockHeld, match=f"process {holding.pid} has held") as caught:
            locking.lock(path, 0.1)
        assert caught.value.cure
        holding.kill()
        holding.wait()
        with locking.lock(path, 0.1) as held:
            assert held.is_current()
            assert locking.holder(path) == os.getpid()


def test_whoever_waits_while_others_take_turns_waits_on(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with locking.lock(path):
        began = time.monotonic()
        another = threading.Timer(0.2, path.write_bytes, [b"4711"])
        another.start()
        with pytest.raises(locking.LockHeld, match="process 4711 has held"):
            locking.lock(path, 0.4)
        assert time.monotonic() - began > 0.55
        another.join()


def test_a_lock_whose_file_was_removed_keeps_nobody_out(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    first = locking.lock(path)
    path.unlink()
    assert not first.is_current()
    with locking.lock(path, 0.1) as second:
        assert second.is_current()
        first.release()
        first.release()
        assert locking.try_lock(path) is None


def test_a_link_is_not_locked_through(tmp_path: Path) -> None:
    (tmp_path / "lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StorageError, match="cannot be locked"):
        locking.lock(tmp_path / "lock")
    assert not (tmp_path / "elsewhere").exists()
