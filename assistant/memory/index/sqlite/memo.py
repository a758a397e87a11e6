"""What was read of the latest state of a database, to be read again only after a change."""

import threading
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Memo(Generic[K, V]):
    """Values by key, as long as they weigh no more than `most` together. Thread-safe."""

    def __init__(
        self, generation: Callable[[], int], most: int, weight: Callable[[V], int] = lambda _: 1
    ) -> None:
        """`generation` names the state that the calling thread sees."""
        self._generation = generation
        self._most = most
        self._weight = weight
        self._turn = threading.Lock()
        self._of = 0
        self._values: dict[K, V] = {}
        self._held = 0

    def of(self, keys: Iterable[K]) -> dict[K, V]:
        """What is kept under these, of the state that this thread sees; of an older one nothing."""
        with self._turn:
            there = self._values if self._generation() == self._of else {}
            return {key: there[key] for key in keys if key in there}

    def put(self, values: dict[K, V]) -> dict[K, V]:
        """Keep these values, which are returned; what was kept longest goes."""
        with self._turn:
            now = self._generation()
            if now > self._of:
                self._of, self._held = now, 0
                self._values.clear()
            if now == self._of:
                for key in [key for key in values if key not in self._values]:
                    self._values[key] = values[key]
                    self._held += self._weight(values[key])
                while self._held > self._most and len(self._values) > 1:
                    self._held -= self._weight(self._values.pop(next(iter(self._values))))
        return values
