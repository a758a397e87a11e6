"""`sessions`: past conversations."""

from functools import partial
from typing import Annotated

import typer

from assistant.app.undo import changed_by, latest_session, take_back, undoable
from assistant.cli.options import AsJson, Lines, Yes, answer, argument, session_ids
from assistant.cli.palette import echo
from assistant.cli.questions import must_confirm
from assistant.cli.session_text import session_lines, show_sessions, undo_lines
from assistant.display import spelled
from assistant.memory.base import SESSIONS, Query
from assistant.session import entries, keeping, listing, transcript

Session = Annotated[
    str, argument("ID", "Its ID, or the start or end of it.", autocompletion=session_ids)
]


def list_(context: typer.Context, as_json: AsJson = False) -> None:
    """List past conversations, last used first, with their cost."""
    sessions = listing.sessions(context.obj.workspace().sessions)
    answer(sessions)
    show_sessions(sessions)


def show(
    context: typer.Context,
    session: Session,
    thoughts: bool = False,
    as_markdown: bool = False,
    as_json: Lines = False,
) -> None:
    """Show a conversation; with --json its entries, one per line.

    Arguments:
      --thoughts: Include the model's thinking.
      --markdown: Print markdown.

    Examples:
      assistant sessions show k7q
      assistant sessions show k7q --markdown > talk.md
    """
    conversation = transcript.read(context.obj.workspace().sessions, session)
    if as_json:
        for entry in conversation:
            typer.echo(entries.encode(entry).decode(), nl=False)
    elif as_markdown:
        typer.echo(spelled(listing.markdown(conversation)), nl=False)
    else:
        for line in session_lines(conversation, thoughts=thoughts):
            typer.echo(line)


def rename(
    context: typer.Context,
    session: Session,
    title: list[str],
) -> None:
    """Rename a conversation.

    Arguments:
      TITLE...: Its new title.
    """
    session_id = keeping.rename(context.obj.workspace().sessions, session, " ".join(title))
    echo(f"{session_id} is now {' '.join(title)!r}.")


def delete(context: typer.Context, session: Session, yes: Yes = False) -> None:
    """Delete a conversation for good; facts learnt from it stay."""
    workspace = context.obj.workspace()
    session_id = transcript.find(workspace.sessions, session)
    must_confirm(f"Delete {session_id} for good?", yes=yes)
    keeping.delete(workspace.sessions, session_id)
    if workspace.sessions_index.exists():
        with context.obj.memory() as memory:  # deleting also removes it from the search index
            memory.recall(Query(session_id, 1, within=SESSIONS))
    echo(f"Deleted {session_id}.")


def undo(
    context: typer.Context,
    session: Annotated[str, partial(argument, autocompletion=session_ids)] = "",
    yes: Yes = False,
) -> None:
    """Undo what the latest turn of a chat or an event changed: files and facts.

    Arguments:
      [ID]: A session's ID, to undo its last turn.

    Examples:
      assistant undo
      assistant undo k7q
    """
    workspace = context.obj.workspace()
    if session:
        session = transcript.find(workspace.sessions, session)
    with context.obj.memory() as memory:
        session = session or latest_session(workspace, memory)
        entries = transcript.read_all(workspace.sessions, session) if session else ()
        turns = changed_by(workspace, memory, session, entries)
        changed = undoable(workspace, next(turns, None))
        lines = (
            f"“{changed.name}” changed",
            *(f"  {change}" for change in changed.listed(workspace)),
        )
        echo("\n".join(lines), err=True)
        must_confirm("Undo this?", yes=yes)
        echo("\n".join(undo_lines(changed.name, take_back(workspace, memory, changed))))
