"""A file read for the index, and whether it must be read again."""

import errno
import os
from pathlib import Path

from assistant.disk import storage
from assistant.memory.index.sqlite.catalog import Catalog, Source
from assistant.memory.index.sqlite.rows import Stat

RACY_NS = 2_000_000_000
"""A file changed this shortly before it was read may have changed again without its stat telling:
the coarsest clock of the file systems in use (FAT) counts in 2 s."""


def is_alone_unchanged(path: str, known: Source) -> bool:
    """Whether its stat proves that a file is as it was read, and it has no other name."""
    try:
        found = os.lstat(path)
    except OSError:
        return False
    return found.st_nlink == 1 and _is_as_known(found, known)


def is_unchanged(path: str, known: Source) -> bool:
    """Whether its stat proves that a file is as it was read."""
    try:
        return _is_as_known(os.stat(path), known)  # noqa: PTH116
    except OSError:
        return False


def _is_as_known(found: os.stat_result, known: Source) -> bool:
    now = found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
    return known.stat == now and proof(known) is not None


def proof(known: Source) -> Stat | None:
    """The stat by which a file is certainly as it was read; None if none tells."""
    settled = known.read_ns - max(known.stat.mtime_ns, known.stat.ctime_ns) > RACY_NS
    return known.stat if settled else None


def stat_of(path: str) -> Stat:
    """A file's stat. Raises OSError."""
    found = os.stat(path)  # noqa: PTH116
    return Stat(found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def read(path: str) -> tuple[Stat, bytes]:
    """The bytes of a file, and its stat from before: a later change shows itself."""
    with storage.open_file(Path(path)) as file:
        found = os.fstat(file.fileno())
        if found.st_size > storage.LARGEST:
            raise OSError(errno.EFBIG, f"it is larger than {storage.LARGEST >> 20} MB")
        data = file.read() if found.st_size else b""  # what /proc shows has no size, nor an end
    return Stat(found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns), data


def unsaid(catalog: Catalog, fact: str) -> dict[str, tuple[str, Stat | None]]:
    """The files that do not state a fact, each with the digest of what was indexed of it, and the
    stat that proves it to be so still, if one does."""
    with catalog.database.using():
        stating = {stored.chunk.source for stored in catalog.stating(fact)}
        sources = catalog.sources().values()
    silent = (each for each in sources if each.name not in stating)
    return {each.name: (each.sha256, proof(each)) for each in silent}
