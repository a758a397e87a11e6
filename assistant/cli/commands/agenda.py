"""`agenda` and `remind`: what is due."""

from dataclasses import asdict
from datetime import date, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assistant.cli.options import AsJson, note, print_json
from assistant.display import spelled
from assistant.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assistant.memory.base import Due


DAYS = 30


def agenda(
    context: typer.Context,
    days: Annotated[
        int, typer.Option("--days", metavar="N", min=0, help="Days to look ahead.")
    ] = DAYS,
    ics: Annotated[bool, typer.Option("--ics", help="Print an iCalendar file.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show what is due: dates in memory, and reminders.

    Examples:
      assistant agenda --days 7
      assistant agenda --ics > due.ics
    """
    if ics and as_json:
        raise UsageError("--ics and --json exclude each other", "Give one of them")
    from assistant.upkeep.agenda import coming  # it reads markdown: behind `--help`

    today = date.today()
    with context.obj.memory() as memory:
        found = coming(memory, context.obj.place(), today, days)
    if ics:
        from assistant.upkeep.agenda import ics as written

        typer.echo(written(found).decode("utf-8"), nl=False)
    elif as_json:
        print_json({"from": today.isoformat(), "days": days, "items": list(map(_item, found))})
    else:
        show(found, today, days)


def show(found: "Sequence[Due]", today: date, days: int) -> None:
    """What is due, a line each."""
    from assistant.upkeep.agenda import fact, when

    if not found:
        typer.echo(f"Nothing is due within {days} days." if days else "Nothing is due today.")
    shown = [f"{when(due, today)} {due.time}".rstrip() for due in found]
    width = max(map(len, shown), default=0)
    for day, due in zip(shown, found, strict=True):
        place = typer.style(f"({spelled(due.passage.citation)})", dim=True)
        typer.echo(f"{day.ljust(width)}  {spelled(fact(due))} {place}")


def _item(due: "Due") -> dict[str, Any]:
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
    words: Annotated[
        list[str],
        typer.Argument(metavar="WHEN WHAT...", help="A time, then what to tell you then."),
    ],
    as_json: AsJson = False,
) -> None:
    """Set a reminder.

    Times: "in 20 minutes", "tomorrow at 9", "next Monday at 10", "at 17:00", "every Friday at 9".
    It is a line of HEARTBEAT.md: change or delete it there.

    Examples:
      assistant remind tomorrow at 9 call the bank
      assistant remind every Friday at 18 put out the bins
    """
    from assistant.secrets.current import redactor
    from assistant.upkeep import reminders

    said = redactor().redact(" ".join(words))
    done = reminders.remind(context.obj.place(), said, datetime.now())
    if as_json:
        print_json(asdict(done))
        return
    typer.echo(spelled(done.said))
    if done.note:
        note(done.note)
