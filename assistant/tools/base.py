"""The tool interface. A tool plans, then runs; it writes no transcript and prints nothing.

A call takes two steps, so that an approval covers exactly what the owner was shown: `Tool.plan`
validates the arguments and works out what the call would do, without side effects; `Plan.run` does
exactly that, and refuses if what the plan was based on has changed.
"""

import math
import threading
import time
from collections.abc import Callable, Generator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar

from assistant.errors import ToolError
from assistant.events import Event
from assistant.model.base import ToolSpec

T = TypeVar("T")
TICK = 0.05
"""Seconds between checks for an interrupt by the owner."""
PART = 20_000
"""Characters of a long text that the model is given at once, with a note on how to read on."""
RESULT_LIMIT = 24_000
"""The most characters of a result that the model is given: a part and its notices. Only the
toolbox truncates further, so that no second cut hides the notice of the first."""
CORE = "core"
"""The group of tools that is always offered; other groups are loaded with `load_tools`."""


class Danger(StrEnum):
    """The danger of a call: `safe` runs, `moderate` runs and is logged, `dangerous` asks."""

    SAFE = "safe"
    MODERATE = "moderate"
    DANGEROUS = "dangerous"


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a call, as the model sees it. `error` marks a refusal or a failure.

    `compact` is a one-line summary for a person ("12 matches in 3 files"). The last `tail`
    characters are kept when the middle is cut. `diff` shows a person what changed in files.
    """

    content: str
    error: bool = False
    compact: str = ""
    tail: int = 0
    diff: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """A question to the owner in the middle of a turn. With `several`, more than one option may
    be chosen."""

    text: str
    options: tuple[str, ...] = ()
    several: bool = False

    @property
    def rendered(self) -> str:
        """The question, followed by one numbered line per option."""
        lines = (f"{number}. {option}" for number, option in enumerate(self.options, start=1))
        return "\n".join([self.text, *lines])

    def meant(self, answer: str) -> str:
        """Return the options that the answer names by number or text, else the answer itself."""
        choices = {_plain(option): option for option in self.options}
        choices |= {str(number): option for number, option in enumerate(self.options, start=1)}
        separators = (";", ",", " ") if self.several else ()
        for parts in (
            [answer],
            *(answer.replace(",", separator).split(separator) for separator in separators),
        ):
            chosen = [choices.get(_plain(part)) for part in parts if part.strip()]
            if chosen and all(chosen):
                return "; ".join(dict.fromkeys(filter(None, chosen)))
        return answer.strip()


def _plain(answer: str) -> str:
    return " ".join(answer.split()).strip(" .!").casefold()


@dataclass(frozen=True, slots=True)
class Plan:
    """One call, worked out but not yet run.

    `run` may raise ToolError. The owner's rules match `subjects`, texts such as a command, and
    `places`, real absolute paths of files. `detail` renders what an approval shows, such as the
    diff of a write. A plan with `secrets`, named by their stand-ins, needs approval. A `guarded`
    plan touches files that steer or remember: a rule without a pattern does not let it run without
    approval. A plan with a `question` is not run: the owner's answer is its result. A plan with
    `work` is run by that, given the call's id, and yields events as it goes.
    """

    run: Callable[[], ToolResult]
    danger: Danger = Danger.SAFE
    subjects: tuple[str, ...] = ()
    detail: Callable[[], str] = str
    guarded: bool = False
    places: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    question: Question | None = None
    work: Callable[[str], Generator[Event, None, ToolResult]] | None = None


def always() -> bool:
    """Always available."""
    return True


def awaited(
    answer: "Future[T]",
    seconds: float,
    interrupt: threading.Event,
    going_on: Callable[[], bool] = always,
) -> T:
    """Return the result of a future that another thread completes, or raise its error.

    Raises ToolError when the owner interrupts, and TimeoutError when the time is up or `going_on`
    is false.
    """
    deadline = time.monotonic() + seconds
    while True:
        try:
            return answer.result(TICK)
        except TimeoutError:
            if answer.done():
                raise
        if interrupt.is_set():
            raise ToolError("interrupted by the owner")
        if time.monotonic() > deadline or not going_on():
            raise TimeoutError


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool the model may call. Made from a typed function by `schema.tool`.

    `plan` raises ToolError for invalid arguments. `writes` withholds the tool from conversations
    that are off the record. `restores` replaces stand-ins in the arguments by their secrets;
    without it, as for text that is stored, the tool sees only stand-ins. A tool that `reveals`
    could print or send its arguments, so it needs approval before it is given a secret. A
    `stoppable` tool changes nothing and may be abandoned midway.
    """

    spec: ToolSpec
    plan: Callable[[Mapping[str, Any]], Plan]
    group: str = CORE
    writes: bool = False
    restores: bool = True
    reveals: bool = False
    stoppable: bool = False
    available: Callable[[], bool] = always

    @property
    def name(self) -> str:
        """The name by which the model calls it."""
        return self.spec.name


def unless(interrupt: threading.Event, work: Callable[[], ToolResult]) -> ToolResult:
    """Return the result of `work`, or raise its error. Raises ToolError when the owner interrupts.

    After an interrupt `work` continues in its thread until its own limits, and its result is
    dropped, so it must change nothing.
    """
    answer: Future[ToolResult] = Future()

    def run() -> None:
        try:
            answer.set_result(work())
        except BaseException as error:  # re-raised in the waiting thread
            answer.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return awaited(answer, math.inf, interrupt)
