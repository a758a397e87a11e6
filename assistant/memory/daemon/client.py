"""`Memory` over the daemon's socket; starts the daemon if none runs.

A warm command needs only this module, which imports nothing beyond what it takes to send a request
and read its answer. If the daemon dies during a request, another is started and the request is
repeated with the same id, so a write happens only once.
"""

import os
import socket
import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from functools import partial
from typing import Any, cast

import assistant
from assistant import config
from assistant.disk import locking
from assistant.errors import ConfigError, DaemonError
from assistant.memory.base import Keeper, Notify, Progress, no_notices, no_progress
from assistant.memory.daemon import sockets, wire
from assistant.workspace.folder import Anchor, Workspace

ATTEMPTS = 3
"""How often a request is sent if daemons die during it."""


def connect(
    workspace: Workspace,
    raw: Mapping[str, Any],
    progress: Progress = no_progress,
    notify: Notify = no_notices,
) -> Keeper:
    """Return the memory of a workspace over its daemon, which is started if none runs.

    `notify` receives lines for the owner. `raw` are the settings from `config.load`. Raises
    whatever keeps the daemon from starting.
    """
    return cast(Keeper, DaemonMemory(workspace, raw, progress, notify))


class DaemonMemory:
    """`Keeper` over a socket: the daemon carries out each operation.

    Safe to use from several threads, one request at a time.
    """

    def __init__(
        self,
        workspace: Workspace,
        raw: Mapping[str, Any],
        progress: Progress = no_progress,
        notify: Notify = no_notices,
    ) -> None:
        self._workspace = workspace
        self._anchor = Anchor(workspace.root)
        self._raw = raw
        self._digest = config.index_digest(raw)
        self._progress = progress
        self._notify = notify
        self._channel: _Channel | None = None
        self._lock = threading.Lock()
        self._connected()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return the operation of this name, which the daemon carries out."""
        if name not in wire.OPERATIONS:
            raise AttributeError(name)
        return partial(self._perform, wire.OPERATIONS[name])

    def close(self) -> None:
        """Close the connection; the daemon stays."""
        with self._lock:
            self._hang_up()

    def _perform(self, operation: wire.Operation, /, *args: Any, **kwargs: Any) -> Any:
        """Return what the daemon's memory returns. Raises what it raised, DaemonError, and
        StorageError if another folder has replaced the workspace since it was opened."""
        ident = os.urandom(8).hex()
        message = operation.request(ident, *args, **kwargs)
        with self._lock:
            answer = self._ask(ident, message)
        if answer.error:
            raise wire.raised(answer.error)
        for notice in answer.notices:
            self._notify(notice)
        return operation.result(answer.value)

    def _ask(self, ident: str, message: bytes) -> wire.Answer:
        for _ in range(ATTEMPTS):
            self._anchor.check()
            try:
                return self._connected().ask(ident, message)
            except ConnectionError:
                self._hang_up()
            except BaseException:
                self._hang_up()  # a late answer would be taken for the next request's
                raise
        raise DaemonError(
            f"the memory daemon ended {ATTEMPTS} times during a request",
            f"Its log is {sockets.log_path(self._workspace.root)}",
        )

    def _connected(self) -> "_Channel":
        if self._channel is None:
            try:
                self._channel = self._dial() or self._start()
            except ConfigError:
                from assistant.settings import tree  # only after a fault

                tree.validate(self._raw)  # names the source, which only this process knows
                raise
        return self._channel

    def _hang_up(self) -> None:
        if self._channel is not None:
            self._channel.close()
            self._channel = None

    def _dial(self) -> "_Channel | None":
        """Connect to a daemon that matches this client; wait for one that does not to exit."""
        connection = sockets.connect(self._workspace.root)
        if connection is None:
            return None
        channel = _Channel(connection, self._progress)
        with ExitStack() as stack, suppress(ConnectionError):  # the daemon is exiting
            stack.callback(channel.close)
            answer = channel.ask("hello", wire.request("hello", wire.HELLO, self._greeting()))
            if answer.error:
                raise wire.raised(answer.error)
            if answer.value == b"true":
                stack.pop_all()
                return channel
            from assistant.memory.daemon import lifecycle  # not on the warm path

            lifecycle.wait_until_gone(connection)
        return None

    def _start(self) -> "_Channel":
        from assistant.memory.daemon import lifecycle  # as above

        alone = sockets.usable_path(self._workspace.root).with_suffix(".start")
        with locking.lock(alone, 2 * lifecycle.START_SECONDS):
            channel = self._dial()  # another client may have been first
            if channel is None:
                lifecycle.start(self._greeting(), self._progress)
                channel = self._dial()
        if channel is None:
            raise ConnectionResetError("the memory daemon ended as soon as it had started")
        return channel

    def _greeting(self) -> wire.Greeting:
        root = str(self._workspace.root)
        hello = wire.Hello(wire.PROTOCOL, assistant.__version__, self._digest, root)
        return wire.Greeting(hello, dict(self._raw), config.changed_at())


class _Channel:
    """A connection with one request and its answer at a time."""

    def __init__(self, connection: socket.socket, progress: Progress) -> None:
        connection.settimeout(sockets.SILENCE_SECONDS)
        self._connection = connection
        self._lines = connection.makefile("rb")
        self._progress = progress

    def ask(self, ident: str, message: bytes) -> wire.Answer:
        """Return the answer, with `result` or `error`. Raises ConnectionError if the daemon has
        gone."""
        try:
            self._connection.sendall(message)
            while True:
                line = self._lines.readline()
                if not line.endswith(b"\n"):
                    raise ConnectionResetError("the memory daemon is gone")
                answer = wire.parse(line, wire.Answer)
                if answer.progress:
                    self._progress(*answer.progress)
                elif answer.id == ident and answer.progress is not None:
                    return answer
        except TimeoutError as error:
            raise sockets.silent(self._connection) from error

    def close(self) -> None:
        self._lines.close()
        self._connection.close()
