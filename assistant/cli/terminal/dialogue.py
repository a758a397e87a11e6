"""Where the owner is asked something: lines are shown to them, and they answer with a line."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from assistant.cli.terminal.palette import BAD, FAINT, GOOD, styled

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

    def settle(self) -> None:
        """Wait until the keys are quiet; what has been typed is the message's."""

    def answer(self, question: str, options: Sequence[str] = ()) -> str:
        """What the owner answers, at Enter; arrow keys may write an option. Raises EOFError."""
