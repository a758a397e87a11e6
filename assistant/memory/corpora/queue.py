"""What of a collection is still to be indexed, and what of it comes next."""

import time
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from itertools import chain, takewhile
from pathlib import Path

from assistant.memory.index.refresh import Synchronizer

PATIENCE = 5.0
"""Seconds that a question waits for files that are not indexed yet."""
FEW = 200
"""It waits for all that are new if they are so few."""
BEST, SHORTLY = 20, 1.5
"""Else for so many that hold most of its words, as far as they are indexed in so many seconds."""
SMALL = 64 << 10
"""Bytes of a file that is indexed at once."""
BULKY = 3
"""Files of more bulk come after all others, whatever they hold."""


class Queue:
    """The order in which the files of an index, named from oldest to newest, are indexed."""

    def __init__(self, root: Path, index: Synchronizer) -> None:
        self._root = root
        self._index = index

    def left(self, names: Sequence[str]) -> dict[str, int]:
        """The files that are not indexed yet, and how many bytes they have."""
        catalog = self._index.store.catalog
        with catalog.reading():
            known = catalog.sources()
        return {name: self._size(name) for name in names if name not in known}

    def known(self, names: Sequence[str]) -> list[str]:
        """Those of which something is indexed."""
        known = self._index.store.catalog.sources()
        return [name for name in names if name in known]

    def changed_first(self, changed: Container[str], names: Sequence[str]) -> list[str]:
        """What has changed as far as is known, then the rest, the small before the large."""
        return sorted(names, key=lambda name: (name not in changed, self._bulk(name)))

    def unasked(self, names: Sequence[str]) -> Iterator[tuple[str, int]]:
        """What was never indexed first, of that the small first, and of those the last; each with
        how many come before it or are indexed."""
        known = {*self.known(names)}
        ordered = sorted(reversed(names), key=lambda name: (name in known, self._bulk(name)))
        for number, name in enumerate(ordered, start=len(known)):
            yield name, number

    def promising(self, words: Sequence[bytes], names: Sequence[str]) -> Iterator[str]:
        """The files that a question waits for: those that are known, and of the new ones those
        first that hold most of its words."""
        known = {*self.known(names)}
        yield from (name for name in names if name in known)
        new = [name for name in reversed(names) if name not in known]
        few = len(new) <= FEW
        began, patience = time.monotonic(), PATIENCE if few else SHORTLY
        seen = takewhile(lambda _: time.monotonic() < began + patience / 2, new)
        held = {name: _held(self._root / name, words) for name in seen}
        in_files = Counter(chain.from_iterable(held.values()))
        worth = {name: sum(1 / in_files[word] for word in held[name]) for name in held}
        best = sorted(held, key=lambda name: (self._bulk(name) > BULKY, -worth[name]))
        wanted = best if few else [each for each in best[:BEST] if worth[each]]
        for name in wanted:
            if time.monotonic() > began + patience:
                return
            yield name

    def _bulk(self, name: str) -> int:
        """How large a file is: 0 if it is indexed at once, one more for twice as much."""
        return (self._size(name) // SMALL).bit_length()

    def _size(self, name: str) -> int:
        try:
            return (self._root / name).stat().st_size
        except OSError:
            return 0


def _held(path: Path, words: Sequence[bytes]) -> list[bytes]:
    """Which of the words a file holds."""
    try:
        data = path.read_bytes().lower()
    except OSError:
        return []
    return [word for word in words if word in data]
