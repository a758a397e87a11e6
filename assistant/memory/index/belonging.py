"""Whose an index is: one that was copied from elsewhere, or was made otherwise, is not this one."""

import json
import os
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from assistant.disk import storage
from assistant.memory.index.chroma.base import collection_name
from assistant.memory.index.sqlite.database import SCHEMA_VERSION

MANIFEST = "manifest.json"


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
