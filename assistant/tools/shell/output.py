"""What a command prints, bounded."""

import threading

HEAD, TAIL = 24_000, 12_000
"""Bytes kept of the start and the end of a command's output."""


class Output:
    """The head and the tail of a stream of bytes, however long it is; for any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._head = bytearray()
        self._tail = bytearray()
        self._size = 0

    def add(self, data: bytes) -> None:
        """Take in what has arrived."""
        with self._lock:
            self._size += len(data)
            room = HEAD - len(self._head)
            self._head += data[:room]
            if len(data) > room:
                self._tail = (self._tail + data[room:])[-TAIL:]

    def __bool__(self) -> bool:
        return self._size > 0

    def take(self) -> str:
        """All that is kept, and how much is not; then there is nothing."""
        with self._lock:
            left_out = self._size - len(self._head) - len(self._tail)
            middle = f"\n[… {left_out:,} bytes left out …]\n".encode() if left_out else b""
            text = (self._head + middle + self._tail).decode("utf-8", "replace")
            self._head, self._tail, self._size = bytearray(), bytearray(), 0
        return text.rstrip("\n")
