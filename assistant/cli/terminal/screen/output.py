"""What the terminal is sent: each change in one piece, and nothing left behind by a resize."""

import os
import sys

from prompt_toolkit.layout.screen import Screen as Drawn
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.utils import get_cwidth

FIXED = ("linux", "rxvt", "eterm", "vt")
"""Terminals that cut a line when they get narrower; all others wrap it anew."""


BEGIN_UPDATE, END_OF_UPDATE = "\x1b[?2026h", "\x1b[?2026l"
"""Have a terminal that knows them show all between them at once; others pass over them."""


class SteadyOutput(Vt100_Output):
    """Between `hold` and `release` nothing is sent: what is erased and what takes its place arrive
    together, so nothing flickers."""

    _held = False

    @property
    def responds_to_cpr(self) -> bool:
        """Never asked where its cursor is: the answer would come as keys that nobody pressed."""
        return False

    def hold(self) -> None:
        """Send nothing until `release`."""
        if not self._held:
            self.write_raw(BEGIN_UPDATE)
        self._held = True

    def release(self) -> None:
        """Send what was held back."""
        self._held = False
        self.write_raw(END_OF_UPDATE)
        self.flush()

    def flush(self) -> None:
        """Send what there is, unless it is held back."""
        if not self._held:
            super().flush()


def steady() -> SteadyOutput:
    """Standard output, sent in whole pieces."""
    output = SteadyOutput.from_pty(sys.stdout, term=os.environ.get("TERM"))
    assert isinstance(output, SteadyOutput)
    return output


def wraps_anew() -> bool:
    """Whether this terminal wraps its lines anew when its width changes."""
    term = os.environ.get("TERM", "")
    if "XTERM_VERSION" in os.environ or term.startswith(FIXED):
        return False
    return "TMUX" in os.environ or not term.startswith("screen")


def rows_above(drawn: Drawn, row: int, columns: int) -> int:
    """How many rows there are now above the cursor's, which was the `row`-th of what was drawn.

    Every row that was longer than the new width has become several.
    """
    widths = [_width(drawn, each) for each in range(row)]
    return sum(max(1, -(-width // columns)) for width in widths)


def _width(drawn: Drawn, row: int) -> int:
    cells = drawn.data_buffer[row]
    seen = {x: cell.char for x, cell in cells.items() if cell.char.strip()}
    return max((x + get_cwidth(char) for x, char in seen.items()), default=0)
