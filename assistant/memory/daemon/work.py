"""The memory that a daemon serves: what changes it is done one thing after another, what only reads
beside that."""

import contextlib
import ctypes
import gc
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

from assistant.errors import AssistantError, DaemonError
from assistant.memory.daemon.operations import Operation
from assistant.memory.protocol import Keeper
from assistant.memory.wanted import Abandoned, wanted_by

READERS = 4
"""Requests that only read, answered at once."""

REST_SECONDS = 3.0
"""Freed memory is given back so long after the last answer."""
WORKED_SECONDS = 0.1
"""Processor time since the last rest that makes another one worth it."""
STILL_SECONDS = 0.05
"""A process that uses less processor time between two looks is at rest."""

logger = logging.getLogger(__name__)


class Served(Keeper, Protocol):
    """Memory as it is served."""

    def refresh(self) -> None:
        """Bring the index up to the files ahead of the next question."""


class Work:
    """Does requests on the memory that `opener` opens, at the first of them."""

    def __init__(self, opener: Callable[[], Served], log: str) -> None:
        """`log` is where a reader of errors is sent."""
        self._opener = opener
        self._log = log
        self._opening = threading.Lock()
        self._memory: Served | None = None
        self._changing, self._reading = threading.Lock(), threading.Semaphore(READERS)
        self._refreshing = ThreadPoolExecutor(1, "refreshing")
        self._to_refresh = threading.Event()

    def do(
        self, operation: Operation[..., Any], arguments: dict[str, Any], wanted: Callable[[], bool]
    ) -> Any:
        """Do something when its turn has come; whatever fails in it becomes an AssistantError.

        Raises Abandoned, and does nothing, if it is no longer wanted by then.
        """
        try:
            with self._changing if operation.changes else self._reading, wanted_by(wanted):
                return operation.perform(self._opened(), arguments)
        except (AssistantError, Abandoned):
            raise
        except BaseException as error:  # Chroma's Rust panics are no Exception
            logger.exception("%s failed", operation.name)
            raise DaemonError(
                f"{operation.name} failed in the memory daemon: {type(error).__name__}: {error}",
                f"Its log is {self._log}",
            ) from error

    def freshen(self) -> None:
        """Do ahead what the next request would do; if it fails, that request tells why."""
        if not self._to_refresh.is_set():
            self._to_refresh.set()
            self._refreshing.submit(self._refresh)

    def close(self) -> None:
        """Finish what was begun, and let go of the memory."""
        self._refreshing.shutdown(cancel_futures=True)
        if self._memory is not None:
            self._memory.close()

    def _refresh(self) -> None:
        self._to_refresh.clear()
        try:
            self._opened().refresh()
        except AssistantError as error:
            logger.warning("memory cannot be made ready: %s", type(error).__name__)
        except BaseException:  # Chroma's panics, too: nobody asks this thread how it went
            logger.exception("memory cannot be made ready")

    def _opened(self) -> Served:
        with self._opening:
            if self._memory is None:
                self._memory = self._opener()
            return self._memory


class Rest:
    """When this process gives freed memory back to the system: once after work."""

    def __init__(self) -> None:
        self._spent = self._spent_at_rest = time.process_time()

    def is_due(self, resting: float) -> bool:
        """Whether there was work since the last rest, and is none now. Called now and then;
        nobody has asked for `resting` seconds."""
        before, self._spent = self._spent, time.process_time()
        worked = self._spent - self._spent_at_rest > WORKED_SECONDS
        return worked and resting > REST_SECONDS and self._spent - before < STILL_SECONDS

    def take(self) -> None:
        """Give it back: glibc alone keeps it, and only glibc knows this.

        What is left stays: Python need not look through it again and again for what could go.
        """
        gc.collect()
        gc.freeze()
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).malloc_trim(0)
        self._spent = self._spent_at_rest = time.process_time()
