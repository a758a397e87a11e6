"""The temporary files that killed writes left in a workspace."""

import itertools
import time
from collections.abc import Iterator
from pathlib import Path

from assistant.disk.storage import TEMPORARY
from assistant.workspace.folder import Workspace

RESTING = 60.0
"""Seconds after which nobody is about to put such a file in place any more."""


def killed_writes(place: Workspace) -> Iterator[Path]:
    """What a killed write left: its words may be in it. The ledger's lock must be held."""
    pattern = f".*{TEMPORARY}"
    ours = itertools.chain(
        place.root.glob(pattern),
        (place.root / "memory").rglob(pattern),
        place.private.glob(f".journal*{TEMPORARY}"),
        place.history.glob(pattern),
    )
    yield from ours
    for path in place.private.rglob(pattern):  # others write there, under locks of their own
        try:
            rests = time.time() - path.stat().st_mtime > RESTING
        except FileNotFoundError:
            continue
        if rests:
            yield path
