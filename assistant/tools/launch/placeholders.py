"""Empty stand-ins for guarded files that are not there, so that no command can create them.

All commands of a workspace share them: each holds a lock in common while it runs, and the last to
end takes them away, also those that a power cut left. An owner's file in their place stays.
"""

import fcntl
import os
from contextlib import suppress
from pathlib import Path


class Placeholders:
    """The stand-ins of one command. `record` is the lock, and lists those that were made."""

    def __init__(self, record: str, guards: list[tuple[str, str]]) -> None:
        self._record = os.open(record, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._guards = guards

    def hold(self) -> None:
        """Put something empty, `file` or `directory`, wherever a guarded path is missing."""
        fcntl.flock(self._record, fcntl.LOCK_SH)
        for path, kind in self._guards:
            if Path(path).parent.is_dir() and not os.path.lexists(path):
                os.write(self._record, os.fsencode(path) + b"\0")
                with suppress(OSError):  # where we may not create, no command may
                    Path(path).mkdir() if kind == "directory" else Path(path).touch(exist_ok=False)

    def release(self) -> None:
        """Take the stand-ins away, if no other command needs them."""
        try:
            fcntl.flock(self._record, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        for path in reversed(os.pread(self._record, 1 << 20, 0).split(b"\0")):
            if path:
                _take_away(Path(os.fsdecode(path)))
        os.ftruncate(self._record, 0)


def _take_away(path: Path) -> None:
    with suppress(OSError):
        if path.is_dir():
            path.rmdir()
        elif path.stat().st_size == 0:
            path.unlink()
