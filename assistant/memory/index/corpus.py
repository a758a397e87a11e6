"""The files of an index, either a workspace's memory files or other texts; how they are read; and
their faults."""

import itertools
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Protocol

from assistant.disk import storage
from assistant.disk.storage import Stat
from assistant.memory.text.conflict_marks import conflict_in, without_marks
from assistant.memory.text.markdown import unclosed_comment
from assistant.workspace.folder import Survey

UNREADABLE = "\ufffd"
MOST_UNREADABLE = 0.25
"""Maximum share of a text file that may be undecodable."""
COARSE_NS, TICK_NS = 2_000_000_000, 100_000_000
"""A file changed this shortly before it was read may change again with the same stat. The coarsest
file system clock (FAT) has a resolution of 2 s, the kernel's of a tick."""
CLOCK_REALTIME_COARSE = 5
"""Linux: the clock of file timestamps. Unlike `time.time_ns`, it does not advance while the machine
is not scheduled."""
UNPROVEN = 0
"""The inode stored if a file's stat does not prove that it is unchanged since it was read."""
KEPT = "Its indexed content stays searchable"


class Corpus(Protocol):
    """A set of named files below a `root`, with an index at `index`; a workspace is one.

    `identity` distinguishes it from all others on this machine, for its index and its vectors.
    """

    @property
    def root(self) -> Path:
        """The folder that names are relative to."""

    @property
    def private(self) -> Path:
        """The program's own folder, which contains the index."""

    @property
    def index(self) -> Path:
        """The folder of its index."""

    @property
    def identity(self) -> Path:
        """A path that is unique to this corpus."""

    def survey(self) -> Survey:
        """Return the existing files, and the entries among them that cannot be indexed."""


def read_file(path: str) -> tuple[Stat, bytes]:
    """Read a file; return its stat from before, and its bytes. The inode is `UNPROVEN` if the file
    was changed so recently that a change during or after the reading may not show."""
    now = file_clock_ns()
    data, stat = storage.read_with_stat(Path(path))
    tick = TICK_NS if stat.ctime_ns % 1_000_000_000 else COARSE_NS
    if now - max(stat.mtime_ns, stat.ctime_ns) <= tick:
        stat = stat._replace(inode=UNPROVEN)
    return stat, data


def file_clock_ns() -> int:
    """Return the modification time that a file changed now would get."""
    if sys.platform == "linux":
        return time.clock_gettime_ns(CLOCK_REALTIME_COARSE)
    return time.time_ns()


def decoded(name: str, data: bytes) -> str:
    """Return the text of a file without conflict markers, with undecodable bytes replaced.

    Raises ValueError, which names the position, if it is not text at all.
    """
    reason = storage.text_fault(data)
    text = data.replace(b"\0", UNREADABLE.encode()).decode("utf-8", "replace")
    if reason and text.count(UNREADABLE) > MOST_UNREADABLE * len(text):
        raise ValueError(f"is not UTF-8 text ({reason}). Save it as UTF-8")
    return without_marks(text)


def text_warning(data: bytes) -> str:
    """Return the fault of a file that is readable nevertheless; "" if it has none."""
    if reason := storage.text_fault(data):
        seen = "its readable part is recalled, and nothing is written to it"
        return f"is not UTF-8 text ({reason}); {seen}. Save it as UTF-8"
    text = data.decode()
    if line := conflict_in(text):
        return (
            f"has an unresolved merge conflict (line {line}). Resolve it; nothing is written to it"
        )
    if line := unclosed_comment(text):
        return f"has a comment that is never closed (line {line}); it is read as text. Add -->"
    return ""


class Faults:
    """The faults of files, and the entries among them that cannot be indexed."""

    def __init__(self) -> None:
        self._files: dict[str, tuple[Stat | None, str]] = {}
        self._odd: tuple[str, ...] = ()

    def lines(self, warnings: Mapping[str, str] | None = None) -> tuple[str, ...]:
        """Return the current faults, one per line; `warnings` are those of indexed files."""
        faults = {name: message for name, (_, message) in self._files.items()}
        files = {**(warnings or {}), **faults}
        return (*self._odd, *(f"{name} {message}" for name, message in files.items()))

    def clear(self) -> None:
        """Forget the faults of files, which may have been corrected."""
        self._files.clear()

    def update(self, survey: Survey, missing: Iterable[str]) -> set[str]:
        """Record what exists; return which of the `missing` files are in unreadable folders."""
        names = set(survey.sources)
        self._files = {name: fault for name, fault in self._files.items() if name in names}
        unseen = {name: folder for name in missing if (folder := _odd_above(name, survey.odd))}
        self._odd = tuple(
            f"{name} {reason}. {KEPT if name in unseen.values() else 'It is left out'}"
            for name, reason in survey.odd.items()
        )
        return set(unseen)

    def has(self, name: str, stat: Stat | None) -> bool:
        """Return whether the file had a fault in its current state."""
        return stat is not None and name in self._files and self._files[name][0] == stat

    def add(self, name: str, stat: Stat | None, what: str, *, indexed: bool) -> None:
        """Add the fault of a file; an earlier version of it may be `indexed`."""
        stays = f"; {KEPT[0].lower()}{KEPT[1:]}" if indexed else ""
        self._files[name] = (stat, f"{what}{stays}")

    def remove(self, name: str) -> None:
        """Remove the fault of a file."""
        self._files.pop(name, None)


def _odd_above(name: str, odd: Mapping[str, str]) -> str:
    """Return the unreadable folder that contains a file; "" if there is none."""
    above = itertools.accumulate(name.split("/")[:-1], lambda path, part: f"{path}/{part}")
    return next((folder for folder in above if folder in odd), "")
