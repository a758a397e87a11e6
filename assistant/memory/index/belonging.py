"""An index's files, and whose it is: one copied from elsewhere, or made otherwise, is not this."""

import contextlib
import json
import os
import platform
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from assistant.disk import storage
from assistant.memory.index.chroma import collection_name
from assistant.memory.index.sqlite.database import SCHEMA_VERSION

MANIFEST = "manifest.json"


@dataclass(frozen=True, slots=True)
class IndexFiles:
    """The files of the index at a `place`; `of` says whose it is to be."""

    place: Path
    of: Mapping[str, str | int]

    @property
    def catalog(self) -> Path:
        """The database that is authoritative."""
        return self.place / "catalog.db"

    @property
    def chroma(self) -> Path:
        """The folder of the vectors that Chroma has in this process."""
        return self.place / "chroma"

    def claim(self) -> str:
        """Throw away an index that is not ours; says why, if one was there. Raises StorageError."""
        try:
            known = json.loads(storage.read(self.place / MANIFEST))
        except (FileNotFoundError, ValueError):
            known = None
        if known == self.of:
            return ""
        self.discard()
        self._sign()
        if not isinstance(known, dict):
            return ""
        same = all(known.get(name) == self.of[name] for name in ("machine", "user", "root"))
        why = "by another version or embedding model" if same else "for another place"
        return f"The index was made {why}; it was made again"

    def renew(self) -> None:
        """Begin again with an open catalog that has nothing in it. Raises StorageError."""
        self.discard()
        self._sign()
        self.mark()

    def _sign(self) -> None:
        storage.replace(self.place / MANIFEST, json.dumps(self.of).encode())

    def mark(self) -> bool:
        """Say that the catalog is open; whether it was not closed before. Raises StorageError."""
        unclean = self._marker.exists()
        with storage.reported("written", self._marker):
            self._marker.touch(mode=storage.PRIVATE_FILE)
        return unclean

    def unmark(self) -> None:
        """Say that the catalog was closed, and is whole."""
        self._marker.unlink(missing_ok=True)

    def discard(self) -> None:
        """Delete them. Raises StorageError."""
        with storage.reported("deleted", self.place):
            for path in (*self.place.glob("catalog.*"), *self.place.glob("chroma*"),
                         self.place / MANIFEST):  # fmt: skip
                if path.is_dir():
                    shutil.rmtree(path)
                else:
                    path.unlink(missing_ok=True)

    def size(self) -> int:
        """Their bytes."""
        total = 0
        for directory, _, names in os.walk(self.place):
            for name in names:
                with contextlib.suppress(FileNotFoundError):  # Chroma is being filled again
                    total += Path(directory, name).stat().st_size
        return total

    def inode(self) -> int:
        """That of the catalog, -1 if there is none."""
        try:
            return self.catalog.stat().st_ino
        except OSError:
            return -1

    @property
    def _marker(self) -> Path:
        """There while the catalog is open, and after an exit that was not clean."""
        return self.place / "catalog.open"


def belongs(identity: Path, fingerprint: str) -> dict[str, str | int]:
    """What tells the index of a corpus by a model from all others."""
    return {
        "schema": SCHEMA_VERSION,
        "embedder": fingerprint,
        "machine": _machine(),
        "user": os.getuid(),
        "root": str(identity),
    }


def owner_of(collection: str, of: Mapping[str, Any]) -> Literal["theirs", "nobody", "unknown"]:
    """Whose a collection on a server is that belongs so (`of`).

    Nobody's, if it was made here by this user, for a workspace that is gone or is indexed otherwise
    by now.
    """
    if of.get("machine") != _machine() or of.get("user") != os.getuid():
        return "unknown"
    if not Path(str(of.get("root"))).exists():
        return "nobody"
    try:
        now = json.loads(storage.read(Path(str(of.get("index"))) / MANIFEST))
    except (FileNotFoundError, ValueError):
        return "theirs"  # its index is made again, under the same name
    mine = isinstance(now, dict) and collection_name(now) == collection
    return "theirs" if mine else "nobody"


def _machine() -> str:
    try:
        return Path("/etc/machine-id").read_text(encoding="ascii").strip()
    except OSError:
        return platform.node()
