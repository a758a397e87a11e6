"""Events that come at once are answered one after the other, in the order in which they began.

Each waiting process holds a ticket, a locked file named by when its process was started; the kernel
drops the lock of one that dies, and whoever meets such a ticket takes it away.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from assistant.disk import locking, storage
from assistant.disk.locking import Lock
from assistant.workspace.folder import Workspace

PAUSE = 0.02
"""Seconds between two looks at who is next."""
LONGEST_START = 3.0
"""Seconds that somebody who began earlier is waited for, at most."""
TURN = "turn.lock"


class Ticket:
    """A place in the queue of a workspace, for a `with`."""

    def __init__(self, place: Workspace) -> None:
        self._folder = storage.private_directory(
            storage.private_directory(place.private) / "events"
        )
        began = _began()
        self._path = self._folder / f"{began or time.time_ns():020d}-{os.getpid():010d}.lock"
        self._lock = _taken(self._path)
        self._settled = time.monotonic() + (_since(began) if began else 0.0)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait until it is this one's turn, and have it to the end of the `with`.

        Who was started before this one, and has no ticket yet, has as long again to come for it as
        this one took.
        """
        while True:
            waits = time.monotonic() < self._settled or self._is_behind()
            held = None if waits else locking.try_lock(self._folder / TURN)
            if held is None:
                time.sleep(PAUSE)
                continue
            with held:
                if not self._is_behind():  # nobody came in between
                    yield
                    return

    def __enter__(self) -> "Ticket":
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._path.unlink(missing_ok=True)
        self._lock.release()

    def _is_behind(self) -> bool:
        """Whether somebody with an earlier ticket waits; tickets of the dead are taken away."""
        for path in self._folder.glob("*-*.lock"):
            if path.name >= self._path.name:
                continue
            dead = locking.try_lock(path)
            if dead is None:
                return True
            with dead:
                path.unlink(missing_ok=True)
        return False


def _taken(path: Path) -> Lock:
    """The ticket's lock; somebody may just be looking whether its holder is dead."""
    while True:
        held = locking.try_lock(path)
        if held is not None and held.stands():
            return held
        if held is not None:
            held.release()
        time.sleep(0.001)


def _began() -> int:
    """When this process was started, in a unit that all processes share; 0 if nobody knows."""
    try:
        stat = Path("/proc/self/stat").read_text("utf-8")
        return int(stat.rpartition(")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return 0


def _since(began: int) -> float:
    """The seconds since then."""
    up = time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else 0.0
    return min(max(up - began / os.sysconf("SC_CLK_TCK"), 0.0), LONGEST_START)
