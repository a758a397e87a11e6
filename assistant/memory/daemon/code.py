"""The program's files, as this process loaded them: a checkout or an upgrade in place makes others.

The number of its version need not tell: whoever develops it changes that once in a while.
"""

import os
import sys
import time

LOOK_SECONDS = 1.0
"""How often its files are looked at, at the most: half a millisecond each time."""
PACKAGE = "assistant"


class Code:
    """The files of the program that were loaded until now."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[int, int] | None] = {}
        self._modules = 0
        self._looked = 0.0
        self.look()

    def look(self) -> bool:
        """See what was loaded since; whether a file is another than when it was first seen."""
        self._looked = time.monotonic()
        if len(sys.modules) != self._modules:
            self._modules = len(sys.modules)
            for path in self._loaded():
                self._seen.setdefault(path, _sign(path))
        return any(_sign(path) != sign for path, sign in self._seen.items())

    def changed(self) -> bool:
        """The same, looked at now and then."""
        return time.monotonic() - self._looked >= LOOK_SECONDS and self.look()

    def _loaded(self) -> list[str]:
        modules = list(sys.modules.items())  # another thread may import meanwhile
        files = (
            getattr(module, "__file__", None)
            for name, module in modules
            if name == PACKAGE or name.startswith(f"{PACKAGE}.")
        )
        return [each for each in files if each]


def _sign(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)  # noqa: PTH116
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns
