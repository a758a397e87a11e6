"""Questions go first: what works in the background stands still meanwhile, or leaves off.

Python runs one thread at a time and hands over at each call of SQLite or numpy, so that an answer
takes many times as long beside a thread that parses.
"""

import contextlib
import threading
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

_T = TypeVar("_T")


class Precedence:
    """Tells threads in the background when to stand still: at most half of their time, however many
    questions come, and `patience` seconds at once."""

    def __init__(self, patience: float = 0.1) -> None:
        self._patience = patience
        self._asked = 0
        self._answered = threading.Condition()
        self._mine = threading.local()

    @property
    def asked(self) -> bool:
        """Whether a question is being answered."""
        return self._asked > 0

    @contextlib.contextmanager
    def answering(self) -> Iterator[None]:
        """While a question is answered by this thread."""
        with self._answered:
            self._asked += 1
        try:
            yield
        finally:
            with self._answered:
                self._asked -= 1
                self._answered.notify_all()

    @contextlib.contextmanager
    def behind(self) -> Iterator[None]:
        """While this thread works in the background."""
        self._mine.goes_on = 0.0
        try:
            yield
        finally:
            del self._mine.goes_on

    def give_way(self) -> None:
        """Stand still while a question is answered, if this thread works in the background."""
        goes_on: float | None = getattr(self._mine, "goes_on", None)
        if not self._asked or goes_on is None or (begun := time.monotonic()) < goes_on:
            return
        with self._answered:
            self._answered.wait_for(lambda: not self._asked, self._patience)
        now = time.monotonic()
        self._mine.goes_on = now + (now - begun)

    def between(self, things: Iterable[_T]) -> Iterator[_T]:
        """The same things; before each, way is given."""
        for each in things:
            self.give_way()
            yield each


QUESTIONS = Precedence()
"""Of this process."""
