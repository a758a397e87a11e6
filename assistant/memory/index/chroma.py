"""Chroma: nearest-neighbour search, embedded in the workspace or on a server.

Chroma contains only ids and vectors, all of which are in the catalog too. So one rule applies to
every fault: `reset` discards its data, which is then refilled from the catalog without embedding
anything. This module is the only one that imports chromadb.
"""

import contextlib
import ctypes
import json
import os
import shutil
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from assistant.disk import storage
from assistant.errors import AssistantError, MemoryFailure
from assistant.memory.embedding.embedder import Vectors
from assistant.settings.sections import IndexSettings

PREFIX = "assistant-"
"""The prefix of our collections' names."""
SPACE: dict[str, Any] = {"hnsw": {"space": "cosine", "ef_search": 800, "ef_construction": 400}}
"""With an `ef_search` of 200, of the 100 nearest of 10,000 it missed 6 % of the outliers; with 800,
1 %, for 5 ms more. With an `ef_construction` of 100, it missed 10 to 20 % of the outliers among 200
or 500 texts of one pattern; with 400, 1 %, for 15 to 40 % more time to fill it."""
QUERY_TIMEOUT, WRITE_TIMEOUT = 0.5, 10.0
"""Timeouts in seconds for queries and writes to a server; Chroma has none."""
HEARTBEAT = "/api/v2/heartbeat"
"""The path that a server answers without a token."""
CURE = "Start it, or remove index.url from the configuration"
CLOSED = "the index is closed"

_EXPORTER = "opentelemetry.exporter.otlp.proto.grpc.trace_exporter"
_M_PERTURB, _FILLED_WITH = -6, 0xA5
_UNUSABLE = {"InvalidArgumentError", "InvalidDimensionException", "NotFoundError"}
_FORBIDDEN = {"ChromaAuthError", "AuthorizationError"}
"""The names of Chroma's errors, which can be recognised without importing chromadb."""

Client = Any
"""Chroma's own annotations lack some client methods, such as `close`."""
Owner = Mapping[str, str | int]
"""The metadata that identifies the vectors of a workspace and a model."""


class VectorsDamaged(MemoryFailure):
    """Chroma's data is unusable; call `reset` and fill it again."""


class VectorStore(ABC):
    """The vectors of one workspace and one embedding model. Thread-safe; one process at a time.

    The first operation opens it, which takes a second for importing chromadb alone; `ready` says
    whether it is open. All operations raise MemoryFailure if a server does not answer, and
    VectorsDamaged if the data is unusable.
    """

    def __init__(self, owner: Owner) -> None:
        self._owner = owner
        self._name = collection_name(owner)
        self._lock = threading.RLock()
        self._client: Client = None
        self._collection: Client = None
        self._closed = False

    @property
    def ready(self) -> bool:
        """Whether it is open."""
        return self._collection is not None

    def wait(self) -> None:
        """Open it if it is not open yet."""
        if self.ready:
            return
        with self._lock:
            if self._closed:
                raise MemoryFailure(CLOSED)
            if not self.ready:
                self._open()

    def probe(self) -> None:  # noqa: B027
        """Raise MemoryFailure soon if a server does not answer; open nothing."""

    def lost(self) -> bool:
        """Return whether the data was deleted while open, as far as a cheap check can tell."""
        return False

    @abstractmethod
    def reset(self) -> None:
        """Discard all vectors; the store can then be filled again."""

    @abstractmethod
    def close(self) -> None:
        """Close the data so that another process can open it."""

    def upsert(self, ids: Sequence[str], vectors: Vectors) -> None:
        """Insert or replace the vectors of these ids."""
        if ids:
            self._call("upsert", ids=list(ids), embeddings=vectors)

    def delete(self, ids: Sequence[str]) -> None:
        """Remove ids; unknown ids are ignored."""
        if ids:
            self._call("delete", ids=list(ids))

    def query(self, vector: NDArray[np.float32], limit: int) -> tuple[list[str], Vectors]:
        """Return the nearest ids, best first, and their cosine similarity."""
        answer = self._call(
            "query", query_embeddings=vector.reshape(1, -1), n_results=limit, include=["distances"]
        )
        with self._translated():
            similarity = 1.0 - np.asarray(answer["distances"][0], dtype=np.float32)
            return list(map(str, answer["ids"][0])), similarity

    def count(self) -> int:
        """Return the number of vectors."""
        answer = self._call("count")
        with self._translated():
            return int(answer)

    @abstractmethod
    def _open(self) -> None:
        """Create the client and the collection; raises the operations' errors."""

    @abstractmethod
    def _fault(self, error: BaseException) -> MemoryFailure:
        """Translate an error that chromadb raised."""

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except (AssistantError, KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # a panic of Chroma's native part is not an Exception
            raise self._fault(error) from error

    def _call(self, operation: str, **arguments: Any) -> Any:
        self.wait()  # no lock: a query must not wait for an upsert that persists for seconds
        collection = self._collection
        if collection is None:
            raise MemoryFailure(CLOSED)
        with self._translated():
            return getattr(collection, operation)(**arguments)


class EmbeddedStore(VectorStore):
    """The vectors of a workspace in a local directory.

    Data from an unclean exit is not opened, because it may crash this process.
    """

    def __init__(self, directory: Path, owner: Owner) -> None:
        super().__init__(owner)
        self._directory = directory
        self._parent_inode = storage.inode(directory.parent)
        self._inode: int | None = None

    def lost(self) -> bool:
        return self.ready and storage.inode(self._directory / "chroma.sqlite3") != self._inode

    def reset(self) -> None:
        with self._lock:
            if self._closed:
                raise MemoryFailure(CLOSED)
            self._release()
            self._discard()
            self._open()

    def close(self) -> None:
        with self._lock:
            self._closed = True
            whole = self.ready and not self.lost()
            self._release()
            if whole:
                self._marker.unlink(missing_ok=True)

    @property
    def _marker(self) -> Path:
        """A file that exists while the data is open, and after an unclean exit."""
        return self._directory.with_name(f"{self._directory.name}.open")

    def _open(self) -> None:
        _load()
        with self._translated():
            if self._parent_inode is None:  # the folder does not exist yet
                storage.private_directory(self._directory)
                self._parent_inode = storage.inode(self._directory.parent)
            if storage.inode(self._directory.parent) != self._parent_inode:
                raise MemoryFailure("the workspace is gone")
            if self._marker.exists() or self._directory.is_file():
                self._discard()
            storage.private_directory(self._directory)
            self._marker.touch(mode=storage.PRIVATE_FILE)
            self._client = _embedded_client(self._directory)
            collection = self._client.get_or_create_collection(
                self._name, embedding_function=None, configuration=SPACE
            )
            self._inode = storage.inode(self._directory / "chroma.sqlite3")
            self._collection = collection

    def _discard(self) -> None:
        with storage.reported("deleted", self._directory):
            if self._directory.is_dir():
                shutil.rmtree(self._directory)
            else:
                self._directory.unlink(missing_ok=True)
        self._marker.unlink(missing_ok=True)

    def _release(self) -> None:
        client, self._client, self._collection = self._client, None, None
        if client is not None:
            with self._translated():
                client.close()

    def _fault(self, error: BaseException) -> MemoryFailure:
        return VectorsDamaged(f"Chroma's data cannot be used: {error}")


class ServerStore(VectorStore):
    """The vectors of a workspace in a collection on a server, which may be down, hang, be wiped or
    answer with anything. Each call has a timeout."""

    def __init__(self, settings: IndexSettings, owner: Owner, index: Path) -> None:
        """`index` is the folder of the catalog that the vectors belong to."""
        super().__init__(owner)
        assert settings.url is not None
        self.url = settings.url
        self._settings = settings
        self._index = index

    def probe(self) -> None:
        import httpx

        with self._translated():
            answer = httpx.get(f"{self.url.rstrip('/')}{HEARTBEAT}", timeout=QUERY_TIMEOUT)
            if not answer.is_success or "heartbeat" not in answer.text:
                raise ValueError(f"no Chroma server: {answer.status_code}")

    def reset(self) -> None:
        with self._lock:
            self._wait_soon()
            with contextlib.suppress(VectorsDamaged), self._translated():
                self._client.delete_collection(self._name)
            self._open()

    def close(self) -> None:
        self._closed = True
        with self._lock:
            self._release()

    def collections(self) -> list[tuple[str, dict[str, Any], int]]:
        """Return all our collections, of any workspace: name, metadata and size."""
        self._wait_soon()
        with self._translated():
            return [
                (collection.name, dict(collection.metadata or {}), int(collection.count()))
                for collection in self._client.list_collections()
                if collection.name.startswith(PREFIX)
            ]

    def drop(self, name: str) -> None:
        """Remove one of our collections, if it exists."""
        self._wait_soon()
        with contextlib.suppress(VectorsDamaged), self._translated():
            self._client.delete_collection(name)

    def _wait_soon(self) -> None:
        """Call `wait`, but raise MemoryFailure soon if an open server no longer answers."""
        if self.ready:
            self.probe()
        self.wait()

    def _open(self) -> None:
        self.probe()
        _load()
        with self._translated():
            self._client = self._client or _server_client(self._settings)
            self._collection = self._client.get_or_create_collection(
                self._name,
                embedding_function=None,
                configuration=SPACE,
                metadata={**self._owner, "index": str(self._index)},
            )

    def _release(self) -> None:
        client, self._client, self._collection = self._client, None, None
        if client is not None:
            with contextlib.suppress(Exception):  # it is no longer needed
                client.close()

    def _fault(self, error: BaseException) -> MemoryFailure:
        name = type(error).__name__
        if name in _UNUSABLE:
            return VectorsDamaged(f"the Chroma server at {self.url} lost the vectors")
        if isinstance(error, TimeoutError) or name.endswith("Timeout"):  # httpx has its own
            complaint = "does not answer in time"
        elif isinstance(error, OSError) or "connect" in str(error).casefold():
            complaint = "cannot be reached"
        elif name in _FORBIDDEN:
            complaint = "rejects the token"
        else:
            complaint = "does not answer like a Chroma server"
        return MemoryFailure(f"the Chroma server at {self.url} {complaint}", CURE)


def collection_name(owner: Owner) -> str:
    """Return the name of the collection of a workspace and a model."""
    return f"{PREFIX}{sha256(json.dumps(dict(owner), sort_keys=True).encode()).hexdigest()[:32]}"


def _load() -> None:
    """Import chromadb, which takes a second, without its telemetry over gRPC (12 MB)."""
    if _EXPORTER not in sys.modules and "chromadb" not in sys.modules:
        sys.modules[_EXPORTER] = placeholder = ModuleType(_EXPORTER)
        vars(placeholder)["OTLPSpanExporter"] = None
        try:
            import chromadb  # noqa: F401
        finally:
            del sys.modules[_EXPORTER]  # for anyone who really wants it


def _embedded_client(directory: Path) -> Client:
    """Open embedded Chroma on a directory.

    Its hnswlib writes allocated memory to its files, including unused parts, in which a purged
    vector may reappear. So from here on, memory is overwritten when it is allocated and freed.
    """
    import chromadb
    from chromadb.api.shared_system_client import SharedSystemClient

    if sys.platform == "linux":
        with contextlib.suppress(AttributeError):  # another C library may lack the option
            ctypes.CDLL(None).mallopt(_M_PERTURB, _FILLED_WITH)
    try:
        return chromadb.PersistentClient(str(directory), _quiet())
    except BaseException:
        # Chroma caches the half-started system and would return it to the next caller.
        SharedSystemClient.clear_system_cache()
        raise


def _server_client(settings: IndexSettings) -> Client:
    """Create a client of the configured server, which sends the server a few requests."""
    import chromadb
    from chromadb.api.fastapi import FastAPI

    FastAPI.stop = _stop  # type: ignore[assignment]
    assert settings.url is not None
    url = urlsplit(settings.url)
    key = os.environ.get(settings.api_key_env or "")
    client: Client = chromadb.HttpClient(
        host=url.hostname or "localhost",
        port=url.port or (443 if url.scheme == "https" else 8000),
        ssl=url.scheme == "https",
        headers={"x-chroma-token": key} if key else None,
        settings=_quiet(),
    )
    for session in (part._server._session for part in (client, client._admin_client)):
        session.timeout = WRITE_TIMEOUT
        session.event_hooks = {"request": [_shorten_timeout]}
    return client


def _stop(api: Any) -> None:
    """Close the HTTP connections, which Chroma's own `stop` leaves open, including those of a
    client that could not be created."""
    api._session.close()


def _shorten_timeout(request: Any) -> None:
    """Set a short timeout, so that a query does not wait for a hung server."""
    if request.url.path.endswith(("/query", "/count")):
        request.extensions["timeout"] = dict.fromkeys(request.extensions["timeout"], QUERY_TIMEOUT)


def _quiet() -> Any:
    """Return Chroma's settings without telemetry; ignores any `.env` in the current directory."""
    from chromadb.config import Settings

    return Settings(_env_file=None, anonymized_telemetry=False)  # type: ignore[call-arg]
