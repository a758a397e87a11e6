"""Results, and the page generated from them."""

import os
import platform
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from textwrap import fill

from scripts.benchmark import measure
from scripts.benchmark.measure import ROOT
from scripts.benchmark.page import plots

PAGE = ROOT / "docs" / "benchmarks.md"
WIDTH = 110
"""Maximum characters of a line of the page's prose."""


@dataclass(frozen=True, slots=True)
class Result:
    """A measured row. `value` must not exceed `most`, or with `at_least` not fall below it."""

    what: str
    measured: str
    baseline: str
    goal: str
    value: float
    most: float
    at_least: bool = False

    @property
    def missed(self) -> str:
        """By how much the goal was missed; empty if it was met."""
        if self.value >= self.most if self.at_least else self.value <= self.most:
            return ""
        share = self.most / self.value - 1 if self.at_least else self.value / self.most - 1
        return f"missed by {share:.0%}" if share >= 0.005 else "missed by less than 1%"


@dataclass(slots=True)
class Report:
    """The results of a run: the goals' rows, and tables and plots by title with explanations."""

    results: list[Result] = field(default_factory=list)
    sections: list[str] = field(default_factory=list)
    charts: dict[str, plots.Chart] = field(default_factory=dict)
    start: tuple[int, int] = field(default_factory=measure.processor_ticks)

    def add(self, *results: Result) -> None:
        """Add results, and print them."""
        for result in results:
            self.results.append(result)
            verdict = result.missed or "met"
            print(
                f"{result.what}: {result.measured} | {result.baseline} | {result.goal} | {verdict}",
                flush=True,
            )

    def section(self, title: str, words: str, *tables: str, chart: str = "") -> None:
        """Add a section to the page; `chart` names one of `charts`."""
        parts = [
            f"## {title}",
            fill(words, WIDTH),
            *tables,
            *([_picture(chart, title)] if chart else []),
        ]
        self.sections.append("\n\n".join(parts))
        print("\n" + "\n\n".join(parts[:-1] if chart else parts) + "\n", flush=True)

    def page(self) -> str:
        """Return the page in markdown."""
        head = (
            "`scripts/bench` measures these figures on your machine and writes this page; "
            "`scripts/bench --quick` runs a short version and writes nothing, and `scripts/bench "
            "--against COMMIT` compares another commit with this one. Each figure is next to its "
            "baseline, measured in the same run on the same machine: compare the two, because the "
            "seconds depend on the machine. The memory consists of synthetic facts from a seed, "
            "one list item each. Unless stated otherwise, a time is the median of several runs "
            "that alternate between both sides."
        )
        rows = [
            (result.what, result.measured, result.baseline, result.goal, result.missed or "met")
            for result in self.results
        ]
        goals = table(("what", "measured", "baseline", "goal", "verdict"), rows)
        machine = _machine(self._stolen())
        parts = ["# Benchmarks", fill(head, WIDTH), machine, "## Goals", goals]
        return "\n\n".join([*parts, *self.sections]) + "\n"

    def _stolen(self) -> float:
        """Return the share of the processors' time that other machines took in this run."""
        total, stolen = measure.processor_ticks()
        return (stolen - self.start[1]) / (total - self.start[0])

    def write(self) -> None:
        """Write the page and its plots."""
        PAGE.write_text(self.page(), encoding="utf-8")
        for name, chart in self.charts.items():
            for dark in (False, True):
                path = _plot(name, dark=dark)
                path.write_text(plots.svg(chart, dark=dark), encoding="utf-8")


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table in markdown."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def _plot(name: str, *, dark: bool) -> Path:
    return PAGE.with_name(f"benchmark-{name}-{'dark' if dark else 'light'}.svg")


def _picture(name: str, title: str) -> str:
    light, dark = _plot(name, dark=False).name, _plot(name, dark=True).name
    return (
        f'<picture><source media="(prefers-color-scheme: dark)" srcset="{dark}">'
        f'<img alt="{title}" src="{light}"></picture>'
    )


def _machine(stolen: float) -> str:
    cpu = next(
        (line.split(":")[1].strip() for line in _lines("/proc/cpuinfo") if "model name" in line),
        platform.machine(),
    )
    memory = int(next(line for line in _lines("/proc/meminfo") if "MemTotal" in line).split()[1])
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    rows = [
        ("date", date.today().isoformat()),
        ("commit", f"`{commit}`"),
        ("machine", f"{len(os.sched_getaffinity(0))} cores of {cpu}, {memory / 2**20:.0f} GiB"),
        ("system", f"{platform.system()} {platform.machine()}, Python {platform.python_version()}"),
        ("taken by other machines", f"{stolen:.0%} of the processors' time (steal)"),
    ]
    return table(("of", "this run"), rows)


def _lines(path: str) -> list[str]:
    return Path(path).read_text(encoding="utf-8").splitlines()
