"""`Memory` over the daemon's socket; starts the daemon when there is none.

A warm command lives on this module: it imports nothing that is not needed to ask and to be
answered. A daemon that dies in the middle of a request is replaced and asked again, with the same
request id, so that a write happens once.
"""

import contextlib
import fcntl
import os
import socket
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import assistant
from assistant import config
from assistant.errors import DaemonError
from assistant.memory.base import (
    DaemonStatus,
    Fact,
    Forgotten,
    Held,
    JournalEntry,
    MemoryStatus,
    Notify,
    Pair,
    Passage,
    Progress,
    Query,
    Recall,
    Remembered,
    no_notices,
    no_progress,
)
from assistant.memory.daemon import sockets, wire
from assistant.workspace import Workspace

SILENCE_SECONDS = 60.0
"""How long a daemon may say nothing. One that works says so every few seconds."""
ATTEMPTS = 3
"""How often a request is sent when daemons die under it."""


def connect(
    workspace: Workspace,
    raw: Mapping[str, Any],
    progress: Progress = no_progress,
    notify: Notify = no_notices,
) -> "DaemonMemory":
    """The memory of a workspace, by its daemon, which is started if none runs.

    `notify` takes what the owner should know, as it comes up. `raw` are the settings of
    `config.load`. Raises what keeps the daemon from starting.
    """
    memory = DaemonMemory(workspace, raw, progress, notify)
    memory.open()
    return memory


def daemon_status(workspace: Workspace) -> DaemonStatus | None:
    """The daemon of a workspace, or None if none runs; starts none."""
    connection = sockets.connect(workspace.root)
    if connection is None:
        return None
    channel = _Channel(connection, no_progress)
    try:
        answer = channel.ask("about", wire.request("about", wire.ABOUT, {}))
    except ConnectionError:
        return None
    finally:
        channel.close()
    found: DaemonStatus = wire.decode(DaemonStatus, answer.get("result"))
    return found


class DaemonMemory:
    """`Memory` over a socket. Safe to use from several threads, one request at a time."""

    def __init__(
        self,
        workspace: Workspace,
        raw: Mapping[str, Any],
        progress: Progress = no_progress,
        notify: Notify = no_notices,
    ) -> None:
        self._workspace = workspace
        self._raw = raw
        self._digest = config.memory_digest(raw)
        self._progress = progress
        self._notify = notify
        self._channel: _Channel | None = None
        self._lock = threading.Lock()

    def recall(self, query: Query) -> Recall:
        return self._call("recall", query=query)  # type: ignore[no-any-return]

    def remember(self, facts: Sequence[Fact]) -> tuple[Remembered, ...]:
        return self._call("remember", facts=tuple(facts))  # type: ignore[no-any-return]

    def locate(self, target: str) -> tuple[Passage, ...]:
        return self._call("locate", target=target)  # type: ignore[no-any-return]

    def forget(self, passages: Sequence[Passage], *, purge: bool = False) -> Forgotten:
        return self._call("forget", passages=tuple(passages), purge=purge)  # type: ignore[no-any-return]

    def status(self) -> MemoryStatus:
        return self._call("status")  # type: ignore[no-any-return]

    def log(self, limit: int = 20) -> tuple[JournalEntry, ...]:
        return self._call("log", limit=limit)  # type: ignore[no-any-return]

    def undo(self) -> JournalEntry:
        return self._call("undo")  # type: ignore[no-any-return]

    def waiting(self) -> tuple[Held, ...]:
        return self._call("waiting")  # type: ignore[no-any-return]

    def review(self, id: str, *, accept: bool, text: str | None = None) -> Remembered | None:
        return self._call("review", id=id, accept=accept, text=text)  # type: ignore[no-any-return]

    def erased(self) -> tuple[JournalEntry, ...]:
        return self._call("erased")  # type: ignore[no-any-return]

    def restore(self, ids: Sequence[str], *, dismiss: bool = False) -> tuple[Remembered, ...]:
        return self._call("restore", ids=tuple(ids), dismiss=dismiss)  # type: ignore[no-any-return]

    def pairs(self, limit: int = 200) -> tuple[Pair, ...]:
        return self._call("pairs", limit=limit)  # type: ignore[no-any-return]

    def rebuild(self) -> MemoryStatus:
        return self._call("rebuild")  # type: ignore[no-any-return]

    def close(self) -> None:
        """Let go of the connection; the daemon stays."""
        with self._lock:
            self._hang_up()

    def open(self) -> None:
        """Connect now rather than at the first request."""
        with self._lock:
            self._connected()

    def _call(self, op: str, **params: Any) -> Any:
        ident = os.urandom(8).hex()
        message = wire.request(ident, op, params)
        with self._lock:
            answer = self._ask(ident, message)
        if "error" in answer:
            raise wire.raised(answer["error"])
        for notice in answer.get("notices", ()):
            self._notify(notice)
        return wire.result(op, answer.get("result"))

    def _ask(self, ident: str, message: bytes) -> dict[str, Any]:
        for _ in range(ATTEMPTS):
            try:
                return self._connected().ask(ident, message)
            except ConnectionError:
                self._hang_up()
            except BaseException:
                self._hang_up()  # its answer may still come, and would be taken for the next one's
                raise
        raise DaemonError(
            f"the memory daemon ended {ATTEMPTS} times while it was asked",
            f"Its log is {sockets.log_path(self._workspace.root)}",
        )

    def _connected(self) -> "_Channel":
        if self._channel is None:
            self._channel = self._dial() or self._start()
        return self._channel

    def _hang_up(self) -> None:
        if self._channel is not None:
            self._channel.close()
            self._channel = None

    def _dial(self) -> "_Channel | None":
        """A connection to a daemon that suits this client; one that does not is seen off."""
        connection = sockets.connect(self._workspace.root)
        if connection is None:
            return None
        channel = _Channel(connection, self._progress)
        try:
            if channel.ask("hello", self._hello()).get("result") is True:
                return channel
            from assistant.memory.daemon import (
                owner,  # loads subprocess and more: not on the warm path
            )

            owner.wait_until_gone(connection)
        except ConnectionError:
            pass  # it was about to end
        except BaseException:
            channel.close()
            raise
        channel.close()
        return None

    def _start(self) -> "_Channel":
        from assistant.memory.daemon import start  # as above

        with _starting_alone(self._workspace):
            channel = self._dial()  # another client may have been first
            if channel is None:
                start.start(self._workspace, self._raw, self._digest)
                channel = self._dial()
        if channel is None:
            raise ConnectionResetError("the memory daemon ended as soon as it had started")
        return channel

    def _hello(self) -> bytes:
        root = str(self._workspace.root)
        hello = wire.Hello(wire.PROTOCOL, assistant.__version__, self._digest, root)
        return wire.request("hello", wire.HELLO, {"hello": hello})


class _Channel:
    """A connection on which one request at a time is asked and answered."""

    def __init__(self, connection: socket.socket, progress: Progress) -> None:
        connection.settimeout(SILENCE_SECONDS)
        self._connection = connection
        self._lines = connection.makefile("rb")
        self._progress = progress

    def ask(self, ident: str, message: bytes) -> dict[str, Any]:
        """The answer, with `result` or `error`. Raises ConnectionError when the daemon is gone."""
        try:
            self._connection.sendall(message)
            while True:
                answer = self._receive()
                if told := answer.get("progress"):
                    self._progress(*told)
                elif answer.get("id") == ident and "progress" not in answer:
                    return answer
        except TimeoutError as error:
            raise DaemonError(
                f"the memory daemon has said nothing for {SILENCE_SECONDS:.0f} s",
                "Run `assistant daemon stop`, or end its process, and try again",
            ) from error

    def close(self) -> None:
        self._lines.close()
        self._connection.close()

    def _receive(self) -> dict[str, Any]:
        line = self._lines.readline()
        if not line.endswith(b"\n"):
            raise ConnectionResetError("the memory daemon is gone")
        return wire.parse(line)


@contextlib.contextmanager
def _starting_alone(workspace: Workspace) -> Iterator[None]:
    """Of several clients that find no daemon, let one start it and the others wait for that."""
    path = sockets.usable_path(workspace.root).with_suffix(".start")
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
