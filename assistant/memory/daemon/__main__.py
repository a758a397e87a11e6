"""The resident process that owns a workspace's index: `python -m assistant.memory.daemon FD`.

It reads its order from standard input, leaves its parent, and says on the descriptor `FD` that it
listens, or what kept it from that. It loads nothing heavy before.
"""

import contextlib
import faulthandler
import logging
import logging.handlers
import os
import resource
import sys
from pathlib import Path
from typing import IO

import assistant
from assistant.disk.locking import Lock
from assistant.errors import AssistantError
from assistant.memory.base import Notify, Progress
from assistant.memory.daemon import lifecycle, sockets, wire
from assistant.memory.daemon.server import Served, Server
from assistant.settings.tree import validate
from assistant.workspace.folder import Workspace

LOG_BYTES = 1 << 20
"""A log is put aside when it has this size; the two before it are kept."""
SWITCH_SECONDS = 0.0005
"""How soon a thread that parses lets one that answers go on; Python would take ten times that."""
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "BLIS_NUM_THREADS": "1"}
"""What numpy multiplies for an answer is small: other threads would wait for it longer, busily,
than they help, which doubles a recall's processor time."""
OPEN_FILES = 4096
"""Enough for the most connections a server keeps; macOS allows 256 unasked."""

logger = logging.getLogger(__name__)


def main(descriptor: int) -> None:
    """Become a daemon and serve until there is a reason to leave."""
    order = wire.parse(sys.stdin.buffer.read(), wire.Order)
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


def _serve(order: wire.Order, ready: IO[bytes]) -> None:
    workspace = Workspace(Path(order.workspace))
    _detach(sockets.log_path(workspace.root))
    settings = validate(order.settings)
    held = _claimed(workspace, ready)
    if held is None:
        ready.write(wire.line(wire.Answer()))
        return
    hello = wire.Hello(wire.PROTOCOL, assistant.__version__, order.digest, order.workspace)

    def opener(progress: Progress, notify: Notify) -> Served:
        from assistant.memory.daemon.watcher import Watcher  # while the daemon listens already

        memory = lifecycle.open_owned(workspace, settings, progress, notify, resident=True)
        try:
            Watcher(workspace, server.touch)  # it ends with the process
        except OSError as error:
            logger.warning("files cannot be watched, and are compared: %s", error)
        return memory

    def tell() -> None:
        logger.info("listening as process %d", os.getpid())
        with contextlib.suppress(BrokenPipeError):  # a hook waits for two seconds only
            ready.write(wire.line(wire.Answer()))
            ready.close()

    sys.setswitchinterval(SWITCH_SECONDS)
    server = Server(opener, hello, held, settings.daemon.idle_seconds)
    with contextlib.closing(sockets.listen(workspace.root)) as listener:
        server.run(listener, tell)


def _claimed(workspace: Workspace, ready: IO[bytes]) -> Lock | None:
    """The right to the index; None once whoever has it listens: its socket may have been lost."""

    def say(what: str, done: int, total: int) -> None:
        ready.write(wire.line(wire.Answer(progress=(what, done, total))))
        ready.flush()

    def listened() -> bool:
        return sockets.answers(workspace.root)

    return lifecycle.claim_unless(listened, workspace, lifecycle.CLAIM_SECONDS, say)


def _detach(log: Path) -> None:
    """Leave what belongs to the starting process: its directory, terminal and limits."""
    os.chdir("/")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.close(nothing)
    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # it would hold what memory holds
    allowed, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= allowed < OPEN_FILES and (most < 0 or most >= OPEN_FILES):  # below 0: no limit
        resource.setrlimit(resource.RLIMIT_NOFILE, (OPEN_FILES, most))
    rotating = logging.handlers.RotatingFileHandler(log, maxBytes=LOG_BYTES, backupCount=2)
    logging.basicConfig(
        handlers=[rotating], level=logging.INFO, format="%(asctime)s %(name)s: %(message)s"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]))
