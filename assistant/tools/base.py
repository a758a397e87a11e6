"""What a tool is. A tool plans, then runs; it writes no transcript and prints nothing.

A call goes through two steps, so that an approval is bound to what was shown: `Tool.plan` checks
the arguments and works out what the call would do, changing nothing; `Plan.run` does that and
nothing else, and refuses if what it was planned on has changed since.
"""

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from assistant.events import Event
from assistant.model.base import ToolSpec

PART = 20_000
"""Characters that a tool gives of something long at once, before its notice how to read on."""
RESULT_LIMIT = 24_000
"""Characters of a result that the model is given: a part and its notices. The one limit; whatever
is longer is cut here alone, so that no second cut hides the notice of a first."""
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

    `compact` is one quiet line for a person ("12 matches in 3 files").
    """

    content: str
    error: bool = False
    compact: str = ""


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
            named = [known.get(_plain(each)) for each in parts if each.strip()]
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
