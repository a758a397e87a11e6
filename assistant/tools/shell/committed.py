"""Git's store of what the owner's rules name: what was committed can be read out of it again."""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from assistant.tools.rules import Named

HEAD, FLAGS = 12, 60
"""Bytes before an index's first entry, and those of an entry before its flags."""
EXTENDED = 0x4000
"""The flag of an entry that has two more bytes of them."""


def stores(directories: Sequence[Path], named: Named, found: Iterable[Path]) -> list[Path]:
    """The object stores below the directories of the repositories that track what is named.

    `found` are the named places that are there.
    """
    trees = {*directories, *(tree for path in found for tree in path.parents)} if named else set()
    below = (tree for tree in trees if _is_below(tree, directories))
    kept = {git for tree in below for git in _repositories(tree, named)}
    return sorted(path for path in kept if path.is_dir() and _is_below(path, directories))


def _is_below(path: Path, directories: Iterable[Path]) -> bool:
    return any(path.is_relative_to(root) for root in directories)


def _repositories(tree: Path, named: Named) -> Iterator[Path]:
    """The object store of the repository with files in `tree`, if it tracks what is named."""
    git = _leads_to(tree, ".git", "gitdir: ")
    try:
        index = git / "index"
        status = index.stat()
        if _tracks(index, (status.st_mtime_ns, status.st_size), tree, named):
            yield (_leads_to(git, "commondir") / "objects").resolve()
    except OSError:  # there is none
        return


def _leads_to(place: Path, name: str, before: str = "") -> Path:
    """Where the file of this name points to; the directory of that name, or `place` itself."""
    pointer = place / name
    if pointer.is_file():
        return place / pointer.read_text("utf-8", "replace").removeprefix(before).strip()
    return pointer if pointer.is_dir() else place


@lru_cache(32)
def _tracks(index: Path, version: tuple[int, int], tree: Path, named: Named) -> bool:
    """Whether an index, as it was at this time, has what is named; one nobody can read may."""
    try:
        return any(
            named.holds(f"{tree}/{name.decode('utf-8', 'replace')}", directory=False)
            for name in tracked(index.read_bytes())
        )
    except (IndexError, ValueError):
        return True


def tracked(index: bytes) -> Iterator[bytes]:
    """The paths in a git index. Raises IndexError or ValueError for what is none."""
    version, at, name = int.from_bytes(index[4:8]), HEAD, b""
    for _ in range(int.from_bytes(index[8:HEAD])):
        start = at + FLAGS + 2
        start += 2 if int.from_bytes(index[start - 2 : start]) & EXTENDED else 0
        kept = 0
        if version >= 4:  # a name says how much of the one before it drops
            dropped, start = _number(index, start)
            kept = len(name) - dropped
        end = index.index(0, start)
        name = name[:kept] + index[start:end]
        at = end + 1 if version >= 4 else at + (end - at) // 8 * 8 + 8
        yield name


def _number(data: bytes, at: int) -> tuple[int, int]:
    """A number of git's, of seven bits a byte, and where it ends."""
    value = data[at] & 127
    while data[at] & 128:
        at += 1
        value = (value + 1 << 7) | data[at] & 127
    return value, at + 1
