"""Chroma: nearest vectors, embedded in the workspace or on a server.

Chroma holds nothing that the catalog does not: ids and vectors, no text, no place. So whatever is
wrong with it, it is thrown away and filled again without embedding anything.
"""

import contextlib
import json
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from assistant.errors import AssistantError, MemoryFailure
from assistant.memory.embedding.embedder import Vectors
from assistant.memory.index.chroma.clients import Client

BATCH = 1000
"""Vectors sent at once. Chroma's own limit may be lower."""
PREFIX = "assistant-"
"""What the names of our collections begin with."""
SPACE: dict[str, Any] = {"hnsw": {"space": "cosine"}}
Belongs = Mapping[str, str | int]
"""What tells the vectors of a workspace and a model from all others."""
_T = TypeVar("_T")


class VectorsDamaged(MemoryFailure):
    """Chroma's data cannot be used; `reset` and fill it again."""


class Tellable(Protocol):
    """What takes vectors in."""

    def upsert(self, ids: Sequence[str], vectors: Vectors) -> None: ...

    def delete(self, ids: Sequence[str]) -> None: ...


class VectorStore(ABC):
    """The vectors of one workspace by one embedding model. Thread-safe; one process at a time.

    The first operation opens it, which takes a second for the import of chromadb alone: `ready`
    tells whether that is done. All operations raise MemoryFailure when a server does not answer,
    and VectorsDamaged when the data cannot be used.
    """

    def __init__(self, belongs: Belongs) -> None:
        self._belongs = belongs
        self._name = collection_name(belongs)
        self._lock = threading.RLock()
        self._client: Client = None
        self._collection: Client = None
        self._failure: AssistantError | None = None
        self._opened = threading.Event()
        self._closed = False

    @property
    def ready(self) -> bool:
        """Whether an operation would start at once, and has a chance."""
        return self._opened.is_set() and self._failure is None

    @abstractmethod
    def wait(self) -> None:
        """Return when it is open; a server that did not answer is tried again."""

    @abstractmethod
    def probe(self) -> None:
        """Raise MemoryFailure, soon, if a server does not answer; opens nothing."""

    @abstractmethod
    def lost(self) -> bool:
        """Whether someone deleted the data while it was open, as far as can be seen at no cost."""

    @abstractmethod
    def reset(self) -> None:
        """Throw all vectors away; ready to be filled."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the data, so that another process may open it."""

    def in_bulk(self) -> contextlib.AbstractContextManager[Tellable]:
        """What takes very many vectors in; until the end of the block it may not be `ready`."""
        return contextlib.nullcontext(self)

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
        with self._translated():
            similarity = 1.0 - np.asarray(found["distances"][0], dtype=np.float32)
            return list(map(str, found["ids"][0])), similarity

    def count(self) -> int:
        """The number of vectors."""
        found = self._call("count")
        with self._translated():
            return int(found)

    def ids(self) -> list[str]:
        """Every id, in no order."""
        found: list[str] = []
        while part := self._call("get", include=[], limit=BATCH, offset=len(found))["ids"]:
            found += part
        return found

    # Parts

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        """Turns what chromadb raises into MemoryFailure or VectorsDamaged."""
        try:
            yield
        except (AssistantError, KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # a panic of Chroma's native part is no Exception
            raise self._fault(error) from error

    @abstractmethod
    def _fault(self, error: BaseException) -> MemoryFailure:
        """What something that chromadb raises means here."""

    def _run(self, operation: str, call: Callable[[], _T]) -> _T:
        """Do a call of chromadb's."""
        return call()

    def _check_open(self) -> None:
        if self._closed:
            raise MemoryFailure("the index is closed")

    def _batches(self, total: int) -> Iterator[slice]:
        if not total:
            return
        self.wait()
        client = self._client
        self._check_open()
        with self._translated():
            size = min(BATCH, self._run("limits", client.get_max_batch_size))
        for start in range(0, total, size):
            yield slice(start, start + size)

    def _call(self, operation: str, **arguments: Any) -> Any:
        self.wait()  # no lock: a query need not wait for an upsert that persists for seconds
        collection = self._collection
        if collection is None:
            raise MemoryFailure("the index is closed")
        with self._translated():
            return self._run(operation, lambda: getattr(collection, operation)(**arguments))


def collection_name(belongs: Belongs) -> str:
    """The name of the collection of a workspace and a model."""
    return f"{PREFIX}{sha256(json.dumps(dict(belongs), sort_keys=True).encode()).hexdigest()[:32]}"
