"""What the owner types while the model works: read without blocking, handed over at Enter."""

import codecs
import os
import select
import sys
import termios
import threading
import tty
from collections.abc import Callable
from types import TracebackType

ENTER = "\r\n"
RUBOUT = "\x7f\b"


class TypeAhead:
    """Reads the terminal in a thread while it is entered; `said` gets each finished line.

    The terminal is in cbreak mode meanwhile: no echo, Ctrl-C still interrupts.
    """

    def __init__(self, said: Callable[[str], None]) -> None:
        self._said = said
        self._typed = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._terminal = sys.stdin.fileno()

    @property
    def typed(self) -> str:
        """The unfinished line."""
        return self._typed

    def __enter__(self) -> "TypeAhead":
        self._before = termios.tcgetattr(self._terminal)
        tty.setcbreak(self._terminal)
        self._wake, self._waker = os.pipe()
        self._thread = threading.Thread(target=self._read, name="type-ahead", daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self._waker)
        self._thread.join()
        os.close(self._wake)
        termios.tcsetattr(self._terminal, termios.TCSADRAIN, self._before)

    def _read(self) -> None:
        while True:
            ready, _, _ = select.select([self._terminal, self._wake], [], [])
            if self._wake in ready:
                return
            self.take(self._decoder.decode(os.read(self._terminal, 1024)))

    def take(self, typed: str) -> None:
        """Take in what was typed."""
        for character in typed:
            self._key(character)

    def _key(self, character: str) -> None:
        if character in ENTER:
            line, self._typed = self._typed.strip(), ""
            if line:
                self._said(line)
        elif character in RUBOUT:
            self._typed = self._typed[:-1]
        elif character.isprintable():
            self._typed += character
