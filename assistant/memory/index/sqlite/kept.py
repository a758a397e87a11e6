"""What was read of the latest state of a database, to be read again only after a change."""

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Kept(Generic[K, V]):
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

    def get(self, key: K) -> V | None:
        """What is kept of the state that this thread sees; of an older one nothing is."""
        with self._turn:
            return self._values.get(key) if self._generation() == self._of else None

    def put(self, key: K, value: V) -> V:
        """Keep a value; what was kept longest goes."""
        with self._turn:
            now = self._generation()
            if now > self._of:
                self._of, self._held = now, 0
                self._values.clear()
            if now == self._of and key not in self._values:
                self._values[key] = value
                self._held += self._weight(value)
                while self._held > self._most and len(self._values) > 1:
                    self._held -= self._weight(self._values.pop(next(iter(self._values))))
        return value
