"""What is due, through the real command: cited, in order, for other calendars, once a day."""

import json
from datetime import date, timedelta
from pathlib import Path

import pytest
from icalendar import Calendar

from tests.cli.conftest import Run

TODAY = date.today()


def test_the_agenda_is_cited_and_told_once_a_day(run: Run, place: Path) -> None:
    soon, later = TODAY + timedelta(days=3), TODAY + timedelta(days=200)
    (place / "MEMORY.md").write_text(
        "# Memory\n\n"
        f"## Remembered -- {TODAY.isoformat()}\n\n"
        "- The boiler is looked at today at 14:15\n"
        f"- ~~The flight lands on {soon.isoformat()} at 18:40~~ (superseded {TODAY}: it does not)\n"
        "- The flight lands in three days at 19:10\n"
        f"- Our son was born on {later.day} {later:%B} 2019\n"
        "- The passport expires 2031-03\n",
        encoding="utf-8",
    )
    shown = run("agenda").stdout
    assert shown.splitlines() == [
        f"{'today 14:15'.ljust(20)}  The boiler is looked at today at 14:15 (MEMORY.md:5)",
        f"{soon} {soon:%a} 19:10  The flight lands in three days at 19:10 (MEMORY.md:7)",
    ]
    items = json.loads(run("agenda", "--days", "3650", "--json").stdout)["items"]
    births = [each for each in items if each["recurs"]]
    assert births[0]["date"] == later.isoformat() and len(births) in (9, 10)
    assert births[0]["years"] == later.year - 2019 and births[0]["citation"] == "MEMORY.md:8"
    assert ("2031-03-01", "2031-03-31") in {(each["date"], each["end"]) for each in items}
    ics = run("agenda", "--days", "400", "--ics").stdout
    assert len(Calendar.from_ical(ics).events) == 3 and "RRULE:FREQ=YEARLY" in ics
    assert f"DTSTART:{soon:%Y%m%d}T191000" in ics
    note = "note: today: 14:15 The boiler is looked at today at 14:15 (MEMORY.md:5)\n"
    assert note in run("ask", "hello").stderr
    assert note not in run("ask", "hello").stderr
    assert run("agenda", "--days", "-1").returncode == 2


@pytest.mark.slow
def test_reminders_are_listed_beside_what_facts_say(run: Run, place: Path) -> None:
    soon = TODAY + timedelta(days=2)
    (place / "MEMORY.md").write_text(f"# Memory\n\n- The flight is on {soon} at 18:40\n")
    run("remind", f"on {soon} at 9 call the bank")
    run("remind", "every day at 7 take the tablets")
    run("remind", f"on {soon + timedelta(days=60)} at 9 renew the passport")
    shown = [line.split("  ", 1)[1].strip() for line in run("agenda").stdout.splitlines()]
    assert [text.split(" (")[0] for text in shown] == [
        "take the tablets · every day at 07:00",
        "call the bank",
        f"The flight is on {soon} at 18:40",
    ]
    assert "RRULE:FREQ=DAILY" in run("agenda", "--ics").stdout
