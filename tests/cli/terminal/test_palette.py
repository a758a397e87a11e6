"""The colours can be read on a white ground and on a black one."""

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
