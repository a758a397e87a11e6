"""`sessions …`: look at past conversations, name them, take them along, delete them."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from assistant.cli.help import commands
from assistant.cli.options import ALL, AsJson, confirmed, given, print_json
from assistant.display import spelled
from assistant.errors import UsageError
from assistant.memory.base import SESSIONS, Query

session_commands = commands("Look at past conversations.")

Session = Annotated[str, typer.Argument(metavar="ID", help="Its id, or a beginning or end.")]


def register(cli: typer.Typer) -> None:
    """Add the sessions' commands to the tree."""
    cli.add_typer(session_commands, name="sessions")


@session_commands.command("list")
def list_sessions(context: typer.Context, as_json: AsJson = False) -> None:
    """List sessions, newest first, with what they cost; those that were cut off say so."""
    from assistant.cli.past import show_sessions  # transcripts: behind `--help`
    from assistant.session import listing

    place = context.obj.place()
    if as_json:
        print_json([asdict(each) for each in listing.sessions(place.sessions)])
    else:
        show_sessions(place.sessions)


@session_commands.command()
def search(
    context: typer.Context,
    query: Annotated[
        list[str] | None,
        typer.Argument(metavar="[QUERY]...", help="What it was about; `-` reads it."),
    ] = None,
    k: Annotated[
        int, typer.Option("-k", metavar="N", min=1, help="At most so many passages.")
    ] = 10,
    as_json: AsJson = False,
) -> None:
    """Find what was said in past conversations, by words and by meaning."""
    from assistant.cli.shown import recall_json, show_recall

    wanted = Query(given(query, "query"), k, ALL, within=SESSIONS)
    with context.obj.memory() as memory:
        found = memory.recall(wanted)
    if as_json:
        print_json(recall_json(found, SESSIONS))
    else:
        show_recall(found, within=SESSIONS)


@session_commands.command()
def show(
    context: typer.Context,
    session: Session,
    thoughts: Annotated[
        bool, typer.Option("--thoughts", help="Also what the model thought before it spoke.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show what was said in a session; with --json its entries, one a line."""
    from assistant.cli.past import told
    from assistant.session import codec, transcript

    said = transcript.read(context.obj.place().sessions, session)
    if as_json:
        for entry in said:
            typer.echo(codec.encode(entry).decode(), nl=False)
        return
    for line in told(said, thoughts=thoughts):
        typer.echo(line)


@session_commands.command()
def rename(
    context: typer.Context,
    session: Session,
    title: Annotated[list[str], typer.Argument(metavar="TITLE...", help="Its new title.")],
) -> None:
    """Give a session a title of your own; without one it is the first sentence."""
    from assistant.session import keeping

    named = keeping.rename(context.obj.place().sessions, session, " ".join(title))
    typer.echo(f"{named} is now {spelled(' '.join(title))!r}.")


@session_commands.command()
def delete(
    context: typer.Context,
    session: Session,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Remove a session's file for good; facts that were taken from it stay in memory."""
    from assistant.session import ids, keeping

    place = context.obj.place()
    directory = place.sessions
    found = ids.find(directory, session)
    if not confirmed(f"Delete {found} for good?", yes=yes, cure="Run it again with --yes"):
        raise typer.Exit(1)
    keeping.delete(directory, found)
    if place.sessions_index.exists():
        with context.obj.memory() as memory:  # which leaves no word of it in what is searched
            memory.recall(Query(found, 1, within=SESSIONS))
    typer.echo(f"Deleted {found}.")


@session_commands.command()
def export(
    context: typer.Context,
    session: Session,
    to: Annotated[
        Path | None, typer.Option("--to", metavar="FILE", help="Write it there, if it is new.")
    ] = None,
) -> None:
    """Print a session as markdown, or write it to a file."""
    from assistant.disk import storage
    from assistant.session import transcript
    from assistant.session.listing import markdown

    text = markdown(transcript.read(context.obj.place().sessions, session))
    if to is None:
        typer.echo(spelled(text), nl=False)
        return
    if to.exists():
        raise UsageError(f"{to} is there already", "Name another file")
    storage.replace(to, text.encode())
    typer.echo(f"Written to {to}.", err=True)
