"""Chroma on a server, which may be down, hang, be wiped or answer anything at all.

Each call has a deadline. What hangs is left to a thread of its own, so that neither a question nor
the end of this process waits for it.
"""

import contextlib
import http.client
import json
import threading
from collections.abc import Callable
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, TypeVar
from urllib.parse import urlsplit

from assistant.errors import AssistantError, MemoryFailure
from assistant.memory.index.chroma import clients
from assistant.memory.index.chroma.base import PREFIX, SPACE, Belongs, VectorsDamaged, VectorStore
from assistant.settings.memory import IndexSettings

SOON = 0.5
"""Seconds for what a question waits for."""
PATIENCE = {"query": SOON, "count": 2.0, "probe": SOON}
"""Seconds for each operation; for any other `LONG`."""
LONG = 60.0
HEARTBEAT = "/api/v2/heartbeat"
"""What a server answers without a token."""
CURE = "Start it, or remove index.url from the configuration"
_T = TypeVar("_T")
_Outcome = tuple[Any, BaseException | None]


class ServerStore(VectorStore):
    """The vectors of a workspace in a collection of a server."""

    def __init__(self, settings: IndexSettings, belongs: Belongs, index: Path) -> None:
        """`index` is where the catalog lies that the vectors are of."""
        super().__init__(belongs)
        assert settings.url is not None
        self.url = settings.url
        self._settings = settings
        self._index = index
        self._waiting: set[SimpleQueue[_Outcome]] = set()

    def wait(self) -> None:
        if self.ready:
            return
        with self._lock:
            self._check_open()
            if self.ready:  # another thread has opened it meanwhile
                return
            try:
                self._open()
                self._failure = None
            except AssistantError as error:
                self._failure = error
                raise
            finally:
                self._opened.set()

    def probe(self) -> None:
        with self._translated():
            self._run("probe", self._heartbeat)

    def lost(self) -> bool:
        return False

    def reset(self) -> None:
        with self._lock:
            self._wait_soon()
            with contextlib.suppress(VectorsDamaged), self._translated():
                self._run("reset", lambda: self._client.delete_collection(self._name))
            self._open()

    def close(self) -> None:
        self._closed = True
        for waiting in list(self._waiting):
            waiting.put((None, MemoryFailure("the index is closed")))
        with self._lock:
            self._failure = MemoryFailure("the index is closed")
            self._release()

    # All collections

    def collections(self) -> list[tuple[str, dict[str, Any], int]]:
        """Each collection of ours, of any workspace: its name, whose it is, and its size."""
        self._wait_soon()
        with self._translated():
            return self._run("collections", self._list)

    def drop(self, name: str) -> None:
        """Remove a collection of ours; one that is not there is none."""
        self._wait_soon()
        with contextlib.suppress(VectorsDamaged), self._translated():
            self._run("drop", lambda: self._client.delete_collection(name))

    def _list(self) -> list[tuple[str, dict[str, Any], int]]:
        return [
            (each.name, dict(each.metadata or {}), int(each.count()))
            for each in self._client.list_collections()
            if each.name.startswith(PREFIX)
        ]

    # Parts

    def _wait_soon(self) -> None:
        """`wait`; raises MemoryFailure soon if a server that was open answers no more."""
        if self.ready:
            self.probe()
        self.wait()

    def _open(self) -> None:
        """Put another client in the place of the one there is, without a moment between them."""
        self.probe()
        clients.load()
        with self._translated():
            client = self._run("open", lambda: clients.server_client(self._settings))
            collection = self._run("open", lambda: self._collection_of(client))
        self._release()
        self._client, self._collection = client, collection

    def _collection_of(self, client: clients.Client) -> Any:
        try:
            return client.get_or_create_collection(
                self._name,
                embedding_function=None,
                configuration=SPACE,
                metadata={**self._belongs, "index": str(self._index)},
            )
        except BaseException:
            clients.close_server_client(client)
            raise

    def _release(self) -> None:
        client, self._client, self._collection = self._client, None, None
        if client is not None:
            with contextlib.suppress(Exception):  # nothing is asked of it any more
                clients.close_server_client(client)

    def _heartbeat(self) -> None:
        url = urlsplit(self.url)
        secure = url.scheme == "https"
        kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        port = url.port or (443 if secure else 8000)
        connection = kind(url.hostname or "localhost", port, timeout=SOON)
        with contextlib.closing(connection):
            connection.request("GET", HEARTBEAT)
            answer = connection.getresponse()
            told = answer.read(1000)
        if answer.status != http.client.OK or "heartbeat" not in str(json.loads(told)):
            raise ValueError(f"no Chroma server: {answer.status} {answer.reason}")

    def _run(self, operation: str, call: Callable[[], _T]) -> _T:
        self._check_open()
        answered: SimpleQueue[_Outcome] = SimpleQueue()
        self._waiting.add(answered)
        threading.Thread(target=_answer, args=(call, answered), daemon=True).start()
        try:
            found, failure = answered.get(timeout=PATIENCE.get(operation, LONG))
        except Empty:
            raise TimeoutError("it hangs") from None
        finally:
            self._waiting.discard(answered)
        if failure is not None:
            raise failure
        result: _T = found
        return result

    def _fault(self, error: BaseException) -> MemoryFailure:
        if clients.says_unusable(error):
            return VectorsDamaged(f"the Chroma server at {self.url} lost the vectors")
        return MemoryFailure(f"the Chroma server at {self.url} {_complaint(error)}", CURE)


def _complaint(error: BaseException) -> str:
    if isinstance(error, TimeoutError) or clients.says_late(error):
        return "does not answer in time"
    if isinstance(error, OSError) or "connect" in str(error).casefold():
        return "cannot be reached"
    if clients.says_forbidden(error):
        return "does not take the token"
    return "answers what no Chroma server does"


def _answer(call: Callable[[], Any], answered: "SimpleQueue[_Outcome]") -> None:
    try:
        answered.put((call(), None))
    except BaseException as error:  # carried to the thread that waits
        answered.put((None, error))
