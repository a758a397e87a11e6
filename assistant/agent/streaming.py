"""A model's stream, read in a thread of its own, so that the owner can stop a silent one.

A request that has sent nothing yet blocks whoever reads it. Here that is a thread, which is left
behind when the owner interrupts: it hangs up at its next piece, or when the request times out.
"""

import threading
from collections.abc import Generator
from queue import Empty, SimpleQueue

from assistant.agent.interruption import Interruption
from assistant.model.base import Piece

PATIENCE = 0.05
"""Seconds between looks at the interruption while the model is silent."""
HANG_UP = 0.2
"""Seconds given to the reader to hang up before the turn goes on without it."""

Pieces = Generator[Piece, None, None]


def listen(stream: Pieces, interruption: Interruption) -> Pieces:
    """The stream's pieces, each read when it is asked for.

    Ends early if the owner wants something to stop while the model is silent. Raises what the
    stream raises. Closing this cancels the request.
    """
    reader = _Reader(stream)
    try:
        while (piece := reader.next(interruption)) is not None:
            yield piece
    finally:
        reader.end()


class _Reader:
    """Pulls one piece at a time in a thread."""

    def __init__(self, stream: Pieces) -> None:
        self._stream = stream
        self._wanted = threading.Semaphore(0)
        self._over = False
        self._heard: SimpleQueue[Piece | BaseException | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="model stream", daemon=True)
        self._thread.start()

    def next(self, interruption: Interruption) -> Piece | None:
        """The next piece; None at the end, or when the owner interrupts the silence."""
        self._wanted.release()
        while True:
            try:
                heard = self._heard.get(timeout=PATIENCE)
            except Empty:
                if interruption.wanted():
                    return None
                continue
            if isinstance(heard, BaseException):
                raise heard
            return heard

    def end(self) -> None:
        """Have the thread hang up, now or at the piece it waits for."""
        self._over = True
        self._wanted.release()
        self._thread.join(HANG_UP)

    def _run(self) -> None:
        try:
            while self._wanted.acquire() and not self._over:
                self._heard.put(next(self._stream, None))
            self._stream.close()
        except BaseException as error:  # carried to the thread that listens
            self._heard.put(error)
