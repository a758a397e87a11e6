"""What a tool is. A tool plans, then runs; it writes no transcript and prints nothing.

A call goes through two steps, so that an approval is bound to what was shown: `Tool.plan` checks
the arguments and works out what the call would do, changing nothing; `Plan.run` does that and
nothing else, and refuses if what it was planned on has changed since.
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
"""Seconds between two looks at whether the owner interrupted."""
PART = 20_000
"""Characters of something long that the model is given at once, and then how to read on."""
RESULT_LIMIT = 24_000
"""Characters of a result that the model is given: a part and its notices. Whatever is longer is cut
by the toolbox alone, so that no second cut hides the notice of a first."""
CORE = "core"
"""The group of tools that is always offered; others are fetched with `load_tools`."""


class Danger(StrEnum):
    """What a call may do: `safe` runs, `moderate` runs and is logged, `dangerous` asks."""

    SAFE = "safe"
    MODERATE = "moderate"
    DANGEROUS = "dangerous"


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What the model sees of a call. `error` marks a refusal or a failure.

    `compact` is one quiet line for a person ("12 matches in 3 files"). `tail` characters of its
    end are shown though the middle may be cut. `diff` is what it changed in files, for a person.
    """

    content: str
    error: bool = False
    compact: str = ""
    tail: int = 0
    diff: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """What the owner is asked in the middle of a turn; of `several` options more may be meant."""

    text: str
    options: tuple[str, ...] = ()
    several: bool = False

    @property
    def rendered(self) -> str:
        """The question, and a line for each option with its number."""
        lines = (f"{number}. {each}" for number, each in enumerate(self.options, start=1))
        return "\n".join([self.text, *lines])

    def meant(self, said: str) -> str:
        """What an answer says: the options whose numbers or texts it is, or its own words."""
        known = {_plain(option): option for option in self.options}
        known |= {str(number): option for number, option in enumerate(self.options, start=1)}
        splits = (";", ",", " ") if self.several else ()
        for parts in ([said], *(said.replace(",", sign).split(sign) for sign in splits)):
            named = [known.get(_plain(part)) for part in parts if part.strip()]
            if named and all(named):
                return "; ".join(dict.fromkeys(filter(None, named)))
        return said.strip()


def _plain(answer: str) -> str:
    return " ".join(answer.split()).strip(" .!").casefold()


@dataclass(frozen=True, slots=True)
class Plan:
    """One call, worked out and not yet done.

    `run` may raise ToolError. The owner's rules match `subjects`, texts such as a command, and
    `places`, the real absolute paths of files. `detail` makes what an approval shows, a diff for
    a write. A plan that is given `secrets`, named by their stand-ins, asks. A `guarded` plan
    touches what steers or remembers: a rule that names no pattern does not let it run unasked.
    A plan with a `question` is not run: what the owner answers is its result. One with `work` is
    run by that, given the call's id, and shows what it does.
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
    """Available, whatever happens."""
    return True


def awaited(
    answer: "Future[T]",
    seconds: float,
    interrupt: threading.Event,
    going_on: Callable[[], bool] = always,
) -> T:
    """What comes of work in another thread. Raises what that does, and ToolError once the owner
    interrupts; TimeoutError when the time is up, or nothing is going on there any more."""
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

    `plan` raises ToolError for arguments it cannot take. `writes` keeps a tool out of
    conversations that are off the record. `restores` gives it secrets in the place of their
    stand-ins; without it, as for what is stored, it is given stand-ins only. A tool that `reveals`
    could print or send what it is given, so it asks before it is given a secret. A `stoppable`
    one changes nothing, and may be let go of in the middle.
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
        """The name the model calls it by."""
        return self.spec.name


def unless(interrupt: threading.Event, work: Callable[[], ToolResult]) -> ToolResult:
    """What `work` gives, or raises. Raises ToolError once the owner interrupts.

    Then `work` goes on by itself, to its own limits, and what it finds is dropped: it must change
    nothing.
    """
    answer: Future[ToolResult] = Future()

    def run() -> None:
        try:
            answer.set_result(work())
        except BaseException as error:  # carried to the thread that waits
            answer.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return awaited(answer, math.inf, interrupt)
