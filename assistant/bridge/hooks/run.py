"""A hook from its input to its answer, within its time: it never blocks and fails open."""

import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import NoReturn

from assistant import config
from assistant.bridge.hooks.events import Event, Happened, answer, happened, named
from assistant.bridge.hooks.quiet import Quiet, is_quiet, keep_quiet
from assistant.workspace.folder import Workspace

MOST_BYTES = 64 << 20
"""Of input; an event that says more is none."""
PROMPT_SECONDS, OTHER_SECONDS, PATIENT_SECONDS = 2.0, 10.0, 3600.0
"""How long an event may take when nothing is warm: somebody waits for a prompt, and nobody for what
a process of its own does."""
Work = Callable[[], str]


@dataclass(frozen=True, slots=True)
class Call:
    """A hook as it was called: for which event and program, and how quiet memory shall be."""

    event: str
    program: str = ""
    quiet: Quiet | None = None
    patient: bool = False

    @property
    def seconds(self) -> float:
        """How long it may take."""
        if self.patient:
            return PATIENT_SECONDS
        return PROMPT_SECONDS if named(self.event) is Event.PROMPT else OTHER_SECONDS


def respond(find: Callable[[], Workspace], call: Call, *, debug: bool) -> NoReturn:
    """Say what a program is told at an event, and end; why nothing is said only to debug it."""
    said, failed = within(call.seconds, lambda: answered(find, call))
    with suppress(OSError, ValueError):  # whoever called has gone
        if failed is not None and debug:
            sys.stderr.write(f"assistant: {type(failed).__name__}: {failed}\n")
        if said:
            sys.stdout.buffer.write(f"{said}\n".encode())
        sys.stdout.flush()
    os._exit(0)  # what still runs in the other thread is not waited for


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


def answered(find: Callable[[], Workspace], call: Call) -> str:
    """What a program is told at an event; standard input says more of it."""
    told = _input()
    at = happened(call.event, told, call.program)
    if call.quiet is not None and (at is None or not at.prompt):
        keep_quiet(call.quiet, at.conversation if at else "")
        return ""
    if at is None:
        return ""
    if call.quiet is Quiet.SESSION:
        keep_quiet(call.quiet, at.conversation)
    if call.quiet:
        return ""
    match at.event:
        case Event.PROMPT:
            return _prompted(find(), at)
        case Event.START:
            return _warmed(find())
    return _taken_over(find(), at, told, patient=call.patient)


def _prompted(place: Workspace, at: Happened) -> str:
    from assistant.bridge.hooks.prompting import worth_knowing

    told = "" if is_quiet(at.conversation) else worth_knowing(place, config.load(), at.prompt)
    return answer(at, told) if told else ""


def _warmed(place: Workspace) -> str:
    from assistant.memory.door import open_memory

    open_memory(place, config.load()).close()
    return ""


def _taken_over(place: Workspace, at: Happened, told: bytes, *, patient: bool) -> str:
    from assistant.bridge.hooks import later
    from assistant.bridge.hooks.taking_over import take_over

    if later.is_long(at, told) and not patient:
        later.begin(place, at, told)
    else:
        take_over(place, config.load(), at)
    return ""


def _input() -> bytes:
    """What is on standard input; nothing at a terminal, or if it is far too much."""
    if sys.stdin is None or sys.stdin.isatty():
        return b""
    data = sys.stdin.buffer.read(MOST_BYTES + 1)
    return data if len(data) <= MOST_BYTES else b""
