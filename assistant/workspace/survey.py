"""Finds the memory files of a workspace, and sync conflict copies of them."""

import os
import re
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from assistant.display import shortened

_COPY = re.compile(
    r"(?P<stem>.+?)(?:"
    r"\.sync-conflict-\d{8}-\d{6}(?:-[A-Z0-9]{7})?"  # Syncthing
    r"| ?\((?:[^()]*\b)?conflicted copy\b[^()]*\)"  # Dropbox, Nextcloud
    r"| ?\((?:in Konflikt stehende Kopie|copie en conflit|copia en conflicto)\b[^()]*\)"  # Dropbox
    r"| ?\(case conflict(?: \d+)?\)"  # Dropbox, of names that differ in their case
    r"|_conflict-(?:[^/]+-)?\d{8}-\d{6}"  # ownCloud
    r"|[ _-]conflicted[ _-]copy\b.*?"
    r")(?P<ending>\.[^./]+)?",
    re.IGNORECASE,
)
_TOLD = ("confli", "konflikt")
"""Every copy's name contains one of these."""
_OF_MEMORY = re.compile(r"MEMORY(?: \d+| \(\d+\)|-(?:DESKTOP|LAPTOP)-[A-Z0-9]+)\.md")
"""Names that iCloud, Google Drive and OneDrive give copies; other files may be so named on
purpose."""
KEPT = 8192
"""Names that are cached: each is looked up before every recall."""
_LEFT = (".orig", ".rej")
"""Suffixes of files that git and patch leave."""


@lru_cache(KEPT)
def original_of(name: str) -> str | None:
    """Return the name of the file that this one is a copy of, or None."""
    folder, slash, own = name.rpartition("/")
    if own.endswith(_LEFT):
        return f"{folder}{slash}{own.rpartition('.')[0]}"
    if own.startswith("MEMORY") and _OF_MEMORY.fullmatch(name):
        return "MEMORY.md"
    lowered = own.lower()
    if _TOLD[0] not in lowered and _TOLD[1] not in lowered:  # most files
        return None
    match = _COPY.fullmatch(own)
    return f"{folder}{slash}{match['stem'].rstrip()}{match['ending'] or ''}" if match else None


@dataclass(frozen=True, slots=True)
class Survey:
    """The memory files of a workspace, sorted; problems with other entries, by name; and the
    folders searched."""

    sources: list[str]
    odd: dict[str, str]
    folders: list[str] = field(default_factory=list)

    def reject(self, name: str, reason: str) -> None:
        """Record a problem with an entry."""
        self.odd[shortened(name, 100).encode("utf-8", "backslashreplace").decode()] = reason

    def reject_copy(self, name: str) -> None:
        """Record that an entry is a sync conflict copy."""
        self.reject(
            name,
            f"is a copy that syncing left of {original_of(name)}; `assistant memory merge` takes "
            "its facts in",
        )


DEEPEST = 64
"""Folders inside one another that are looked into."""


def survey(root: Path, top_files: Sequence[str]) -> Survey:
    """Find the memory files: `top_files`, and markdown below `memory/`.

    Links to directories are not followed. Ten times as fast as `Path.rglob`, since it runs before
    each recall.
    """
    result = Survey([], {}, [""])
    for name in top_files:
        _judge(result, name, f"{root}/{name}")
    for name in _top_copies(root, top_files):
        result.reject_copy(name)
    pending = ["memory"]
    while pending:
        result.folders.append(pending.pop())
        pending += _survey_folder(result, f"{root}/", result.folders[-1])
    result.sources.sort()
    return result


def copies(root: Path, top_files: Sequence[str]) -> dict[str, str]:
    """Return the sync conflict copies of memory files, each with its original."""
    result = {name: original_of(name) or "" for name in _top_copies(root, top_files)}
    for path in (root / "memory").rglob("*"):
        name = path.relative_to(root).as_posix()
        original = original_of(name)
        if original and original.endswith(".md") and path.is_file():
            result[name] = original
    return dict(sorted(result.items()))


def _top_copies(root: Path, top_files: Sequence[str]) -> list[str]:
    try:
        names = os.listdir(root)  # noqa: PTH208
    except OSError:
        return []
    return sorted(n for n in names if n not in top_files and original_of(n) in top_files)


def _survey_folder(result: Survey, root: str, directory: str) -> list[str]:
    """Survey one directory, and return its subdirectories."""
    folders: list[str] = []
    try:
        with os.scandir(root + directory) as entries:
            for entry in entries:
                name = f"{directory}/{entry.name}"
                if entry.is_dir(follow_symlinks=False):
                    if name.count("/") > DEEPEST:
                        result.reject(name, f"lies more than {DEEPEST} folders deep")
                    elif _is_utf8(result, name):
                        folders.append(name)
                elif not name.endswith((".md", ".orig")):
                    continue
                elif original_of(name) is not None:
                    result.reject_copy(name)
                elif entry.is_file(follow_symlinks=False) and entry.name.isascii():
                    result.sources.append(name)  # saves a system call
                else:
                    _judge(result, name, entry.path)
    except (FileNotFoundError, NotADirectoryError):
        pass  # removed meanwhile
    except OSError as error:
        result.reject(directory, f"cannot be read: {error.strerror}")
    return folders


def _judge(result: Survey, name: str, path: str) -> None:
    """Add the entry if it is a regular file. It is not opened: a pipe would block."""
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116
    except (FileNotFoundError, NotADirectoryError):
        return  # or a dangling link
    except OSError as error:
        return result.reject(name, f"leads nowhere: {error.strerror}")
    if not stat.S_ISREG(mode):
        result.reject(name, "is no file")
    elif _is_utf8(result, name):
        result.sources.append(name)


def _is_utf8(result: Survey, name: str) -> bool:
    """Return whether a name is UTF-8; other bytes are lone surrogates in it."""
    try:
        name.encode()
    except UnicodeEncodeError:
        result.reject(name, "has a name that is not UTF-8; rename it")
        return False
    return True
