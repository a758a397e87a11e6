"""An index in memory, for as long as a disk takes no writes: full, or read-only.

It begins as a copy of the one on the disk, so that nothing is embedded again, and goes when it is
closed. What a killed process left of one is removed at the next start.
"""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

from assistant.disk import storage
from assistant.workspace import machine

PREFIX = "assistant-index-"
"""How the names of these folders begin; the number of their process follows."""
ROOM = 2 << 20


class StandIn:
    """A private folder that holds a copy of an index. Raises StorageError if there is no room."""

    def __init__(self, index: Path, cache: Path) -> None:
        """`cache` are the vectors that the catalog in `index` names."""
        sweep()
        base = machine.volatile()
        with storage.reported("made", base):
            self.index = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=base))
        self.cache = self.index / cache.name
        try:
            with storage.reported("copied", index):
                _copy([*index.glob("catalog.db*"), index / "manifest.json"], self.index)
                _copy(cache.parent.glob(f"{cache.name}*"), self.index)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Remove it."""
        shutil.rmtree(self.index, ignore_errors=True)


def takes_writes(directory: Path) -> bool:
    """Whether a few megabytes can be written into a folder now."""
    try:
        with tempfile.TemporaryFile(dir=directory) as file:
            file.write(bytes(ROOM))
    except OSError:
        return False
    return True


def _copy(files: Iterable[Path], target: Path) -> None:
    for path in files:
        if not path.name.endswith("-shm"):
            with contextlib.suppress(FileNotFoundError):
                shutil.copyfile(path, target / path.name)


def sweep() -> None:
    """Remove what killed processes of this user left: an owner's words are in it."""
    for left in machine.volatile().glob(f"{PREFIX}*"):
        process = left.name.removeprefix(PREFIX).partition("-")[0]
        with contextlib.suppress(OSError):
            if left.lstat().st_uid == os.getuid() and not _runs(process):
                shutil.rmtree(left, ignore_errors=True)


def _runs(process: str) -> bool:
    try:
        os.kill(int(process), 0)
    except (ProcessLookupError, ValueError):
        return False
    return True
