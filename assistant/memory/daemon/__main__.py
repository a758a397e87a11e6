"""The resident process that owns a workspace's index: `python -m assistant.memory.daemon FD`.

It reads its order from standard input, detaches from its parent, and reports on the file descriptor
`FD` that it listens, or why it cannot. Nothing heavy is imported before that.
"""

import contextlib
import faulthandler
import logging
import logging.handlers
import os
import resource
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING

from assistant.errors import AssistantError
from assistant.memory.base import Notify, Progress
from assistant.memory.daemon import lifecycle, sockets, wire
from assistant.memory.daemon.server import Server
from assistant.settings.tree import validate
from assistant.workspace.folder import Workspace

if TYPE_CHECKING:
    from assistant.memory.local import LocalMemory

LOG_BYTES = 1 << 20
"""A log of this size is rotated; two older ones are kept."""
SWITCH_SECONDS = 0.0005
"""How soon a thread that parses yields to one that answers; Python's default is ten times that."""
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "BLIS_NUM_THREADS": "1"}
"""The matrices of an answer are small: more threads would only busy-wait and double the processor
time of a recall."""
OPEN_FILES = 4096
"""Enough for `MOST_CONNECTIONS`; the default on macOS is 256."""

logger = logging.getLogger(__name__)


def main(descriptor: int) -> None:
    """Become a daemon and serve until there is a reason to exit."""
    order = wire.parse(sys.stdin.buffer.read(), wire.Greeting)
    os.environ |= ONE_THREAD
    if os.fork():
        os._exit(0)
    with os.fdopen(descriptor, "wb") as ready:
        try:
            _serve(order, ready)
        except AssistantError as error:
            logger.warning("not started: %s", type(error).__name__)
            with contextlib.suppress(ValueError, BrokenPipeError):  # the parent knows already
                ready.write(wire.line(wire.refusal(None, error)))


def _serve(order: wire.Greeting, ready: IO[bytes]) -> None:
    workspace = Workspace(Path(order.hello.workspace))
    _detach(sockets.log_path(workspace.root))
    settings = validate(order.settings, sources=())

    def report(what: str, done: int, total: int) -> None:
        ready.write(wire.line(wire.Answer(progress=(what, done, total))))
        ready.flush()

    lock = lifecycle.claim(
        workspace, progress=report, is_needless=lambda: sockets.answers(workspace.root)
    )
    if lock is None:  # another daemon listens by now
        ready.write(wire.line(wire.Answer()))
        return

    def opener(progress: Progress, notify: Notify) -> "LocalMemory":
        from assistant.memory.daemon.watcher import Watcher  # while the daemon listens already

        memory = lifecycle.open_owned(workspace, settings, progress, notify, resident=True)
        try:
            Watcher(workspace, server.touch)  # it ends with the process
        except OSError as error:
            logger.warning("files cannot be watched, and are compared: %s", error)
        return memory

    def listening() -> None:
        logger.info("listening as process %d", os.getpid())
        with contextlib.suppress(BrokenPipeError):  # a hook waits for two seconds only
            ready.write(wire.line(wire.Answer()))
            ready.close()

    sys.setswitchinterval(SWITCH_SECONDS)
    server = Server(opener, order, lock, settings.daemon.idle_seconds)
    with contextlib.closing(sockets.listen(workspace.root)) as listener:
        server.run(listener, listening)


def _detach(log: Path) -> None:
    """Detach from the starting process: its directory, terminal and limits."""
    os.chdir("/")
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.close(null)
    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a core dump would contain the facts
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= soft < OPEN_FILES and (hard < 0 or hard >= OPEN_FILES):  # below 0: no limit
        resource.setrlimit(resource.RLIMIT_NOFILE, (OPEN_FILES, hard))
    handler: logging.Handler = logging.NullHandler()
    with contextlib.suppress(OSError):  # on a read-only disk nothing is logged
        handler = logging.handlers.RotatingFileHandler(log, maxBytes=LOG_BYTES, backupCount=2)
    logging.basicConfig(
        handlers=[handler], level=logging.INFO, format="%(asctime)s %(name)s: %(message)s"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]))
