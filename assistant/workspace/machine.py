"""Identifies this machine, and separates data that machines must not share.

A workspace may be in a synced folder. Data that would conflict between machines (the index, the
locks) is then kept outside it, and each machine writes its own journal.
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
"""The file in a workspace's private folder that names its machine."""


@functools.lru_cache(maxsize=64)
def is_synced(root: Path) -> bool:
    """Return whether a folder appears to be inside one that a sync program manages."""
    from assistant.tables import table_of  # a warm recall needs none

    table = table_of(__file__)
    marks, names = table["marks"].split(), tuple(table["names"])
    for folder in (root, *root.parents):
        if folder.name.startswith(names) or any((folder / mark).exists() for mark in marks):
            return True
    return False


def short_name(root: Path) -> str:
    """Return a name of 16 hex digits for a folder, from its path."""
    return hashlib.sha256(os.fsencode(root)).hexdigest()[:16]


def own(base: Path, kind: str, root: Path) -> Path:
    """Return this machine's folder for some data of a workspace, below the user's `base`."""
    return base / kind / short_name(root)


def journal(private: Path) -> Path:
    """Return the journal that this machine writes: the first machine has `journal.jsonl`."""
    return private / ("journal.jsonl" if lives_here(private) else f"journal-{ident()}.jsonl")


def lives_here(private: Path) -> bool:
    """Return whether a workspace's private folder belongs to this machine, or to none yet."""
    owner = _read(private / OWNER)
    return not owner or owner == ident()


def move_in(private: Path) -> None:
    """Claim a workspace's private folder for this machine, unless it belongs to another."""
    mark = private / OWNER
    if not mark.exists():
        with contextlib.suppress(StorageError):  # a read-only folder remains unclaimed
            storage.replace(mark, ident().encode())


def ident() -> str:
    """Return the ID of this user's home on this machine."""
    return _ident(config.state_dir() / "machine")


@functools.lru_cache(maxsize=8)
def _ident(path: Path) -> str:
    if not (identifier := _read(path)):
        identifier = os.urandom(4).hex()
        storage.private_directory(path.parent)
        storage.replace(path, identifier.encode())
    return identifier


def _read(path: Path) -> str:
    try:
        return storage.read(path).decode("ascii").strip()
    except (FileNotFoundError, StorageError, UnicodeDecodeError):
        return ""
