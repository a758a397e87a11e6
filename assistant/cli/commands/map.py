"""`memory map` and `memory diff`: memory as a whole, as a page and as what has changed."""

import itertools
import shutil
import subprocess
import tempfile
import webbrowser
from dataclasses import asdict
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assistant.cli.commands.memory import memory_commands
from assistant.cli.options import AsJson, print_json
from assistant.disk import storage
from assistant.display import counted, spelled
from assistant.errors import UsageError

if TYPE_CHECKING:
    from assistant.upkeep.changes import Change


BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
PICTURE = "1440,1100"
"""Pixels of the picture, across and down."""
PATIENCE = 120.0
MARKS = {"learnt": ("+", "green"), "changed": ("~", "yellow"), "forgotten": ("-", "red")}
MOST = 100_000


def register(_: typer.Typer) -> None:
    """Add these to the memory commands."""
    memory_commands.command("map")(draw)
    memory_commands.command()(diff)


def draw(
    context: typer.Context,
    to: Annotated[
        Path | None, typer.Option("--to", metavar="FILE", help="Write the page there.")
    ] = None,
    show: Annotated[bool, typer.Option("--open", help="Open it in your browser.")] = False,
    png: Annotated[bool, typer.Option("--png", help="Make a picture of it, too.")] = False,
    as_json: AsJson = False,
) -> None:
    """Draw memory as a page: its topics, its timeline, what is recalled, what is alike.

    The page is one file with all that it needs, for your eyes: it says what memory says.
    """
    from assistant.upkeep.map.page import page

    place = context.obj.place()
    drawn = _gathered(context)
    if as_json:
        print_json(drawn)
        return
    target = (to or place.private / "map.html").expanduser().resolve()
    if not target.parent.is_dir():
        raise UsageError(f"there is no folder {target.parent}", "Make it, or name another")
    storage.replace(target, page(drawn).encode("utf-8", "replace"))
    facts, topics = counted(len(drawn["facts"]), "fact"), counted(len(drawn["topics"]), "topic")
    typer.echo(f"{facts} in {topics}: {spelled(str(target))}")
    if png:
        typer.echo(f"A picture of it: {spelled(str(_picture(target)))}")
    if show and not webbrowser.open(target.as_uri()):
        raise UsageError("no browser could be opened", f"Open {target} in one")


def diff(
    context: typer.Context,
    since: Annotated[
        str, typer.Option("--since", metavar="DATE", help="From this day on: a date, or `7d`.")
    ] = "7d",
    as_json: AsJson = False,
) -> None:
    """Show what memory has learnt, changed and forgotten since a day, by the dates it has."""
    from assistant.upkeep import changes

    day = changes.day_of(since, date.today())
    with context.obj.memory() as memory:
        found = changes.since(memory.chart(), memory.log(MOST), day)
    if as_json:
        print_json([asdict(each) for each in found])
        return
    for day_, of_day in itertools.groupby(found, key=lambda each: each.day):
        typer.echo(typer.style(day_, bold=True))
        for each in of_day:
            _show(each)
    kinds = [each.kind for each in found]
    total = ", ".join(f"{kinds.count(kind)} {kind}" for kind in MARKS)  # type: ignore[arg-type]
    typer.echo(f"Since {day.isoformat()}: {total}.", err=True)


def _show(change: "Change") -> None:
    mark, colour = MARKS[change.kind]
    text = spelled(" ".join(change.text.split()))
    place = typer.style(f"  {spelled(change.place)}", dim=True)
    typer.echo(typer.style(f"{mark} {text}", fg=colour) + place)
    if change.now:
        typer.echo(f"  → {spelled(change.now)}")


def _gathered(context: typer.Context) -> dict[str, Any]:
    from assistant.secrets.current import redactor
    from assistant.session.listing import recalls
    from assistant.upkeep.map.gathering import gather

    place, now = context.obj.place(), datetime.now().astimezone()
    with context.obj.memory() as memory:
        return gather(memory, recalls(place.sessions), str(place.root), now, redactor().redact)


def _picture(page: Path) -> Path:
    """A picture of the page beside it. Raises UsageError without a browser that makes one."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        raise UsageError("no Chromium is installed to make a picture with", "Open the page instead")
    picture = page.with_suffix(".png")
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run"]
    command = [browser, *options, f"--window-size={PICTURE}", "--virtual-time-budget=3000"]
    try:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
            subprocess.run(
                [
                    *command,
                    f"--user-data-dir={profile}",
                    f"--screenshot={picture}",
                    page.as_uri(),
                ],
                check=True,
                capture_output=True,
                timeout=PATIENCE,
            )
    except (OSError, subprocess.SubprocessError) as error:
        raise UsageError(f"{browser} made no picture: {error}", "Open the page instead") from error
    return picture
