"""The owner's control of a running turn, from any thread: stop it, or add a message to it."""

import threading
from collections import deque


class Interruption:
    """Messages and a stop signal for the running turn.

    `event` is set while the current call or tool should stop. Long-running code watches it; the
    loop then checks whether the turn was cancelled or a message was queued.
    """

    def __init__(self) -> None:
        self.event = threading.Event()
        self._lock = threading.Lock()
        self._queued: deque[str] = deque()
        self._cancelled = False

    def cancel(self) -> None:
        """End the turn."""
        with self._lock:
            self._cancelled = True
            self.event.set()

    def queue(self, text: str) -> None:
        """Add `text` to the turn when the current call or tool has finished."""
        with self._lock:
            self._queued.append(text)

    @property
    def waiting(self) -> list[str]:
        """The queued messages that have not joined the turn yet."""
        with self._lock:
            return list(self._queued)

    def hurry(self) -> None:
        """Stop the current call or tool if a message is queued."""
        with self._lock:
            if self._queued:
                self.event.set()

    def wanted(self) -> bool:
        """Whether the current call or tool should stop."""
        return self.event.is_set()

    @property
    def cancelled(self) -> bool:
        """Whether the turn should end."""
        return self._cancelled

    def take(self) -> list[str]:
        """Take the queued messages, oldest first, and clear the stop signal."""
        with self._lock:
            messages = list(self._queued)
            self._queued.clear()
            if not self._cancelled:
                self.event.clear()
            return messages

    def reset(self) -> None:
        """Clear a cancellation for a new turn; messages that are still queued are kept."""
        with self._lock:
            self._cancelled = False
            if not self._queued:
                self.event.clear()
