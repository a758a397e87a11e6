"""The interface between chat and terminal: `live.py` draws, `plain.py` only writes lines."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, TypedDict, Unpack

if TYPE_CHECKING:
    from assistant.conversation import Conversation

QUIET = 0.5
"""Seconds without a key press before a question is asked, so that no half-typed word answers it."""

Kind = Literal["block", "line", "more"]
"""A block follows a blank line; a line follows one only after a block; `more` never does."""


@dataclass(frozen=True, slots=True)
class Choice:
    """An entry of a list: its name, its title, and facts shown next to it."""

    name: str
    title: str
    facts: str

    def matches(self, words: str) -> bool:
        """Return whether the entry contains all of these words."""
        text = f"{self.title} {self.facts} {self.name}".casefold()
        return all(word in text for word in words.casefold().split())


class Dialogue(Protocol):
    """A terminal on which the owner answers questions."""

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows."""

    def put(self, text: str, kind: Kind = "block") -> None:
        """Write a text permanently above the prompt. It may contain only SGR sequences
        (colours)."""

    def view(self, text: str) -> bool:
        """Show a text in the owner's pager; False if there is none."""

    def asking(self) -> AbstractContextManager[None]:
        """Wait until no key has been pressed for a while; text typed before a question, or between
        two, stays in the prompt, unsent."""

    def answer(self, question: str, options: Sequence[str] = ()) -> str:
        """Return the owner's answer; arrow keys may choose an option. Raises EOFError."""


class Parts(TypedDict, total=False):
    """The parts of the region below the scrollback.

    `growing` is the unfinished block as markdown; `thought` the reasoning or output so far; `doing`
    the running step, or the one that starts at `until` (monotonic seconds); `progress` that of a
    background task; `status` facts, most important first; `folded` the full text that Ctrl-O shows.
    """

    growing: str
    thought: str
    doing: str
    until: float
    progress: str
    status: Sequence[str]
    folded: str


class Screen(Dialogue, Protocol):
    """A terminal that shows the chat and reads the owner's input."""

    def answer(self, question: str, options: Sequence[str] = (), *, draft: str = "") -> str:
        """Return the owner's answer, prefilled with `draft`. Raises EOFError."""

    def render(self, markdown: str) -> str:
        """Render markdown for this terminal."""

    def draw(self, **parts: Unpack[Parts]) -> None:
        """Update the region."""

    def read(self) -> str:
        """Return the owner's next line. Raises EOFError when they leave."""

    def end(self, error: BaseException) -> None:
        """Make `read` raise this error; callable from any thread."""

    def working(self, talk: "Conversation | None") -> AbstractContextManager[None]:
        """While something runs, let typed messages join the turn of `talk`; without one, queue
        them."""

    def give_back(self, text: str) -> None:
        """Put an unsent message back into the prompt."""

    def pick(self, title: str, choices: Sequence[Choice]) -> Choice | None:
        """Return the choice that the owner picks from a list; None if they close it."""

    def aside(self, action: Callable[[], object]) -> None:
        """Run an action that needs the terminal for itself."""
