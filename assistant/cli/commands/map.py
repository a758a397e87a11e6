"""`memory map`: memory as a page."""

import webbrowser
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from assistant.cli.commands.memory import memory_commands
from assistant.cli.options import AsJson, print_json
from assistant.disk import storage
from assistant.display import counted, spelled
from assistant.errors import UsageError


def register(_: typer.Typer) -> None:
    """Add it to the memory commands."""
    memory_commands.command("map")(draw)


def draw(
    context: typer.Context,
    to: Annotated[
        Path | None, typer.Option("--to", metavar="FILE", help="Write the page to this file.")
    ] = None,
    show: Annotated[bool, typer.Option("--open", help="Open it in your browser.")] = False,
    as_json: AsJson = False,
) -> None:
    """Draw memory as a page: topics, timeline, what is recalled."""
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
    if show and not webbrowser.open(target.as_uri()):
        raise UsageError("no browser could be opened", f"Open {target} in one")


def _gathered(context: typer.Context) -> dict[str, Any]:
    from assistant.secrets.current import redactor
    from assistant.session.listing import recalls
    from assistant.upkeep.map.gathering import gather

    place, now = context.obj.place(), datetime.now().astimezone()
    with context.obj.memory() as memory:
        return gather(memory, recalls(place.sessions), str(place.root), now, redactor().redact)
