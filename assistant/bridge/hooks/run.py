"""A hook from its input to its answer, within its time: it never blocks and fails open."""

import sys
import threading
from collections.abc import Callable, Mapping
from typing import Any

from assistant import config
from assistant.bridge.hooks.events import Event, Happened, answer, happened, named
from assistant.bridge.hooks.quiet import Quiet, is_quiet, keep_quiet
from assistant.workspace.folder import Workspace

MOST_BYTES = 64 << 20
"""Of input; an event that says more is none."""
PROMPT_SECONDS, OTHER_SECONDS = 2.0, 10.0
"""How long an event may take when nothing is warm; somebody waits for a prompt."""
Work = Callable[[], str]


def seconds_for(event: str) -> float:
    """How long an event may take."""
    return PROMPT_SECONDS if named(event) is Event.PROMPT else OTHER_SECONDS


def within(seconds: float, work: Work) -> tuple[str, BaseException | None]:
    """What work answers in so much time; nothing, and why, if it fails or takes longer."""
    told: list[str] = []
    failed: list[BaseException] = [TimeoutError(f"it took longer than {seconds} s")]

    def run() -> None:
        try:
            told.append(work())
        except BaseException as error:  # whatever it is, the other program goes on
            failed.insert(0, error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    return (told[0], None) if told else ("", failed[0])


def answered(find: Callable[[], Workspace], event: str, program: str, quiet: Quiet | None) -> str:
    """What a program is told at an event; standard input says more of it."""
    at = happened(event, _input(), program)
    if quiet is not None and (at is None or not at.prompt):
        keep_quiet(quiet, at.conversation if at else "")
        return ""
    if at is None:
        return ""
    if quiet is Quiet.SESSION:
        keep_quiet(quiet, at.conversation)
    return "" if quiet else _done(find(), config.load(), at)


def _done(place: Workspace, raw: Mapping[str, Any], at: Happened) -> str:
    if at.event is Event.PROMPT:
        from assistant.bridge.hooks.prompting import worth_knowing

        told = "" if is_quiet(at.conversation) else worth_knowing(place, raw, at.prompt)
        return answer(at, told) if told else ""
    if at.event is Event.START:
        from assistant.memory.door import open_memory

        open_memory(place, dict(raw)).close()  # so that it is warm at the first prompt
        return ""
    from assistant.bridge.hooks.taking_over import take_over

    take_over(place, raw, at)
    return ""


def _input() -> bytes:
    """What is on standard input; nothing at a terminal, or if it is far too much."""
    if sys.stdin is None or sys.stdin.isatty():
        return b""
    data = sys.stdin.buffer.read(MOST_BYTES + 1)
    return data if len(data) <= MOST_BYTES else b""
