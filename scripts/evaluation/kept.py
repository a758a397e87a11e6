"""An embedder that stores its vectors between runs, so that figures repeat exactly.

int8 rounding depends slightly on which texts share a batch; a known text keeps its stored vector.
"""

import sqlite3
import threading
from collections.abc import Iterable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assistant.memory.embedding.embedder import Embedder, Vectors

SECONDS = 60.0
"""Timeout for another evaluation that is writing."""


class KeptEmbedder:
    """`embedder` with a file of the vectors it has computed."""

    def __init__(self, embedder: Embedder, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._embedder = embedder
        self._lock = threading.Lock()
        name = sha256(embedder.fingerprint.encode()).hexdigest()[:16]
        self._kept = sqlite3.connect(
            directory / f"{name}.db", timeout=SECONDS, isolation_level=None, check_same_thread=False
        )
        self._kept.execute(
            "CREATE TABLE IF NOT EXISTS vectors (text BLOB PRIMARY KEY, vector BLOB)"
        )

    def __getattr__(self, name: str) -> Any:
        return getattr(self._embedder, name)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embed texts like the embedder, looking up those embedded before."""
        keys = [sha256(text.encode("utf-8", "surrogatepass")).digest() for text in texts]
        with self._lock:
            known = dict(self._known(keys))
            missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
            if missing:
                made = zip(missing, self._embedder.embed(list(missing.values())), strict=True)
                known |= made
                self._keep((key, known[key]) for key in missing)
        shape = (len(keys), self._embedder.dimension)
        return np.array([known[key] for key in keys], dtype=np.float32).reshape(shape)

    def close(self) -> None:
        """Close the file."""
        self._kept.close()

    def _known(self, keys: Iterable[bytes]) -> Iterable[tuple[bytes, NDArray[np.float32]]]:
        for key in keys:
            rows = self._kept.execute("SELECT vector FROM vectors WHERE text = ?", (key,))
            for (vector,) in rows:
                yield key, np.frombuffer(vector, dtype=np.float32)

    def _keep(self, made: Iterable[tuple[bytes, NDArray[np.float32]]]) -> None:
        self._kept.execute("BEGIN")
        rows = ((key, vector.tobytes()) for key, vector in made)
        self._kept.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)
        self._kept.execute("COMMIT")
