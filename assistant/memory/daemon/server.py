"""The memory daemon: it listens, answers each client on a thread, and exits by itself.

It exits when it is idle, when a client or a signal asks it to, when its workspace or its socket is
gone, or when its code has changed on disk. The next command starts another.
"""

import contextlib
import logging
import os
import select
import signal
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

import assistant
from assistant.config import INDEX_SECTIONS
from assistant.disk.locking import Lock
from assistant.errors import AssistantError, DaemonError
from assistant.memory.base import (
    Abandoned,
    DaemonStatus,
    MemoryStatus,
    Notify,
    Progress,
    Query,
    wanted_by,
)
from assistant.memory.daemon import lifecycle, sockets, wire
from assistant.memory.daemon.wire import OPERATIONS
from assistant.settings.sections import MemorySettings
from assistant.settings.tree import validate

if TYPE_CHECKING:
    from assistant.memory.local import LocalMemory

CHECK_SECONDS = 2.0
"""How often the server checks that its workspace and its socket still exist, and sends waiting
clients a sign of life."""
COMPARE_SECONDS, RETRY_SECONDS = 10.0, 30.0
"""How often files are compared without an event, since network disks report no changes; and the
delay after a failure."""
SLOW_SECONDS = 30
"""How long a client may take to accept its answer before it is cut off."""
PROGRESS_SECONDS = 0.1
"""The minimum time between two progress reports."""
IN_USE_SECONDS = 300.0
"""Without a matching client for this long, the daemon exits for one with other settings."""
MOST_CONNECTIONS = 256
"""Beyond this, the connection that is idle longest is closed; its client reconnects."""
_CLOSED = select.POLLHUP | select.POLLERR | getattr(select, "POLLRDHUP", 0)

logger = logging.getLogger(__name__)


Opener = Callable[[Progress, Notify], "LocalMemory"]


class Server:
    """Serves the memory that `opener` opens to clients that send the same `hello` as the `order`.

    Memory is opened once the server listens, and refreshed ahead of requests.
    """

    def __init__(
        self, opener: Opener, order: wire.Greeting, lock: Lock, idle_seconds: float
    ) -> None:
        self.gone = threading.Event()
        """Set when the index is free for another owner."""
        self._opener = opener
        self._opening = threading.Lock()
        self._memory: LocalMemory | None = None
        self._refresher = threading.Thread(target=self._keep_fresh, name="refreshing", daemon=True)
        self._hello = order.hello
        self._settings = order.settings
        self._root = Path(order.hello.workspace)
        self._code = lifecycle.Code()
        self._lock = lock
        self._idle_seconds = idle_seconds
        self._leaving = threading.Event()
        self._touched = threading.Event()
        """Set when the index may no longer be up to date."""
        self._woken, self._wake = os.pipe()
        self._clients: set[Connection] = set()
        self._changed = threading.Condition()
        """Guards `_clients` and the request of each."""
        self._used = time.monotonic()
        self._last_match = time.time()
        self._trim = lifecycle.MemoryTrim()
        self._reported = 0.0
        self._notices: list[str] = []

    def run(self, listener: sockets.Listener, ready: Callable[[], None]) -> None:
        """Serve until there is a reason to exit; then finish running requests and release the
        index."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self.leave("told to end"))
        listener.socket.listen(1024)
        listening = listener.socket.fileno()
        ready()
        self._refresher.start()
        while not self._leaving.is_set():
            pause = min(CHECK_SECONDS, self._idle_seconds / 4)
            readable, _, _ = select.select([listening, self._woken], [], [], pause)
            if listening in readable:
                self._accept(listener.socket)
            self._check(listener)
            self._tell_all(None)
        listener.close()
        self._finish()

    def do(
        self, operation: wire.Operation, arguments: dict[str, Any], is_wanted: Callable[[], bool]
    ) -> Any:
        """Carry out an operation of memory; every error becomes an AssistantError.

        Raises Abandoned, with nothing done, if the client has gone before its turn comes.
        """
        try:
            with wanted_by(is_wanted):
                return getattr(self._opened(), operation.name)(**arguments)
        except (AssistantError, Abandoned):
            raise
        except BaseException as error:  # Chroma's Rust panics are no Exception
            logger.exception("%s failed", operation.name)
            raise DaemonError(
                f"{operation.name} failed in the memory daemon: {type(error).__name__}: {error}",
                f"Its log is {sockets.log_path(self._root)}",
            ) from error

    def touch(self) -> None:
        """Request a refresh of the index, as a memory file may have changed. Thread-safe."""
        self._touched.set()

    # Life

    def _opened(self) -> "LocalMemory":
        with self._opening:
            if self._memory is None:
                self._memory = self._opener(self._progress, self._notify)
                self._code.check()  # opening imports most modules
            return self._memory

    def _keep_fresh(self) -> None:
        """Refresh the index when a file was touched, and at intervals; after a failure, the next
        request reports why."""
        while not self.is_leaving():
            self._touched.clear()
            pause = COMPARE_SECONDS
            try:
                self._opened().refresh()
            except BaseException as error:  # including Chroma's panics: nobody else would see them
                pause = RETRY_SECONDS
                trace = not isinstance(error, AssistantError)
                logger.warning("memory is not ready: %s", type(error).__name__, exc_info=trace)
            self._touched.wait(pause)

    def _accept(self, listening: socket.socket) -> None:
        try:
            connection, _ = listening.accept()
        except OSError as error:
            logger.warning("a client could not be accepted: %s", error)
            self._leaving.wait(0.1)
            return
        if sockets.peer(connection).user != os.geteuid():
            connection.close()
            return
        client = Connection(self, connection)
        with self._changed:
            idle = [client for client in self._clients if client.asked is None]
            if len(self._clients) >= MOST_CONNECTIONS and idle:
                oldest = min(idle, key=lambda client: client.used)
                oldest.hang_up()
                self._clients.discard(oldest)
            self._clients.add(client)
            self._used = client.used
        threading.Thread(target=client.converse, name="client", daemon=True).start()

    def _check(self, listener: sockets.Listener) -> None:
        if self.is_leaving():
            return
        with self._changed:
            idle = time.monotonic() - self._used if self._is_idle() else 0.0
        if not listener.is_current():
            self.leave("its socket is gone")
        elif idle > self._idle_seconds:
            self.leave("idle")
        elif self._trim.is_due(idle):
            self._trim.run()

    def is_leaving(self) -> bool:
        """Return whether the server accepts no more requests."""
        if not (self._lock.is_current() and self._root.exists()):
            self.leave("the workspace is gone")
        return self._leaving.is_set()

    def leave(self, reason: str) -> None:
        """Exit once the running requests are answered."""
        if not self._leaving.is_set():
            logger.info("leaving: %s", reason)
            self._leaving.set()
            self._touched.set()
            os.write(self._wake, b".")

    def _finish(self) -> None:
        """Answer the running requests, close the index, then release it for another owner."""
        with self._changed:
            while not self._changed.wait_for(self._is_idle, CHECK_SECONDS):
                self._tell_all(None)
        self._refresher.join()
        if self._memory is not None:
            self._memory.close()
        self._lock.release()
        self.gone.set()
        with self._changed:
            self._changed.wait_for(lambda: not self._clients, 1.0)

    def _is_idle(self) -> bool:
        return all(client.asked is None for client in self._clients)

    # Clients

    def begin(self, connection: "Connection", ident: str) -> bool:
        """Note that a request is being answered; return False if the server is leaving."""
        with self._changed:
            if self._leaving.is_set():
                return False
            connection.asked = ident
            return True

    def end(self, connection: "Connection") -> None:
        """Note that a request is answered."""
        with self._changed:
            connection.asked = None
            connection.used = self._used = time.monotonic()
            self._changed.notify_all()

    def remove(self, connection: "Connection") -> None:
        """Forget a client that has gone."""
        with self._changed:
            self._clients.discard(connection)
            self._changed.notify_all()

    def greet(self, greeting: wire.Greeting) -> MemorySettings | None:
        """Return the settings for a client's recalls; None if it needs another daemon, and this one
        leaves. Raises ConfigError, and DaemonError if this daemon stays."""
        hello = greeting.hello
        if msgspec.structs.replace(hello, digest=self._hello.digest) != self._hello:
            self.leave("a client needs another version")
            return None
        if greeting.offset != wire.utc_offset():
            self.leave("a client is in another time zone")
            return None
        if self._code.changed():
            self.leave("its code has changed on disk")
            return None
        if hello.digest != self._hello.digest:
            self._check_unused(greeting)
            self.leave("a client needs other settings")
            return None
        self._last_match = time.time()
        chosen = validate(greeting.settings, sources=())
        self._idle_seconds = chosen.daemon.idle_seconds
        return chosen.memory

    def _check_unused(self, greeting: wire.Greeting) -> None:
        """Raise DaemonError if clients with this daemon's settings still use it.

        Two shells with different settings would otherwise restart each other's daemon with every
        command. A configuration that was changed since takes precedence.
        """
        is_used = time.time() - self._last_match < IN_USE_SECONDS
        if greeting.configured < self._last_match and is_used:
            mine, theirs = self._settings, greeting.settings
            other = [f"[{name}]" for name in INDEX_SECTIONS if mine.get(name) != theirs.get(name)]
            raise DaemonError(
                f"the memory daemon, process {os.getpid()}, is in use with other settings of "
                + " and ".join(other),
                "Make them the same in both shells, or run `assistant daemon stop` first",
            )

    def about(self) -> DaemonStatus:
        """Return the daemon's own state."""
        return DaemonStatus(os.getpid(), assistant.__version__, lifecycle.resident_bytes())

    def take_notices(self) -> tuple[str, ...]:
        """Return the notices for the owner, which go with the next answer to any client."""
        with self._changed:
            taken, self._notices = tuple(self._notices), []
        return taken

    def _notify(self, notice: str) -> None:
        with self._changed:
            self._notices.append(notice)

    def _progress(self, what: str, done: int, total: int) -> None:
        """Report progress to all waiting clients, at intervals."""
        now = time.monotonic()
        if now - self._reported < PROGRESS_SECONDS and done != total:
            return
        self._reported = now
        self._tell_all((what, done, total))

    def _tell_all(self, progress: tuple[str, int, int] | None) -> None:
        """Send progress to all waiting clients; None means that the daemon is at work."""
        with self._changed:
            waiting = [client for client in self._clients if client.asked is not None]
        for client in waiting:
            client.tell(progress)


class Connection:
    """One client, which sends one request at a time.

    `asked` is the id of the running request, if any; `used` is when the last one was answered
    (time.monotonic).
    """

    def __init__(self, server: Server, connection: socket.socket) -> None:
        self.asked: str | None = None
        self.used = time.monotonic()
        self._server = server
        self._socket = connection
        self._sending = threading.Lock()
        self._settings: MemorySettings | None = None
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, sockets.timeval(SLOW_SECONDS))

    def converse(self) -> None:
        """Answer requests until the client or the daemon exits."""
        try:
            with self._socket.makefile("rb") as lines:
                while (line := lines.readline(wire.MAX_REQUEST + 1)).endswith(b"\n"):
                    if self._server.is_leaving():
                        self._wait_until_gone()
                        return
                    self._take(line)
                if len(line) > wire.MAX_REQUEST:
                    failure = DaemonError(f"a request is longer than {wire.MAX_REQUEST:,} bytes")
                    self._send(wire.refusal(None, failure))
        except OSError:
            pass  # the client has gone, or does not read its answer
        finally:
            self._server.remove(self)
            self._socket.close()

    def tell(self, progress: tuple[str, int, int] | None) -> None:
        """Send progress, or None for a sign of life; skipped if the client does not read."""
        line = wire.line(wire.Answer(self.asked, progress))
        if self._sending.acquire(blocking=False):
            try:
                if self._socket.send(line, socket.MSG_DONTWAIT) < len(line):
                    self.hang_up()  # half a line was sent
            except OSError:
                pass  # the client does not read, or has gone: its own thread notices
            finally:
                self._sending.release()

    def hang_up(self) -> None:
        """Close the connection; the client's thread notices."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def _take(self, line: bytes) -> None:
        ident = None
        try:
            request = wire.parse(line, wire.Request)
            ident = request.id
            self._handle(request)
        except Abandoned:
            pass  # the client has gone
        except AssistantError as error:
            self._send(wire.refusal(ident, error))

    def _handle(self, request: wire.Request) -> None:
        match request.op:
            case wire.HELLO:
                self._settings = self._server.greet(wire.parse(request.params, wire.Greeting))
                self._send(wire.result(request.id, self._settings is not None))
                if self._settings is None:
                    self._wait_until_gone()
            case wire.YIELD:
                self._server.leave("asked to yield")
                self._wait_until_gone()
            case op if self._settings is not None and op in OPERATIONS:
                self._answer(request, OPERATIONS[op], self._settings)
            case _:
                raise DaemonError("the memory daemon got an unknown request, or one before a hello")

    def _answer(
        self, request: wire.Request, operation: wire.Operation, settings: MemorySettings
    ) -> None:
        arguments = operation.parameters(request.params)
        if isinstance(query := arguments.get("query"), Query):
            arguments["query"] = replace(
                query, k=query.k or settings.k, budget=query.budget or settings.budget
            )
        if not self._server.begin(self, request.id):
            self._wait_until_gone()
            return
        try:
            result = self._server.do(operation, arguments, self._is_waiting)
            if isinstance(result, MemoryStatus):
                result = replace(result, daemon=self._server.about())
            self._send(wire.result(request.id, result, self._server.take_notices()))
        finally:
            self._server.end(self)

    def _wait_until_gone(self) -> None:
        """Wait until the index is free; the client sees the connection close."""
        while not self._server.gone.wait(CHECK_SECONDS):
            self.tell(None)
        self.hang_up()

    def _is_waiting(self) -> bool:
        """Return whether the client is still connected."""
        poll = select.poll()
        poll.register(self._socket.fileno(), _CLOSED)
        return not poll.poll(0)

    def _send(self, answer: wire.Answer) -> None:
        """Send a whole line. Raises OSError if the client has gone or does not read."""
        with self._sending:
            self._socket.sendall(wire.line(answer))
