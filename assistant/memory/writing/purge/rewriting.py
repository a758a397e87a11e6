"""New contents of whole files: written beside them first, put in place when nothing can refuse."""

from collections.abc import Iterable
from pathlib import Path

from assistant.disk import storage


class Rewriting:
    """Files that are about to be replaced. Close it, and what was not put in place is gone."""

    def __init__(self, files: Iterable[tuple[Path, bytes]]) -> None:
        """Write each file's new content beside it. Raises StorageError."""
        self._fresh: list[tuple[Path, Path]] = []
        try:
            for path, data in files:
                with storage.reported("written", path):
                    self._fresh.append((storage.beside(path.resolve(), data)[0], path.resolve()))
        except BaseException:
            self.close()
            raise

    def commit(self) -> None:
        """Put all in place, one after another. Raises StorageError."""
        for fresh, target in self._fresh:
            with storage.reported("written", target):
                storage.DISK.rename(fresh, target)
                storage.sync_directory(target.parent)

    def close(self) -> None:
        """No temporary file stays."""
        for fresh, _ in self._fresh:
            fresh.unlink(missing_ok=True)
