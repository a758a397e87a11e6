"""The colours of the program, from xterm's 256.

Each has a contrast of at least 4:1 (WCAG 2) with both white and black, so no theme is needed.
Ordinary text has the terminal's default colour.
"""

import os
import re
from collections.abc import Callable, Iterator, Sequence
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
"""For the owner's messages, and for selectable choices."""
FAINT = 243
"""For secondary text: recalled passages, tools, the status."""
GOOD, BAD = 28, 161
"""For added and removed, done and failed."""
ALIKE = 0.5
"""Minimum share of common words for two rows of a diff to count as versions of one line."""
MOST_COMPARED = 10_000
"""Maximum total length, in characters, of two versions of a line that are compared by words."""
_WORDS = re.compile(r"\w+|\W")
WARNING = 130
SECOND = 97
"""A second accent, for code."""
LONGEST_MESSAGE = 20
"""Maximum number of lines of a message that are echoed in full."""


def echo(
    text: str = "",
    aside: str = "",
    *,
    colour: int | None = None,
    bold: bool = False,
    faint: bool = False,
    err: bool = False,
) -> None:
    """Print a line, with a faint `aside` at its end; no control characters reach the terminal."""
    line = styled(spelled(text), FAINT if faint else colour, bold=bold)
    typer.echo(line + styled(spelled(aside), FAINT), err=err)


def styled(text: str, colour: int | None = None, *, bold: bool = False) -> str:
    """Return the text in a colour, unless NO_COLOR is set, and in bold."""
    colour = None if "NO_COLOR" in os.environ else colour
    plain = not text or (colour is None and not bold)
    return text if plain else typer.style(text, fg=colour, bold=bold or None)


def diff_colour(row: str) -> int | None:
    """Return the colour of a row of a unified diff; None if it is the same on both sides."""
    if row.startswith(("+++ ", "--- ", "@@")):
        return FAINT
    return {"+": GOOD, "-": BAD}.get(row[:1])


def diff_rows(rows: Sequence[str]) -> list[str]:
    """Return the rows of a diff in their colours; in changed lines, the differing words are
    bold."""
    return [
        "".join(styled(piece, diff_colour(row) or FAINT, bold=bold) for piece, bold in pieces)
        for row, pieces in zip(rows, diff_pieces(rows, spelled), strict=True)
    ]


def diff_pieces(
    rows: Sequence[str], escape: Callable[[str], str]
) -> Iterator[list[tuple[str, bool]]]:
    """Yield each escaped row of a diff in pieces, each with whether it differs from the row's other
    version."""
    lines = [(number, row) for number, row in enumerate(rows) if row[:1] != "\\"]
    runs = [list(run) for _, run in groupby(lines, lambda line: diff_colour(line[1]))]
    versions: dict[int, str] = {}
    for old, new in pairwise(runs):
        colours = diff_colour(old[0][1]), diff_colour(new[0][1])
        if (*colours, len(old)) == (BAD, GOOD, len(new)):
            for (number, row), (version_number, version) in zip(old, new, strict=True):
                versions |= {number: version, version_number: row}
    for number, row in enumerate(rows):
        yield _pieces(escape(row), escape(versions.get(number, "")))


def _pieces(row: str, version: str) -> list[tuple[str, bool]]:
    """Return a row of a diff in pieces, each with whether another version of its line lacks it."""
    if not version or len(row) + len(version) > MOST_COMPARED:
        return [(row, False)]
    words, others = (_WORDS.findall(text[1:]) for text in (row, version))
    matcher = SequenceMatcher(None, words, others, autojunk=False)
    if matcher.ratio() < ALIKE:
        return [(row, False)]
    pieces = [
        ("".join(words[start:end]), operation != "equal")
        for operation, start, end, _, _ in matcher.get_opcodes()
    ]
    return [(row[:1], False), *pieces]


def owner_text(text: str) -> str:
    """Return a message of the owner as the scrollback shows it."""
    first, *rest = spelled(text).split("\n")
    if len(rest) > LONGEST_MESSAGE:
        kept = LONGEST_MESSAGE // 2
        rest = [*rest[:kept], f"… {len(rest) - kept} more lines"]
    rows = [PROMPT + first, *(" " * len(PROMPT) + row for row in rest)]
    return "\n".join(styled(row, ACCENT, bold=True) for row in rows)


def faint(text: str) -> str:
    """Return the text in a faint colour."""
    return styled(spelled(text), FAINT)
