"""Going down and up in a tree by open directories, one at a time, so that depth costs none.

The kernel follows no link on the way, and a directory that was moved in between is noticed: the
way up leads to where the way down came from, or is an error.
"""

import errno
import os

from assistant.tools.files.place import DIRECTORY

UP = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


class Descent:
    """An open directory, and the names that led to it from an open start.

    Takes over `start`, a directory's descriptor. Each step may raise OSError.
    """

    def __init__(self, start: int) -> None:
        self._start = start
        self.directory = start
        self.names: list[str] = []
        self._passed: list[tuple[int, int]] = [_identity(start)]

    def down(self, name: str) -> None:
        """Into a directory here, which must not be a link."""
        self._move(os.open(name, DIRECTORY, dir_fd=self.directory))
        self.names.append(name)
        self._passed.append(_identity(self.directory))

    def up(self) -> None:
        """Back to the directory this one was reached from."""
        self.names.pop()
        self._passed.pop()
        try:
            above = os.open("..", UP, dir_fd=self.directory)
        except PermissionError:  # a directory that may be listed and not passed through
            above = self._again()
        if _identity(above) != self._passed[-1]:
            os.close(above)
            raise OSError(errno.ESTALE, "it was moved in the meantime")
        self._move(above)

    def close(self) -> None:
        """Let go of what is open."""
        self._move(self._start)
        os.close(self._start)

    def __enter__(self) -> "Descent":
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def _again(self) -> int:
        """The directory that the names lead to, opened from the start."""
        here = os.dup(self._start)
        for name in self.names:
            try:
                below = os.open(name, DIRECTORY, dir_fd=here)
            finally:
                os.close(here)
            here = below
        return here

    def _move(self, directory: int) -> None:
        if self.directory != self._start:
            os.close(self.directory)
        self.directory = directory


def _identity(directory: int) -> tuple[int, int]:
    found = os.fstat(directory)
    return found.st_dev, found.st_ino
