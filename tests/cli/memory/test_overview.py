"""`memory map` and `memory diff`, by the command itself."""

import json
from datetime import date
from pathlib import Path

import pytest

from assistant.config import load
from assistant.errors import UsageError
from assistant.memory.base import Fact
from assistant.memory.open import open_memory
from assistant.memory.text.times.dates import day_of
from assistant.workspace.folder import Workspace
from tests.cli.conftest import Run


def changed(place: Path) -> None:
    """A memory that has learnt, changed and forgotten something today."""
    memory = open_memory(Workspace(place), load())
    tea, _ = memory.remember([Fact("Mia drinks tea"), Fact("The dog is called Rex")])
    memory.remember([Fact("Mia drinks coffee", replaces=tea.id)])
    memory.forget(memory.locate("The dog is called Rex").passages)
    memory.close()


@pytest.mark.slow
def test_a_memory_is_drawn_and_what_changed_is_told(place: Path, run: Run, tmp_path: Path) -> None:
    changed(place)
    assert run("ask", "who has the spare key?").returncode == 0
    told = run("memory", "log", "--since", "today")
    lines = [line.split("  ")[0] for line in told.stdout.splitlines()[1:]]
    assert lines == ["+ Mia drinks coffee", "~ Mia drinks tea", "", "- The dog is called Rex"]
    assert told.stderr == f"Since {date.today()}: 1 learnt, 1 changed, 1 forgotten.\n"
    assert json.loads(run("memory", "log", "--since", "2199-01-01", "--json").stdout) == []
    assert run("memory", "log", "--since", "soon").returncode == 2

    page = tmp_path / "page.html"
    drawn = run("memory", "map", "--to", str(page))
    assert drawn.returncode == 0 and str(page) in drawn.stdout
    assert "Mia drinks coffee" in page.read_text() and "/*DATA*/" not in page.read_text()
    data = json.loads(run("memory", "map", "--json").stdout)
    facts = {fact["t"]: fact for fact in data["facts"]}
    assert facts["The spare key is with Ada, next door"]["c"] == 1
    assert facts["Mia drinks tea"]["s"] == 1 and facts["Mia drinks tea"]["b"] == "Mia drinks coffee"
    assert [event["a"] for event in data["events"]][:2] == ["forget", "supersede"]

    assert run("memory", "map").returncode == 0
    assert run("forget", "Mia drinks coffee", "--yes", "--purge").returncode == 0
    assert "coffee" not in (place / ".assistant" / "map.html").read_text()


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("2026-11-01", "2026-11-01"),
        ("yesterday", "2026-11-20"),
        ("7d", "2026-11-14"),
        ("2 weeks ago", "2026-11-07"),
        ("Last Week", "2026-11-09"),
        ("friday", "2026-11-20"),
        ("samstag", "2026-11-21"),
        ("letzten Montag", "2026-11-16"),
        ("3 May", "2026-05-03"),
        ("24 December", "2025-12-24"),
        ("May 2025", "2025-05-01"),
    ],
)
def test_a_day_is_named_in_words(text: str, day: str) -> None:
    assert day_of(text, date(2026, 11, 21)).isoformat() == day


def test_what_was_recorded_by_a_week_or_a_month_includes_its_last_day() -> None:
    assert day_of("last week", date(2026, 11, 21), last=True) == date(2026, 11, 15)
    assert day_of("May 2025", date(2026, 11, 21), last=True) == date(2025, 5, 31)
    assert day_of("november", date(2026, 11, 21), last=True) == date(2026, 11, 30)
    assert day_of("december", date(2026, 11, 21), last=True) == date(2025, 12, 31)


def test_what_is_no_day_is_refused() -> None:
    for text in ("the day after", "9999999w", "2026-13-01", "friday and last week", ""):
        with pytest.raises(UsageError, match="Give a day such as"):
            day_of(text, date(2026, 11, 21))
