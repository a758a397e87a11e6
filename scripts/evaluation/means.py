"""The means of recall that `scripts/eval --without NAME` switches off, one by one."""

from collections.abc import Sequence
from dataclasses import asdict, replace

from assistant.errors import UsageError
from assistant.memory.search.means import ALL, Means

NAMES = tuple(asdict(ALL))
EACH = "each"


def without(name: str) -> Means:
    """All means but one. Raises UsageError."""
    if name not in NAMES:
        raise UsageError(f"there are no means {name!r}", f"Name one of: {', '.join(NAMES)}")
    return replace(ALL, **{name: False})


def left_out(name: str | None) -> Sequence[str]:
    """Which means to leave out, one run for each: "" is none. Raises UsageError."""
    if name == EACH:
        return ("", *NAMES)
    if name:
        without(name)
    return (name or "",)
