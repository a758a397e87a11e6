"""The limits of one answer: when it must have begun, when it must be over, what it may send.

A read timeout ends a silence. It does not end a stream of keep-alives, nor one of a byte a second:
those are ended here, at their socket, by a thread that looks at the clock alone.
"""

import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Self

from assistant.model.provider.http.told import LONGEST, Told, error_in

MOST_UNREAD = 16_000_000
"""Bytes that may come without a word of the reply among them: a whole answer that was not
streamed has less than that."""
FINISH = re.compile(rb'(?<!\\)"(?:(block)Reason|finishReason|stop_reason)"\s*:\s*"([A-Za-z_]+)"')
LONGEST_FINISH = 100
"""Bytes that a finish reason with its name may take; it may be cut anywhere."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds: of silence, until the first word, and of the whole answer."""

    silence: float = 120.0
    first_token: float = 300.0
    answer: float = 1800.0


class Watch:
    """Watches one request, as a context manager. `passed` names the limit it ran into, if any.

    `answered`: its status was no error. `finish` is the provider's own word for the end where it
    is `overheard` on the wire, since litellm's adapter makes one up (Gemini's says of every chunk
    that it is the last, Anthropic's that a word it does not know is a good end).
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.passed = ""
        self.answered = False
        self.overheard = False
        self.finish: str | None = None
        self._started = time.monotonic()
        self._spoke = False
        self._unread = 0
        self._tail = b""
        self._over = threading.Event()
        self._hang_up: Callable[[], None] | None = None
        self._lock = threading.Lock()

    def begun(self, hang_up: Callable[[], None]) -> None:
        """The response has begun; `hang_up` ends it from any thread."""
        with self._lock:
            self._hang_up = hang_up
            late = bool(self.passed)
        if late:
            hang_up()

    def spoke(self) -> None:
        """A piece of the reply came."""
        self._spoke, self._unread = True, 0

    def read(self, piece: bytes) -> bool:
        """Some bytes came; False if it is too much without a word."""
        if self.overheard:
            for found in FINISH.finditer(self._tail[-LONGEST_FINISH:] + piece):
                self.finish = "safety" if found[1] else found[2].decode()
        self._tail = (self._tail + piece)[-LONGEST:]
        self._unread += len(piece)
        if self._unread > MOST_UNREAD:
            self._pass("unread")
        return not self.passed

    def told(self) -> Told | None:
        """The error with which the answer ended, if the provider told one."""
        return error_in(self._tail) if self.answered else None

    @property
    def foreign(self) -> bool:
        """What came is neither server-sent events nor JSON: a web page, say."""
        lines = [line.strip() for line in self._tail.splitlines()]
        if len(self._tail) == LONGEST:
            del lines[0]  # the rest of one
        known = (b":", b"data:", b"event:", b"id:", b"retry:", b"{")
        return any(line and not line.startswith(known) for line in lines)

    @contextmanager
    def over_requests(self) -> Iterator[None]:
        """What this thread sends meanwhile belongs to this watch."""
        _current.watch, before = self, current()
        try:
            yield
        finally:
            _current.watch = before

    def __enter__(self) -> Self:
        threading.Thread(target=self._run, name="answer's limits", daemon=True).start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._over.set()

    def _run(self) -> None:
        stages = [(self.limits.first_token, "first_token"), (self.limits.answer, "answer")]
        for seconds, name in sorted(stages):
            if self._over.wait(max(0.0, self._started + seconds - time.monotonic())):
                return
            if name == "answer" or not self._spoke:
                self._pass(name)
                return

    def _pass(self, name: str) -> None:
        with self._lock:
            self.passed = self.passed or name
            hang_up = self._hang_up
        if hang_up:
            hang_up()


class _Current(threading.local):
    watch: Watch | None = None


_current = _Current()


def current() -> Watch | None:
    """The watch over what this thread sends."""
    return _current.watch
