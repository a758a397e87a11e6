"""Large files are indexed aside, on a thread of their own, while all else goes on."""

import contextlib
import gc
import threading
from collections.abc import Callable, Iterator

from assistant.memory.index.sqlite.catalog import Source
from assistant.memory.index.sqlite.rows import Stat
from assistant.memory.precedence import QUESTIONS

LARGE = 256 << 10
"""Bytes by which a file has grown or shrunk from which on it is indexed aside."""


class Dropped(Exception):
    """What was on its way is not wanted any more."""


class Aside:
    """The files that are on their way into the index. Thread-safe."""

    def __init__(self, index: Callable[[str], None]) -> None:
        """`index` brings a file up; whatever is wrong with it, it raises nothing."""
        self._index = index
        self._names: dict[str, None] = {}
        self._turn = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closing = False

    @property
    def names(self) -> tuple[str, ...]:
        """The files that answers do not know as they are now."""
        return tuple(self._names)

    def takes(self, name: str, stat: Stat, known: Source | None) -> bool:
        """Whether a file that changed is indexed aside; then it is begun."""
        if name in self._names:
            return True
        if abs(stat.size - (known.stat.size if known else 0)) < LARGE:
            return False
        with self._turn:
            self._names[name] = None
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="aside", daemon=True)
                self._thread.start()
        return True

    def is_closing(self) -> bool:
        """Whether what is on its way is to be dropped."""
        return self._closing

    def close(self) -> None:
        """Drop what is on its way, and return when nothing runs any more."""
        self._closing = True
        if (thread := self._thread) is not None:
            thread.join()

    def _work(self) -> None:
        while not self._closing:
            with self._turn:
                name = next(iter(self._names), None)
                if name is None:
                    self._thread = None
                    return
            with QUESTIONS.behind(), _no_collection():
                self._index(name)
            with self._turn:
                del self._names[name]


@contextlib.contextmanager
def _no_collection() -> Iterator[None]:
    """Look for no cycles meanwhile: to go through millions of tokens takes seconds, in which no
    other thread runs, and there are none among them."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
