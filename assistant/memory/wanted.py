"""Whether anybody still waits for what is about to be done.

A client that gives up while its write waits for its turn or for a lock must not find it done
later. Once a write has begun it is completed, whoever waits.
"""

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar


class Abandoned(Exception):
    """Nobody waits any more for what was asked; nothing of it was done."""


def _always() -> bool:
    return True


_wanted: ContextVar[Callable[[], bool]] = ContextVar("wanted", default=_always)


@contextlib.contextmanager
def wanted_by(wanted: Callable[[], bool]) -> Iterator[None]:
    """Do the block for somebody; `wanted` tells whether they are still there.

    Raises Abandoned at once if they are not.
    """
    token = _wanted.set(wanted)
    try:
        check_wanted()
        yield
    finally:
        _wanted.reset(token)


def check_wanted() -> None:
    """Raise Abandoned if nobody waits any more: called where a write would begin."""
    if not _wanted.get()():
        raise Abandoned
