"""Answers from an index that says what the files say, and what its owner should know of it."""

import threading
from collections import deque
from collections.abc import Callable
from typing import TypeVar

from assistant.memory.base import Notify, Progress
from assistant.memory.index.database import CatalogDamaged
from assistant.memory.index.sync import Refreshed, Synchronizer

KEPT_NOTICES = 10
"""The latest events that `status` tells of."""
_T = TypeVar("_T")


class Notices:
    """What happened to the index, and what is wrong with a file while it lasts."""

    def __init__(self, notify: Notify) -> None:
        self._notify = notify
        self._happened: deque[str] = deque(maxlen=KEPT_NOTICES)
        self._faults: tuple[str, ...] = ()

    def take(self, done: Refreshed) -> None:
        """Tell each notice when it is new; a fault is kept only while it lasts."""
        for notice in done.notices:
            if notice not in (*self._happened, *self._faults, *done.faults):
                self._notify(notice)
                self._happened.append(notice)
        self.see(done.faults)

    def see(self, faults: tuple[str, ...]) -> None:
        """Tell each fault when it is new; one that is left out is over."""
        for fault in faults:
            if fault not in self._faults:
                self._notify(fault)
        self._faults = faults

    def add(self, notice: str) -> None:
        """Keep something for `status` that nobody need be told at once."""
        self._happened.append(notice)

    def all(self) -> tuple[str, ...]:
        """What there is to know, oldest first, faults last."""
        return (*self._happened, *self._faults)


class Freshness:
    """Keeps the index up with the files. Safe to use from several threads, one at a time."""

    def __init__(
        self,
        index: Synchronizer,
        notices: Notices,
        progress: Progress,
        begin: Callable[[], None],
    ) -> None:
        """`begin` is done before the first answer."""
        self._begin: Callable[[], None] | None = begin
        self._index = index
        self._notices = notices
        self._progress = progress
        self.lock = threading.RLock()
        """Held by whoever writes or reads."""

    def refresh(self) -> None:
        """Bring the index up to the files."""
        with self.lock:
            begin, self._begin = self._begin, None
            if begin is not None:
                begin()
            self._notices.take(self._index.refresh(self._progress))

    def rebuild(self) -> None:
        """Make the index again."""
        with self.lock:
            self._notices.take(self._index.rebuild(self._progress))

    def read(self, read: Callable[[], _T]) -> _T:
        """What `read` finds in an index that says what the files say, made anew if damaged."""
        with self.lock:
            self.refresh()
            try:
                found = read()
            except CatalogDamaged:
                self._index.recover()
                self.refresh()
                found = read()
            self._notices.see(self._index.faults())
            return found
