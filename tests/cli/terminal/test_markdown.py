"""Rendered markdown and wrapped lines, in a window of a few columns."""

import re

import pytest

from assistant.cli.chat.markdown import rendered, wrapped
from assistant.cli.palette import SGR


@pytest.mark.parametrize(
    "cell", ["https://example.org/a/long/path?with=query", "東京都庁展望室の入場時間"]
)
def test_a_table_cuts_no_cell(cell: str) -> None:
    table = f"| a | b |\n|---|---|\n| x | {cell} |"
    assert cell in re.sub(r"\s", "", SGR.sub("", rendered(table, 20)))


@pytest.mark.parametrize(
    ("line", "rows"),
    [
        ("· Wrote a file of mine", ["· Wrote a", "  file of", "  mine"]),
        ("  -the old line", ["  -the old", "   line"]),
        ("words without a mark", ["words", "without a", "mark"]),
        ("› 日本語の文章です", ["› 日本語の", "  文章です"]),
    ],
)
def test_a_long_line_goes_on_below_its_beginning(line: str, rows: list[str]) -> None:
    assert SGR.sub("", wrapped(line, 11)).split("\n") == rows
