"""A check of memory: what is wrong with journal, index and files, mended where that can be."""

from collections.abc import Iterator

from assistant.disk import storage
from assistant.display import counted
from assistant.errors import StorageError
from assistant.memory.index.sync import Synchronizer
from assistant.memory.state import Finding
from assistant.memory.writing.record.journal import Journal
from assistant.memory.writing.transaction import Commits


def check(commits: Commits, index: Synchronizer) -> Iterator[Finding]:
    """Go through all of it; the index must be up with the files, and nobody else at work."""
    for number, name in commits.set_aside().items():
        where = f".assistant/history/{name}"
        yield Finding("journal", f"journal.jsonl:{number} was damaged; it is kept as {where}", True)
    yield from _images(commits)
    if not index.verify():
        yield Finding("index", "the index was damaged; it is made again from the files", True)
    for source in commits.workspace.sources():
        path = commits.workspace.root / source
        if left := storage.leftovers(path):
            with commits.locked():
                storage.sweep(path)
            what = f"{counted(len(left), 'temporary file')} of a killed write beside {source}"
            yield Finding("file", what, True)
    for fault in index.faults():
        yield Finding("file", fault, False)


def damage(journal: Journal) -> Iterator[str]:
    """What to tell of a journal with lines that cannot be read."""
    if damaged := journal.damaged():
        lines = f"{'line' if len(damaged) == 1 else 'lines'} {', '.join(map(str, damaged))}"
        yield f"journal.jsonl: {lines} damaged and passed over: `assistant memory check`"


def _images(commits: Commits) -> Iterator[Finding]:
    """The kept texts that cannot be read any more; what they held cannot be restored."""
    for name in commits.images.names():
        try:
            commits.images.read(name)
        except StorageError as error:
            commits.images.drop(name)
            yield Finding("journal", f"{error.message}; it is dropped", True)
