"""What is known of a compiled model, kept beside it in the cache."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from assistant.disk import storage

MANIFEST = "manifest.json"
MANIFEST_VERSION = 4


@dataclass(frozen=True, slots=True)
class ModelManifest:
    """What a directory of the compiled-model cache holds; `files` maps a name to its size and
    CRC-32."""

    fingerprint: str
    dimension: int
    max_tokens: int
    inputs: tuple[str, ...]
    files: dict[str, tuple[int, int]]
    version: int = MANIFEST_VERSION

    def write(self, directory: Path) -> None:
        """Put the manifest into `directory`."""
        (directory / MANIFEST).write_text(json.dumps(asdict(self), indent=1), encoding="utf-8")


def read_manifest(directory: Path) -> ModelManifest | None:
    """The manifest of a cached model, or None if it is missing, of another version or damaged.

    Every byte of the files is checked: a flipped bit in the weights would only make recall worse.
    """
    try:
        raw: dict[str, Any] = json.loads((directory / MANIFEST).read_text(encoding="utf-8"))
        if raw.pop("version") != MANIFEST_VERSION:
            return None
        files = {name: (int(size), int(crc)) for name, (size, crc) in raw.pop("files").items()}
        manifest = ModelManifest(**{**raw, "inputs": tuple(raw["inputs"])}, files=files)
        intact = all(
            storage.checksum(directory / name) == expected for name, expected in files.items()
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return manifest if intact else None
