"""The owner's hand on a running turn, from any thread: stop it, or say something into it."""

import threading
from collections import deque


class Interruption:
    """`event` is set while the owner wants the current call or tool to stop.

    Whatever runs long watches `event`; the loop then finds out what is wanted.
    """

    def __init__(self) -> None:
        self.event = threading.Event()
        self._lock = threading.Lock()
        self._said: deque[str] = deque()
        self._cancelled = False

    def cancel(self) -> None:
        """End the turn."""
        with self._lock:
            self._cancelled = True
            self.event.set()

    def queue(self, text: str) -> None:
        """`text` joins the turn when the current call or tool is through."""
        with self._lock:
            self._said.append(text)

    @property
    def waiting(self) -> list[str]:
        """What is queued and has not joined yet."""
        with self._lock:
            return list(self._said)

    def hurry(self) -> None:
        """Stop the current call or tool for what is queued, if anything is."""
        with self._lock:
            if self._said:
                self.event.set()

    def wanted(self) -> bool:
        """Whether anything is to stop."""
        return self.event.is_set()

    @property
    def cancelled(self) -> bool:
        """Whether the turn is to end."""
        return self._cancelled

    def take(self) -> list[str]:
        """What the owner has said, oldest first; the call may go on after that."""
        with self._lock:
            said = list(self._said)
            self._said.clear()
            if not self._cancelled:
                self.event.clear()
            return said

    def reset(self) -> None:
        """Forget a cancellation: a new turn begins. What was said before it still counts."""
        with self._lock:
            self._cancelled = False
            if not self._said:
                self.event.clear()
