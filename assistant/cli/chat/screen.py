"""What the chat needs of a terminal: `live.py` draws one, `plain.py` only writes lines."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, TypedDict, Unpack

if TYPE_CHECKING:
    from assistant.conversation import Conversation

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

    def matches(self, words: str) -> bool:
        """Whether all of these words are in what is shown of it."""
        shown = f"{self.title} {self.facts} {self.name}".casefold()
        return all(word in shown for word in words.casefold().split())


class Dialogue(Protocol):
    """Where the owner is asked."""

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows."""

    def put(self, text: str, kind: Kind = "block") -> None:
        """Write a text above the prompt, where it stays. Only SGR sequences (colours) may be in
        it."""

    def asking(self) -> AbstractContextManager[None]:
        """Wait until the keys are quiet; what is typed until then, or between two answers, is kept
        in the prompt and sent nowhere."""

    def answer(self, question: str, options: Sequence[str] = ()) -> str:
        """What the owner answers, at Enter; arrow keys may write an option. Raises EOFError."""


class Moving(TypedDict, total=False):
    """What the moving part shows.

    `growing` is the block that is being written, as markdown; `thought` the end of what a model
    reasons or a command prints; `doing` what runs, or what comes at `until` (monotonic seconds);
    `progress` how far something in the background is; `status` facts, most important first;
    `folded` the whole of what was shown in part, for a key that shows it.
    """

    growing: str
    thought: str
    doing: str
    until: float
    progress: str
    status: Sequence[str]
    folded: str


class Screen(Dialogue, Protocol):
    """A terminal that the chat is shown on and typed into."""

    def render(self, markdown: str) -> str:
        """Markdown as this terminal shows it."""

    def draw(self, **parts: Unpack[Moving]) -> None:
        """Change what the moving part shows."""

    def read(self) -> str:
        """The next line of the owner's. Raises EOFError when they leave."""

    def end(self, why: BaseException) -> None:
        """Have `read` raise this, from any thread."""

    def working(self, talk: "Conversation | None") -> AbstractContextManager[None]:
        """Something runs; what is typed meanwhile joins the turn of `talk`, or waits."""

    def give_back(self, text: str) -> None:
        """Put a message that was not sent into the prompt again."""

    def pick(self, title: str, choices: Sequence[Choice]) -> Choice | None:
        """What the owner picks from a list; None for nothing."""

    def aside(self, action: Callable[[], object]) -> None:
        """Run what needs the terminal to itself."""
