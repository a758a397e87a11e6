"""A check of memory: what is wrong with journal, index and files, mended where that can be."""

from collections.abc import Iterator, Sequence
from typing import Literal

from assistant.errors import StorageError
from assistant.memory.index.refresh import Synchronizer
from assistant.memory.state import Finding
from assistant.memory.writing.journal import Journal
from assistant.memory.writing.review import Review
from assistant.memory.writing.transaction import Commits, SetAside
from assistant.workspace.leftovers import killed_writes

SHOWN = 5
"""Numbers of damaged lines that are named."""


def check(commits: Commits, review: Review, index: Synchronizer) -> Iterator[Finding]:
    """Go through all of it; the index must be up with the files, and nobody else at work."""
    yield from _aside("journal", commits.journal.name, commits.set_aside())
    yield from _images(commits)
    yield from _aside("file", review.path.name, review.set_aside())
    if not index.verify():
        yield Finding("index", "the index was damaged; it is made again from the files", True)
    with commits.locked():
        for left in killed_writes(commits.workspace):
            left.unlink(missing_ok=True)
            where = left.relative_to(commits.workspace.root)
            yield Finding("file", f"{where}, which a killed write left; it is removed", True)
    for fault in index.faults():
        yield Finding("file", fault, False)


def damage(journal: Journal, review: Review) -> Iterator[str]:
    """What to tell of lines that cannot be read."""
    files = {journal.name: journal.damaged(), review.path.name: review.damaged()}
    for name, damaged in files.items():
        if damaged:
            which = _lines(tuple(damaged))
            yield f"{name}: {which} damaged and passed over: `assistant memory check`"


def _aside(part: Literal["journal", "file"], name: str, kept: SetAside | None) -> Iterator[Finding]:
    if kept is not None:
        where = f".assistant/history/{kept.image}"
        one = len(kept.lines) == 1
        which = f"{name}:{kept.lines[0]} was" if one else f"{name}: {_lines(kept.lines)} were"
        is_kept = "it is kept" if one else "they are kept"
        yield Finding(part, f"{which} damaged; {is_kept} as {where}", True)


def _lines(numbers: Sequence[int]) -> str:
    """Which lines, the first few of them by number."""
    listed = ", ".join(map(str, numbers[:SHOWN]))
    more = f" and {len(numbers) - SHOWN:,} more" if len(numbers) > SHOWN else ""
    return f"{'line' if len(numbers) == 1 else 'lines'} {listed}{more}"


def _images(commits: Commits) -> Iterator[Finding]:
    """The kept texts that cannot be read any more; what they held cannot be restored."""
    for name in commits.images.names():
        try:
            commits.images.read(name)
        except StorageError as error:
            commits.images.drop(name)
            yield Finding("journal", f"{error.message}; it is dropped", True)
