"""`forget`: what is named or chosen goes from memory, and with --purge for good."""

from typing import Annotated

import typer

from assistant.cli.memory.choosing import choice, the_very
from assistant.cli.memory.shown import passage_json
from assistant.cli.options import AsJson, at_terminal, confirmed, given, print_json
from assistant.errors import LedgerError, UsageError
from assistant.memory.base import Forgotten
from assistant.memory.protocol import Keeper


def forget(
    context: typer.Context,
    target: Annotated[
        list[str], typer.Argument(metavar="ID|FILE:LINE|WORDS...", help="What to forget.")
    ],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    purge: Annotated[
        bool,
        typer.Option("--purge", help="Also from the journal and every copy; cannot be undone."),
    ] = False,
    sessions: Annotated[
        bool, typer.Option("--sessions", help="With --purge: from past conversations too.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Remove a fact from its file and all made of it."""
    if sessions and not purge:
        raise UsageError("--sessions goes with --purge", "Give both, or neither")
    with context.obj.memory() as memory:
        wanted = given(target, "target")
        if as_json and not yes and not at_terminal():
            candidates = map(passage_json, memory.locate(wanted).passages)
            print_json({"candidates": list(candidates)})
        if purge:
            gone = _purged(memory, wanted, yes=yes, sessions=sessions)
        else:
            chosen = the_very(memory, wanted) if yes else choice(memory, wanted)
            gone = memory.forget([chosen]) if chosen else None
    if gone is None:
        raise typer.Exit(1)
    if as_json:
        removed = [passage_json(passage) for passage in gone.removed]
        print_json({"entry": gone.entry, "purged": gone.purged, "removed": removed})
    else:
        typer.echo(
            "Forgotten for good." if purge else "Forgotten. `assistant memory undo` restores it."
        )


def _purged(memory: Keeper, wanted: str, *, yes: bool, sessions: bool) -> Forgotten | None:
    """What a purge did: of the one fact that is named or chosen, or of one that no file says."""
    found = memory.locate(wanted)
    if found.exact or (found.passages and not yes):
        chosen = the_very(memory, wanted) if yes else choice(memory, wanted)
        return memory.purge([chosen], sessions=sessions) if chosen else None
    question = "No file says this. Take it out of the journal and every copy?"
    if not confirmed(question, yes=yes, cure="Run it again with --yes"):
        return None
    gone = memory.purge((), past=[wanted], sessions=sessions)
    if not gone.cleared:
        the_very(memory, wanted)  # says what there is instead
        raise LedgerError(f"nothing holds {wanted!r}", "Give the fact in its own words")
    return gone
