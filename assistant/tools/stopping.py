"""Letting go of a call that only looks, at once, when the owner interrupts."""

import threading
from collections.abc import Callable

from assistant.errors import ToolError
from assistant.tools.base import ToolResult

TICK = 0.05
"""Seconds between two looks at whether the owner interrupted."""


def unless(interrupt: threading.Event, work: Callable[[], ToolResult]) -> ToolResult:
    """What `work` gives, or raises. Raises ToolError once the owner interrupts.

    Then `work` goes on by itself, to its own limits, and what it finds is dropped: it must change
    nothing.
    """
    done = threading.Event()
    results: list[ToolResult] = []
    failures: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:  # carried to the thread that waits
            failures.append(error)
        finally:
            done.set()

    threading.Thread(target=run, daemon=True).start()
    while not done.wait(TICK):
        if interrupt.is_set():
            raise ToolError("interrupted by the owner")
    if failures:
        raise failures[0]
    return results[0]
