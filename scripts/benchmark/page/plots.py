"""Line charts on two logarithmic axes, as SVG: few lines of code, no dependency."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 720, 380
LEFT, RIGHT, TOP, BOTTOM = 70, 160, 40, 50
LIGHT = ("#ffffff", "#24292f", "#d0d7de", ("#0969da", "#cf222e", "#1a7f37", "#8250df"))
DARK = ("#0d1117", "#e6edf3", "#30363d", ("#58a6ff", "#ff7b72", "#3fb950", "#d2a8ff"))


@dataclass(frozen=True, slots=True)
class Chart:
    """Points (x, y) by the name of their line, all above 0."""

    title: str
    x: str
    lines: Mapping[str, Sequence[tuple[float, float]]]


def svg(chart: Chart, *, dark: bool) -> str:
    """Return the chart as an SVG document."""
    paper, ink, grid, colours = DARK if dark else LIGHT
    points = [point for line in chart.lines.values() for point in line]
    across = _Axis([x for x, _ in points], LEFT, WIDTH - RIGHT)
    up = _Axis([y for _, y in points], HEIGHT - BOTTOM, TOP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'font-family="sans-serif" font-size="12" fill="{ink}">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="{paper}"/>',
        f'<text x="{LEFT}" y="22" font-size="14">{escape(chart.title)}</text>',
        f'<text x="{LEFT}" y="{HEIGHT - 12}">{escape(chart.x)}</text>',
    ]
    for tick in across.ticks:
        parts.append(_rule(across.at(tick), TOP, across.at(tick), HEIGHT - BOTTOM, grid))
        parts.append(_label(across.at(tick), HEIGHT - BOTTOM + 16, f"{tick:,.10g}", "middle"))
    for tick in up.ticks:
        parts.append(_rule(LEFT, up.at(tick), WIDTH - RIGHT, up.at(tick), grid))
        parts.append(_label(LEFT - 6, up.at(tick) + 4, f"{tick:,.10g}", "end"))
    for number, (name, line) in enumerate(chart.lines.items()):
        colour = colours[number % len(colours)]
        path = " ".join(f"{across.at(x):.1f},{up.at(y):.1f}" for x, y in line)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        row = TOP + 12 + 20 * number
        parts.append(_rule(WIDTH - RIGHT + 12, row, WIDTH - RIGHT + 32, row, colour))
        parts.append(_label(WIDTH - RIGHT + 38, row + 4, escape(name), "start"))
    return "\n".join([*parts, "</svg>"]) + "\n"


class _Axis:
    """A logarithmic scale over whole powers of ten that hold all values."""

    def __init__(self, values: Sequence[float], start: float, end: float) -> None:
        self._low = math.floor(math.log10(min(values)))
        high = max(math.ceil(math.log10(max(values))), self._low + 1)
        self._start = start
        self._step = (end - start) / (high - self._low)
        self.ticks = [10.0**power for power in range(self._low, high + 1)]

    def at(self, value: float) -> float:
        return self._start + (math.log10(value) - self._low) * self._step


def _rule(x1: float, y1: float, x2: float, y2: float, colour: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"/>'


def _label(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{text}</text>'
