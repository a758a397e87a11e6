"""What the screens of a chat have in common: `live.py` draws, `plain.py` only writes lines."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, TypedDict

if TYPE_CHECKING:
    from assistant.cli.chat.live import LiveScreen
    from assistant.cli.chat.plain import LineDialogue, PlainScreen

Screen: TypeAlias = "LiveScreen | PlainScreen"
"""A terminal that the chat is shown on and typed into."""
Dialogue: TypeAlias = "LiveScreen | LineDialogue"
"""A terminal on which the owner is asked."""
QUIET = 0.5
"""Seconds without a key before a question is asked, so as not to catch half a word."""

Kind = Literal["block", "line", "more"]
"""A blank line stands before a block, before a line only after a block, and never before more."""


@dataclass(frozen=True, slots=True)
class Choice:
    """An entry of a list: its name, its title, and facts beside it."""

    name: str
    title: str
    facts: str

    def matches(self, words: str) -> bool:
        """Whether the entry contains all of these words."""
        text = f"{self.title} {self.facts} {self.name}".casefold()
        return all(word in text for word in words.casefold().split())


class Parts(TypedDict, total=False):
    """The parts of the region below the scrollback.

    `growing` is the unfinished block as markdown; `thought` the reasoning or output so far; `doing`
    what runs, or starts at `until` (monotonic seconds); `progress` that of a background task;
    `status` facts, most important first; `folded` the full text that Ctrl-O shows.
    """

    growing: str
    thought: str
    doing: str
    until: float
    progress: str
    status: Sequence[str]
    folded: str
