"""Answers from an index that says what the files say, and what its owner should know of it."""

import threading
from collections import deque
from collections.abc import Callable
from typing import TypeVar

from assistant.memory.base import Notify, Progress
from assistant.memory.index.database import CatalogDamaged
from assistant.memory.index.refresh import Refreshed, Synchronizer
from assistant.memory.precedence import QUESTIONS

KEPT_NOTICES = 10
"""The latest events that `status` tells of."""
UNKNOWN = "files that changed"
_T = TypeVar("_T")


class Notices:
    """What happened to the index, and what is wrong with a file while it lasts."""

    def __init__(self, notify: Notify) -> None:
        self._notify = notify
        self._happened: deque[str] = deque(maxlen=KEPT_NOTICES)
        self._faults: tuple[str, ...] = ()
        self._turn = threading.RLock()

    def take(self, done: Refreshed) -> None:
        """Tell each notice when it is new; a fault is kept only while it lasts."""
        with self._turn:
            for notice in done.notices:
                if notice not in (*self._happened, *self._faults, *done.faults):
                    self._notify(notice)
                    self._happened.append(notice)
            self.see(done.faults)

    def see(self, faults: tuple[str, ...]) -> None:
        """Tell each fault when it is new; one that is left out is over."""
        with self._turn:
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
    """Keeps the index up with the files. Safe to use from several threads at once."""

    def __init__(
        self,
        index: Synchronizer,
        notices: Notices,
        progress: Progress,
        begin: Callable[[], None],
        after: Callable[[], None],
    ) -> None:
        """`begin` is done before the first answer, `after` whenever the index may be another."""
        self._after = after
        self._begin: Callable[[], None] | None = begin
        self._index = index
        self._notices = notices
        self._progress = progress
        self.lock = threading.RLock()
        """Held by whoever writes; whoever reads waits for nobody."""

    def refresh(self) -> bool:
        """Bring the index up to the files; whether it is, and nobody else was at it."""
        if self._begin is not None:
            with self.lock:
                begin, self._begin = self._begin, None
                if begin is not None:
                    begin()
        done = self._index.refresh_unless_busy(self._progress)
        if done is not None:
            self._notices.take(done)
            self._after()
        return done is not None

    def rebuild(self) -> None:
        """Make the index again."""
        with self.lock:
            self._notices.take(self._index.rebuild(self._progress))

    def read(self, read: Callable[[], _T]) -> _T:
        """What `read` finds in an index that says what the files say, made anew if damaged."""
        return self.look(read)[0]

    def look(self, read: Callable[[], _T]) -> tuple[_T, tuple[str, ...]]:
        """The same, and the files that the index does not have as they are: it is being brought up
        to them, and what it said before is read meanwhile."""
        with QUESTIONS.answering():
            behind = self._brought_up()
            catalog = self._index.store.catalog
            try:
                with catalog.reading():
                    found = read()
            except CatalogDamaged:
                self._index.recover(catalog)
                behind = self._brought_up()
                with self._index.store.catalog.reading():
                    found = read()
        self._notices.see(self._index.faults())
        return found, behind

    def _brought_up(self) -> tuple[str, ...]:
        """Bring the index up to the files; those that it is behind with, as of now."""
        whole = self.refresh()
        return self._index.behind() or (() if whole else (UNKNOWN,))
