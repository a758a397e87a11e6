"""The colours can be read on a white ground and on a black one."""

import re

import pytest

from assistant.cli import palette

COLOURS = ("ACCENT", "FAINT", "GOOD", "BAD", "WARNING", "SECOND")
WHITE, BLACK = (255, 255, 255), (0, 0, 0)


def rgb(colour: int) -> tuple[int, int, int]:
    """Red, green and blue of one of xterm's 256 colours, from its cube or its greys."""
    if colour >= 232:
        return (8 + 10 * (colour - 232),) * 3
    levels = (0, 95, 135, 175, 215, 255)
    red, rest = divmod(colour - 16, 36)
    green, blue = divmod(rest, 6)
    return levels[red], levels[green], levels[blue]


def luminance(rgb: tuple[int, int, int]) -> float:
    """The relative luminance of WCAG 2."""
    parts = [value / 255 for value in rgb]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: tuple[int, int, int], other: tuple[int, int, int]) -> float:
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("name", COLOURS)
@pytest.mark.parametrize("ground", [WHITE, BLACK])
def test_each_colour_stands_out(name: str, ground: tuple[int, int, int]) -> None:
    assert contrast(rgb(getattr(palette, name)), ground) >= 4


def test_the_words_that_changed_in_a_line_are_bold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)

    def bold(*rows: str) -> list[str]:
        return re.findall(r"\x1b\[1m(.*?)\x1b", "".join(palette.diff_rows(rows)))

    rows = ["-due on 5 May", "+due on 9 June"]
    assert [palette.SGR.sub("", row) for row in palette.diff_rows(rows)] == rows
    assert bold(" same", "-due on 5 May", "+due on 9 May", " same") == ["5", "9"]
    assert bold("-Lena lives in Rome now", "-a b c d", "+Lena lives in Oslo now", "+a b c d e") == [
        "Rome", "Oslo", " e",
    ]  # fmt: skip
    assert bold("-all of this is gone", "+something quite new stands here") == []
    assert bold("-one line", "-two lines", "+one line") == []
    assert bold("-due on 5 May", "\\ No newline at end of file", "+due on 9 May") == ["5", "9"]
    assert bold(f"-{'a ' * 5_000}b", f"+{'a ' * 5_000}c") == []  # too long to compare
    assert bold("+one line") == [] and bold() == []
