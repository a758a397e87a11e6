"""An index in memory, for as long as a disk takes no writes: full, or read-only.

It begins as a copy of the one on the disk, so that nothing is embedded again, and goes when it is
closed. What a killed process left of one is removed by the next.
"""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

from assistant.disk import storage

IN_MEMORY = Path("/dev/shm")
PREFIX = "assistant-index-"
ROOM = 2 << 20


class StandIn:
    """A private folder that holds a copy of an index. Raises StorageError if there is no room."""

    def __init__(self, index: Path, cache: Path) -> None:
        """`cache` are the vectors that the catalog in `index` names."""
        base = IN_MEMORY if os.access(IN_MEMORY, os.W_OK) else Path(tempfile.gettempdir())
        prefix = f"{PREFIX}{sha256(os.fsencode(index)).hexdigest()[:16]}-"
        _sweep(base, prefix)
        with storage.reported("made", base):
            self.index = Path(tempfile.mkdtemp(prefix=prefix, dir=base))
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


def _sweep(base: Path, prefix: str) -> None:
    for left in base.glob(f"{prefix}*"):
        if left.stat().st_uid == os.getuid():
            shutil.rmtree(left, ignore_errors=True)
