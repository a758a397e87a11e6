"""The folder that a workspace was when it was opened: another may stand at its place by now."""

from pathlib import Path

from assistant.errors import StorageError


class Anchor:
    """Holds on to the folder at `root`, by what tells it from any other."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._identity = _identity(root)

    def check(self) -> None:
        """Raise StorageError if another folder stands there, or none."""
        if _identity(self._root) != self._identity:
            raise StorageError(
                f"{self._root} is another folder than the one that was opened",
                "Begin anew; if it was moved, name its new place with -w",
            )


def _identity(path: Path) -> tuple[int, int]:
    """Zeros if there is none."""
    try:
        found = path.stat()
    except OSError:
        return 0, 0
    return found.st_dev, found.st_ino
