"""What the chat needs of a terminal: `live.py` is one that is drawn, `plain.py` one that is not."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Literal, Protocol, TypedDict, Unpack

from assistant.cli.chat.palette import BAD, FAINT, GOOD, styled

Look = Literal["", "title", "added", "removed", "place"]


COLOURS: dict[Look, int] = {"added": GOOD, "removed": BAD, "place": FAINT}


@dataclass(frozen=True, slots=True)
class Line:
    """One row of the screen, and how it looks."""

    text: str
    look: Look = ""

    @property
    def styled(self) -> str:
        """The row with its colours."""
        return styled(self.text, COLOURS.get(self.look), bold=self.look == "title")


class Dialogue(Protocol):
    """Where the owner is asked. What is typed until it has settled never becomes an answer."""

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows."""

    def show(self, lines: Sequence[Line], *, more: bool = False) -> None:
        """Put lines on the screen, where they stay; `more` of what was shown before."""

    def asking(self) -> AbstractContextManager[None]:
        """Wait until the keys are quiet; what is typed until then, or between two answers, is kept
        in the prompt and sent nowhere."""

    def answer(self, question: str, options: Sequence[str] = ()) -> str:
        """What the owner answers, at Enter; arrow keys may write an option. Raises EOFError."""


QUIET = 0.5
"""Seconds without a key after which a question may be put: nobody is in the middle of a word."""

Kind = Literal["block", "line", "more"]
"""A block has a blank line before it; a line only after a block; more has none."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Something to choose: its name, what it is called, and what else is known of it."""

    name: str
    title: str
    facts: str

    def holds(self, words: str) -> bool:
        """Whether all of these words are in what is shown of it."""
        shown = f"{self.title} {self.facts} {self.name}".casefold()
        return all(word in shown for word in words.casefold().split())


class During(Protocol):
    """What can be said into something that runs."""

    @property
    def waiting(self) -> Sequence[str]:
        """What is queued and has not joined yet."""

    def queue(self, text: str) -> None:
        """Have it join when there is a gap."""

    def hurry(self) -> None:
        """Have what is queued join now, whatever must stop for it; try again without a wait."""


class Moving(TypedDict, total=False):
    """What the moving part shows: the newest of a block that is not finished, as markdown; the end
    of what a model reasons or a command prints; how far something in the background is; the status,
    most important first. `folded` is all of what was shown in part, for a key that shows it."""

    growing: str
    thought: str
    progress: str
    status: Sequence[str]
    folded: str


class Screen(Dialogue, Protocol):
    """A terminal that the chat is shown on and typed into."""

    def put(self, text: str, kind: Kind = "block", growing: str | None = None) -> None:
        """Put a text up, where it stays; with it, what grows changes.

        Colours are SGR sequences; nothing else may steer.
        """

    def render(self, markdown: str) -> str:
        """Markdown as this terminal shows it."""

    def draw(self, **parts: Unpack[Moving]) -> None:
        """Change what the moving part shows."""

    def does(self, what: str, *, seconds: float = 0.0) -> None:
        """Say what runs and for how long, or count `seconds` down; empty for nothing."""

    def echo(self, text: str) -> None:
        """Let what the owner said stand above the answer."""

    def read(self) -> str:
        """What the owner says next. Raises EOFError when they leave."""

    def end(self, why: BaseException) -> None:
        """Have `read` raise this, from any thread."""

    def working(self, during: During | None) -> AbstractContextManager[None]:
        """Something runs; what is typed meanwhile is for it, or waits if it takes nothing."""

    def give_back(self, text: str) -> None:
        """Put a message that was refused into the prompt again."""

    def copy(self, text: str) -> bool:
        """Hand a text to the terminal's own clipboard; False if this one has none."""

    def pick(self, title: str, choices: Sequence[Choice]) -> Choice | None:
        """What the owner takes of a list; None for nothing."""

    def aside(self) -> AbstractContextManager[None]:
        """The terminal belongs to another program meanwhile."""
