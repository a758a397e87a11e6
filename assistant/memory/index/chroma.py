"""Chroma: nearest vectors, embedded in the workspace or on a server. The only import of chromadb.

Chroma holds nothing that the catalog does not: ids and vectors, no text, no place. So whatever is
wrong with it, it is thrown away and filled again without embedding anything.
"""

import contextlib
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from assistant.disk import storage
from assistant.errors import AssistantError, MemoryFailure, StorageError
from assistant.memory.embedding.embedder import Vectors
from assistant.settings import IndexSettings

Client = Any
"""Chroma's own annotations leave out what its clients can do, `close` among it."""
BATCH = 1000
"""Vectors sent at once. Chroma's own limit may be lower."""
PROBE_SECONDS = 60
SERVER_SECONDS = 30.0
MISSING = -1
"""The inode of a file that is not there."""
SPACE: dict[str, Any] = {"hnsw": {"space": "cosine"}}


class VectorsDamaged(MemoryFailure):
    """Chroma's data cannot be used; `reset` and fill it again."""


class VectorStore:
    """The vectors of one workspace by one embedding model. Thread-safe; one process at a time.

    The first operation opens it, which takes a second for the import of chromadb alone: `ready`
    tells whether that is done. All operations raise MemoryFailure when a server does not answer,
    and VectorsDamaged when the data cannot be used.
    """

    def __init__(self, directory: Path, settings: IndexSettings, name: str) -> None:
        """`directory` is for the embedded store; `name` tells workspace and model apart."""
        self._directory = directory
        self._settings = settings
        self._name = f"assistant-{sha256(name.encode()).hexdigest()[:32]}"
        self._lock = threading.RLock()
        self._client: Client = None
        self._collection: Client = None
        self._failure: AssistantError | None = None
        self._opened = threading.Event()
        self._inode = 0
        self._closed = False

    @property
    def embedded(self) -> bool:
        """Whether the data lies in the workspace."""
        return self._settings.url is None

    @property
    def ready(self) -> bool:
        """Whether an operation would start at once, and has a chance."""
        return self._opened.is_set() and self._failure is None

    def wait(self) -> None:
        """Return when it is open; a server that did not answer is tried again."""
        if self.ready:
            return
        with self._lock:
            if not self._opened.is_set():
                self._open_quietly()
            elif self._failure is not None and not self.embedded and not self._closed:
                self._open()
                self._failure = None
            if self._failure is not None:
                raise self._failure

    def lost(self) -> bool:
        """Whether someone deleted the embedded data while it was open."""
        return self.embedded and self.ready and self._deleted()

    def upsert(self, ids: Sequence[str], vectors: Vectors) -> None:
        """Put vectors under ids, new or not."""
        for rows in self._batches(len(ids)):
            self._call("upsert", ids=list(ids[rows]), embeddings=vectors[rows])

    def delete(self, ids: Sequence[str]) -> None:
        """Remove ids; one that is not there is none."""
        for rows in self._batches(len(ids)):
            self._call("delete", ids=list(ids[rows]))

    def query(self, vector: NDArray[np.float32], limit: int) -> tuple[list[str], Vectors]:
        """The nearest ids, best first, and their cosine similarity."""
        found = self._call(
            "query", query_embeddings=vector.reshape(1, -1), n_results=limit, include=["distances"]
        )
        similarity = 1.0 - np.asarray(found["distances"][0], dtype=np.float32)
        return found["ids"][0], similarity

    def count(self) -> int:
        """The number of vectors."""
        return int(self._call("count"))

    def ids(self) -> list[str]:
        """Every id, in no order."""
        found: list[str] = []
        while part := self._call("get", include=[], limit=BATCH, offset=len(found))["ids"]:
            found += part
        return found

    def reset(self) -> None:
        """Throw all vectors away; ready to be filled."""
        with self._lock:
            if self.embedded:
                self._release()
                with storage.reported("deleted", self._directory):
                    shutil.rmtree(self._directory, ignore_errors=not self._directory.exists())
            elif self._client is not None:
                with self._translated():
                    self._client.delete_collection(self._name)
                self._release()
            self._failure = None
            self._open()
            self._opened.set()

    def close(self) -> None:
        """Let go of the data, so that another process may open it."""
        with self._lock:
            self._release()
            self._closed = True
            self._failure = MemoryFailure("the index is closed")
            self._opened.set()

    # Parts

    @property
    def _database(self) -> Path:
        return self._directory / "chroma.sqlite3"

    @property
    def _marker(self) -> Path:
        """There while the embedded store is open, and after an exit that was not clean."""
        return self._directory.with_name(f"{self._directory.name}.open")

    def _deleted(self) -> bool:
        found = _inode(self._database)
        return found == MISSING or found != self._inode

    @property
    def _sums(self) -> Path:
        """The checksums of the embedded store's files, as the last clean exit left them."""
        return self._directory.with_name(f"{self._directory.name}.sums")

    def _open_quietly(self) -> None:
        try:
            with self._lock:
                if self.embedded and self._directory.exists():
                    self._check()
                self._open()
        except AssistantError as error:  # told to whoever uses the store first
            self._failure = error
        finally:
            self._opened.set()

    def _open(self) -> None:
        with self._translated():
            self._client = self._embedded_client() if self.embedded else self._server_client()
            self._collection = self._client.get_or_create_collection(
                self._name, embedding_function=None, configuration=SPACE
            )
        if self.embedded:
            self._inode = _inode(self._database)

    def _check(self) -> None:
        """Raise VectorsDamaged unless the files are as they were left, or at least can be used.

        Chroma does not notice all damage: with half of its vectors cut off it finds the others.
        """
        if self._marker.exists() or not self._sums.exists():
            if not self._healthy():
                raise VectorsDamaged("Chroma's data did not survive the last exit")
        elif storage.read(self._sums) != checksums(self._directory):
            raise VectorsDamaged("Chroma's data was changed or damaged")

    def _embedded_client(self) -> Client:
        storage.private_directory(self._directory)
        self._marker.touch(mode=storage.PRIVATE_FILE)
        return open_client(self._directory)

    def _server_client(self) -> Client:
        import chromadb

        assert self._settings.url is not None
        url = urlsplit(self._settings.url)
        key = os.environ.get(self._settings.api_key_env or "")
        client = chromadb.HttpClient(
            host=url.hostname or "localhost",
            port=url.port or (443 if url.scheme == "https" else 8000),
            ssl=url.scheme == "https",
            headers={"x-chroma-token": key} if key else None,
            settings=_quiet(),
            tenant=self._settings.tenant,
            database=self._settings.database,
        )
        for session in _sessions(client):  # Chroma would wait for ever
            session.timeout = SERVER_SECONDS
        return client

    def _release(self) -> None:
        if self._client is not None:
            with self._translated():
                self._client.close()
                if not self.embedded:
                    for session in _sessions(self._client):  # Chroma leaves them open
                        session.close()
            if self.embedded and not self._deleted():
                # Whatever keeps the checksums from being written, the marker then stays: the next
                # start looks closely.
                with contextlib.suppress(StorageError, OSError):
                    storage.replace(self._sums, checksums(self._directory))
                    self._marker.unlink(missing_ok=True)
        self._client = self._collection = None

    def _healthy(self) -> bool:
        """Ask a child process to use the data: a native crash would take this one with it."""
        command = [sys.executable, "-m", "assistant.memory.index.chroma"]
        with contextlib.suppress(subprocess.TimeoutExpired):
            done = subprocess.run(
                [*command, str(self._directory), self._name],
                capture_output=True,
                timeout=PROBE_SECONDS,
            )
            return done.returncode == 0
        return False

    def _batches(self, total: int) -> Iterator[slice]:
        if not total:
            return
        self.wait()
        assert self._client is not None
        with self._translated():
            size = min(BATCH, self._client.get_max_batch_size())
        for start in range(0, total, size):
            yield slice(start, start + size)

    def _call(self, operation: str, **arguments: Any) -> Any:
        self.wait()  # no lock: a query need not wait for an upsert that persists for seconds
        collection = self._collection
        if collection is None:
            raise MemoryFailure("the index is closed")
        with self._translated():
            return getattr(collection, operation)(**arguments)

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except (AssistantError, KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # a panic of Chroma's native part is no Exception
            if self.embedded:
                raise VectorsDamaged(f"Chroma's data cannot be used: {error}") from error
            raise MemoryFailure(
                f"the Chroma server at {self._settings.url} failed: {error}",
                "Start it, or remove index.url from the configuration",
            ) from error


def checksums(directory: Path) -> bytes:
    """The size and the CRC-32 of each file below a directory, a line each."""
    lines = []
    for path in sorted(path for path in directory.rglob("*") if path.is_file()):
        size, crc = storage.checksum(path)
        lines.append(f"{size} {crc:08x} {path.relative_to(directory).as_posix()}\n")
    return "".join(lines).encode()


def open_client(directory: Path) -> Client:
    """Embedded Chroma on a directory."""
    import chromadb
    from chromadb.api.shared_system_client import SharedSystemClient

    try:
        return chromadb.PersistentClient(str(directory), _quiet())
    except BaseException:
        # Chroma keeps the half-started system, and would give it to the next who opens the path.
        SharedSystemClient.clear_system_cache()
        raise


def _quiet() -> Any:
    """No telemetry, and deaf to any `.env` in the current directory."""
    from chromadb.config import Settings

    return Settings(_env_file=None, anonymized_telemetry=False)  # type: ignore[call-arg]


def _sessions(client: Client) -> list[Any]:
    """The HTTP connections of a server's client, and of the client within it."""
    return [each._server._session for each in (client, client._admin_client)]


def _inode(path: Path) -> int:
    try:
        return path.stat().st_ino
    except OSError:
        return MISSING


def main(directory: str, name: str) -> None:
    """The probe's child process: read everything there is once."""
    client = open_client(Path(directory))
    if name in [collection.name for collection in client.list_collections()]:
        collection = client.get_collection(name, embedding_function=None)
        first = collection.get(limit=1, include=["embeddings"])["embeddings"]
        if first is not None and len(first):
            collection.query(query_embeddings=[first[0]], n_results=10)
    client.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
