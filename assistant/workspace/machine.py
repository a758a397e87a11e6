"""Which machine this is, and what of a workspace must not be shared with another.

A workspace may lie in a folder that a program syncs. What two machines would take from one another
(the index, the locks) lies outside it then, and each machine writes a journal of its own.
"""

import contextlib
import functools
import hashlib
import os
from pathlib import Path

from assistant import config
from assistant.disk import storage
from assistant.errors import StorageError

OWNER = "machine"
"""The file in a workspace's own folder that says whose it is."""

_MARKS = (
    ".stfolder",  # Syncthing
    ".dropbox",
    ".dropbox.cache",
    ".nextcloudsync.log",
    ".owncloudsync.log",
    ".sync",  # Resilio
)
"""What such programs leave at the top of the folders that they sync."""
_NAMES = ("Dropbox", "OneDrive", "Nextcloud", "pCloud", "Google Drive", "GoogleDrive", "iCloud",
          "Mobile Documents", "CloudStorage")  # fmt: skip
"""How the folders of others begin."""


@functools.lru_cache(maxsize=64)
def is_synced(root: Path) -> bool:
    """Whether a folder lies in one that a program syncs with others, as far as that shows."""
    for folder in (root, *root.parents):
        if folder.name.startswith(_NAMES) or any((folder / mark).exists() for mark in _MARKS):
            return True
    return False


def own(base: Path, kind: str, root: Path) -> Path:
    """A folder of this machine's for something of a workspace, below the user's `base`."""
    name = hashlib.sha256(str(root).encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return base / kind / name


def journal(private: Path) -> Path:
    """The journal that this machine writes: the first to write has `journal.jsonl`."""
    return private / ("journal.jsonl" if lives_here(private) else f"journal-{ident()}.jsonl")


def lives_here(private: Path) -> bool:
    """Whether a workspace's own folder is this machine's, or nobody's yet."""
    owner = _read(private / OWNER)
    return not owner or owner == ident()


def move_in(private: Path) -> None:
    """Say that a workspace's own folder is this machine's, unless it is another's."""
    mark = private / OWNER
    if not mark.exists():
        with contextlib.suppress(StorageError):  # where it cannot be said, nobody else is meant
            storage.replace(mark, ident().encode())


def ident() -> str:
    """What tells this machine, or rather this user's home on it, from any other."""
    return _ident(config.state_dir() / "machine")


@functools.lru_cache(maxsize=8)
def _ident(path: Path) -> str:
    if not (known := _read(path)):
        known = os.urandom(4).hex()
        storage.private_directory(path.parent)
        storage.replace(path, known.encode())
    return known


def _read(path: Path) -> str:
    try:
        return path.read_text("ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""
