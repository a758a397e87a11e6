"""`agenda` and `remind`: list what is due, and set reminders.

The first page of help shows both, so the date parser is imported when they run.
"""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import date, datetime
from functools import partial
from typing import Annotated, Any

import typer

from assistant.cli.options import AsJson, answer, at_terminal, note, option
from assistant.cli.palette import echo
from assistant.errors import UsageError
from assistant.memory.base import AGENDA_DAYS, Due
from assistant.workspace.folder import HEARTBEAT_FILE, Workspace


def agenda(
    context: typer.Context,
    days: Annotated[int, partial(option, min=0)] = AGENDA_DAYS,
    ics: bool = False,
    as_json: AsJson = False,
) -> None:
    """Show what is due: dates in memory, and reminders.

    Arguments:
      --days N: Days to look ahead.
      --ics: Print an iCalendar file.

    Examples:
      assistant agenda --days 7
      assistant agenda --ics > due.ics
    """
    from assistant.upkeep import agenda as upcoming

    if ics and as_json:
        raise UsageError("--ics and --json cannot be combined", "Give one of them")
    today = date.today()
    with context.obj.memory() as memory:
        dues = upcoming.coming(memory, context.obj.workspace(), today, days)
    if ics:
        typer.echo(upcoming.ics(dues).decode("utf-8"), nl=False)
    else:
        answer({"from": today.isoformat(), "days": days, "items": list(map(_item, dues))})
        show(dues, today, days)


def show(dues: Sequence[Due], today: date, days: int) -> None:
    """Print what is due, a line each."""
    from assistant.upkeep import agenda as upcoming

    if not dues:
        echo(f"Nothing is due within {days} days." if days else "Nothing is due today.")
    times = [f"{upcoming.when(due, today)} {due.time}".rstrip() for due in dues]
    width = max(map(len, times), default=0)
    for time, due in zip(times, dues, strict=True):
        echo(f"{time.ljust(width)}  {upcoming.fact(due)}", f" ({due.passage.citation})")


def _item(due: Due) -> dict[str, Any]:
    return {
        "date": due.start,
        "end": due.end,
        "time": due.time or None,
        "text": due.passage.plain,
        "recurs": due.rhythm or None,
        "rule": due.rule or None,
        "years": due.years or None,
        "citation": due.passage.citation,
        "source": due.passage.source,
        "line": due.passage.start_line,
        "id": due.passage.id,
    }


def remind(
    context: typer.Context,
    words: list[str],
    as_json: AsJson = False,
) -> None:
    """Set a reminder.

    Times: "in 20 minutes", "tomorrow at 9", "this Friday", "on the 30th at 10", "next week",
    "every Friday at 9", "every 3 days".
    It is a line of HEARTBEAT.md: change or delete it there.

    Arguments:
      WHEN WHAT...: A time, then what to tell you then.

    Examples:
      assistant remind tomorrow at 9 call the bank
      assistant remind every Friday at 18 put out the bins
    """
    wakes = set_reminder(context.obj.workspace(), " ".join(words))
    if not (wakes or as_json) and at_terminal():
        from assistant.cli.commands.heartbeat import offer_timer

        offer_timer(context)


def set_reminder(workspace: Workspace, words: str) -> bool:
    """Set a reminder and print how it was understood; return whether anything will deliver it."""
    from assistant.secrets.registered import redactor
    from assistant.upkeep import reminders

    reminder = reminders.remind(workspace, redactor().redact(words), datetime.now())
    answer({"source": HEARTBEAT_FILE, **asdict(reminder)})
    echo(reminder.confirmation)
    if reminder.note:
        note(reminder.note)
    return reminder.wakes
