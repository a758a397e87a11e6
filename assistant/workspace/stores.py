"""Every store: each location of data, and whether it contains the owner's words.

`forget --purge`, `doctor` and the docs use the list in `stores.toml`. Add every new store there.
"""

import itertools
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from assistant import config
from assistant.disk.storage import TEMPORARY
from assistant.tables import table_of
from assistant.workspace.folder import Workspace

Base = Literal["workspace", "state", "cache", "config"]
"""The folder that a store's patterns are relative to: the workspace, or the program's own folder in
the user's state, cache or config directory (XDG)."""
Words = Literal["always", "sessions", "owner", "none"]
"""Whose words a store contains, and when a purge removes them: always; with --sessions; never,
since they are the owner's own; or it contains none."""


@dataclass(frozen=True, slots=True)
class Store:
    """A location of data. `patterns` are globs below the base; `keeps` describes the content."""

    name: str
    base: Base
    patterns: tuple[str, ...]
    keeps: str
    words: Words
    exported: bool = False

    def files(self, workspace: Workspace) -> Iterator[Path]:
        """Yield the files of the store, for a workspace."""
        base = root(workspace, self.base)
        for pattern in self.patterns:
            yield from (path for path in base.glob(pattern) if path.is_file())

    def contains(self, workspace: Workspace, path: Path) -> bool:
        """Return whether the path matches one of the patterns; the file may already be gone."""
        base = root(workspace, self.base)
        if not path.is_relative_to(base):
            return False
        name = path.relative_to(base).as_posix()
        return any(re.fullmatch(_regex(pattern), name) for pattern in self.patterns)


def _regex(pattern: str) -> str:
    """Translate a glob, whose `**/` stands for any folders, to a regular expression."""
    return re.escape(pattern).replace(r"\*\*/", "(?:.*/)?").replace(r"\*", "[^/]*")


_data = table_of(__file__)
STORES = tuple(msgspec.convert({"name": name, **store}, Store) for name, store in _data.items())


def root(workspace: Workspace, base: Base) -> Path:
    """Return the folder that a store's patterns start from."""
    own = {
        "state": config.state_dir(),
        "cache": config.cache_dir(),
        "config": config.config_file().parent,
    }
    return own.get(base, workspace.root)


def unlisted(workspace: Workspace) -> list[Path]:
    """Return files in the program's own folders that belong to no store."""
    own_folders = (workspace.private, config.state_dir(), config.cache_dir())
    present = (path for folder in own_folders for path in folder.rglob("*") if path.is_file())
    return sorted(
        path for path in present if not any(store.contains(workspace, path) for store in STORES)
    )


RESTING = 60.0
"""Seconds after which a temporary file counts as abandoned."""


def killed_writes(workspace: Workspace) -> Iterator[Path]:
    """Yield the leftovers of killed writes, which may contain words. The caller holds the ledger's
    lock."""
    pattern = f".*{TEMPORARY}"
    under_ledger_lock = itertools.chain(
        workspace.root.glob(pattern),
        (workspace.root / "memory").rglob(pattern),
        workspace.private.glob(f".journal*{TEMPORARY}"),
        workspace.history.glob(pattern),
    )
    yield from under_ledger_lock
    for path in workspace.private.rglob(pattern):  # other writers use other locks
        try:
            is_stale = time.time() - path.stat().st_mtime > RESTING
        except FileNotFoundError:
            continue
        if is_stale:
            yield path
