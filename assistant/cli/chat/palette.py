"""The colours of the terminal: of xterm's 256, those as far from white as they are from black.

Each stands out from a white and from a black ground by at least 4:1 (WCAG 2's contrast ratio), so
no theme has to be chosen. What is neither accent nor warning has the terminal's own colour.
"""

import os
import re

import typer

from assistant.display import spelled

PROMPT = "› "
DUMB = ("", "dumb", "unknown")
"""What a terminal calls itself (TERM) that shows letters alone."""
SGR = re.compile(r"\x1b\[[\d;]*m")
"""What sets colours and weight."""
ACCENT = 31
"""The owner's words and what can be picked."""
FAINT = 243
"""What stands beside the conversation: recalled passages, tools, the status."""
GOOD, BAD = 28, 161
"""Added and removed, done and failed."""
WARNING = 130
SECOND = 97
"""A second accent, for code."""
LONGEST_MESSAGE = 20
"""Lines of a message that are shown again."""


def styled(text: str, colour: int | None = None, *, bold: bool = False) -> str:
    """The text in a colour, or in bold alone where NO_COLOR is set."""
    return typer.style(text, fg=None if "NO_COLOR" in os.environ else colour, bold=bold or None)


def owner_text(text: str) -> str:
    """A message of the owner, as it stands in the scrollback."""
    first, *rest = spelled(text).split("\n")
    if len(rest) > LONGEST_MESSAGE:
        kept = LONGEST_MESSAGE // 2
        rest = [*rest[:kept], f"… {len(rest) - kept} more lines"]
    rows = [PROMPT + first, *(" " * len(PROMPT) + row for row in rest)]
    return "\n".join(styled(row, ACCENT, bold=True) for row in rows)


def faint(text: str) -> str:
    """A line that stands back."""
    return styled(spelled(text), FAINT)
