"""The colours of the program, from xterm's 256.

Each has a contrast of at least 4:1 (WCAG 2) with both white and black, so no theme is needed.
Ordinary text has the terminal's own colour.
"""

import os
import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import groupby, pairwise

import typer

from assistant.display import spelled

PROMPT = "› "
DUMB = ("", "dumb", "unknown")
"""Values of TERM for terminals without colours and cursor movement."""
SGR = re.compile(r"\x1b\[[\d;]*m")
"""A sequence that sets colour and weight."""
ACCENT = 31
"""The owner's messages, and what can be picked."""
FAINT = 243
"""What accompanies the conversation: recalled passages, tools, the status."""
GOOD, BAD = 28, 161
"""Added and removed, done and failed."""
ALIKE = 0.5
"""The share of common words from which two rows of a diff are versions of one line."""
_WORDS = re.compile(r"\w+|\W")
WARNING = 130
SECOND = 97
"""A second accent, for code."""
LONGEST_MESSAGE = 20
"""Lines up to which a message is echoed in full."""


def echo(
    text: str = "",
    aside: str = "",
    *,
    colour: int | None = None,
    bold: bool = False,
    faint: bool = False,
    err: bool = False,
) -> None:
    """Print a line, with a faint `aside` at its end; nothing in it can control the terminal."""
    line = styled(spelled(text), FAINT if faint else colour, bold=bold)
    typer.echo(line + styled(spelled(aside), FAINT), err=err)


def styled(text: str, colour: int | None = None, *, bold: bool = False) -> str:
    """The text in a colour, unless NO_COLOR is set, and in bold."""
    colour = None if "NO_COLOR" in os.environ else colour
    plain = not text or (colour is None and not bold)
    return text if plain else typer.style(text, fg=colour, bold=bold or None)


def diff_colour(row: str) -> int | None:
    """The colour of a row of a unified diff; None if it is the same on both sides."""
    if row.startswith(("+++ ", "--- ", "@@")):
        return FAINT
    return {"+": GOOD, "-": BAD}.get(row[:1])


def diff_rows(rows: Sequence[str]) -> list[str]:
    """The rows of a diff in their colours; in lines that were changed, the words that differ are
    bold."""
    runs = [(colour, list(run)) for colour, run in groupby(rows, diff_colour)]
    versions: dict[int, str] = {}
    start = 0
    for (colour, old), (next_colour, new) in pairwise([*runs, (None, [])]):
        if (colour, next_colour, len(old)) == (BAD, GOOD, len(new)):
            versions |= dict(enumerate([*new, *old], start))
        start += len(old)
    return [_diff_row(row, versions.get(number, "")) for number, row in enumerate(rows)]


def _diff_row(row: str, version: str) -> str:
    """A row of a diff; the words that another version of its line has not are bold."""
    colour = diff_colour(row) or FAINT
    words, others = (_WORDS.findall(spelled(text[1:])) for text in (row, version))
    matcher = SequenceMatcher(None, words, others, autojunk=False)
    if matcher.ratio() < ALIKE:
        return styled(spelled(row), colour)
    pieces = (
        styled("".join(words[start:end]), colour, bold=operation != "equal")
        for operation, start, end, _, _ in matcher.get_opcodes()
    )
    return styled(row[0], colour) + "".join(pieces)


def owner_text(text: str) -> str:
    """A message of the owner as the scrollback shows it."""
    first, *rest = spelled(text).split("\n")
    if len(rest) > LONGEST_MESSAGE:
        kept = LONGEST_MESSAGE // 2
        rest = [*rest[:kept], f"… {len(rest) - kept} more lines"]
    rows = [PROMPT + first, *(" " * len(PROMPT) + row for row in rest)]
    return "\n".join(styled(row, ACCENT, bold=True) for row in rows)


def faint(text: str) -> str:
    """The text in a faint colour."""
    return styled(spelled(text), FAINT)
