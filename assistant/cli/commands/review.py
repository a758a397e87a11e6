"""`memory review`, `restore` and `tidy`."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from assistant.cli.commands.memory import sentences
from assistant.cli.memory_text import one_line, passage_line, show_diff, show_written
from assistant.cli.options import AsJson, ask, print_json
from assistant.display import counted, local_time, spelled
from assistant.errors import LedgerError, ModelError
from assistant.memory.base import Fact, Held, JournalEntry, Pair
from assistant.memory.protocol import Keeper
from assistant.workspace.folder import Workspace

if TYPE_CHECKING:
    from assistant.upkeep.tidy import Proposal


ANSWERS = {
    form: word[0]
    for word in ("accept", "edit", "refuse", "later", "quit")
    for form in (word, word[0])
}
"""The words that decide on a fact that waits; anything else leaves it waiting."""


def review(
    context: typer.Context,
    accept: Annotated[
        list[str] | None, typer.Option("--accept", metavar="ID", help="Accept this one.")
    ] = None,
    refuse: Annotated[
        list[str] | None, typer.Option("--refuse", metavar="ID", help="Refuse this one.")
    ] = None,
    accept_all: Annotated[bool, typer.Option("--accept-all", help="Accept all.")] = False,
    as_json: AsJson = False,
) -> None:
    """Accept or refuse facts that a tool or another program wrote."""
    place = context.obj.place()
    with context.obj.memory() as memory:
        everything = [held.id for held in memory.waiting()] if accept_all else []
        for id in [*(accept or ()), *everything]:
            if written := memory.review(id, accept=True):
                show_written(written)
        for id in refuse or ():
            memory.review(id, accept=False)
        if accept or refuse or accept_all:
            return
        waiting = memory.waiting()
        if as_json:
            print_json([asdict(held) for held in waiting])
        elif not waiting:
            typer.echo("Nothing waits for review.")
        elif sys.stdin.isatty():
            decide(memory, place, waiting)
        else:
            for held in waiting:
                _show_held(memory, place, held)


def restore(
    context: typer.Context,
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="[ID]...", help="Restore these.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Restore all.")] = False,
    dismiss: Annotated[
        bool, typer.Option("--dismiss", help="Do not offer them again instead.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List or restore facts that saving an older copy of a file erased."""
    with context.obj.memory() as memory:
        erased = memory.erased()
        chosen = [entry.id for entry in erased] if everything else list(ids or ())
        written = memory.restore(chosen, dismiss=dismiss) if chosen else ()
    if as_json:
        print_json([asdict(entry) for entry in (written if chosen else erased)])
        return
    for fact in written:
        show_written(fact)
    if not chosen:
        _show_erased(erased)
    elif dismiss:
        typer.echo(f"{counted(len(chosen), 'fact')} will not be offered again.")


def tidy(
    context: typer.Context,
    limit: Annotated[
        int, typer.Option("-n", metavar="N", min=1, help="Maximum number of pairs to compare.")
    ] = 200,
    as_json: AsJson = False,
) -> None:
    """Propose merging duplicates and striking out outdated facts.

    Each proposal is a diff to accept or not; without a terminal they are only shown.
    """
    place = context.obj.place()
    with context.obj.memory() as memory:
        proposals = _proposals(place, memory.pairs(limit))
        if as_json:
            print_json([asdict(proposal) for proposal in proposals])
        elif not proposals:
            typer.echo("Nothing to tidy.")
        else:
            _offer(memory, proposals)


# Review


def decide(memory: Keeper, workspace: Workspace, waiting: Sequence[Held]) -> None:
    """Ask the owner about each, in order."""
    for held in waiting:
        _show_held(memory, workspace, held)
        asked = ask("[a]ccept, [e]dit, [r]efuse, [l]ater, [q]uit", "l")
        answer = ANSWERS.get(asked.casefold(), "l")
        if answer == "q":
            return
        if answer == "r":
            memory.review(held.id, accept=False)
            typer.echo("Dropped.\n")
        if answer in ("a", "e"):
            said = held.fact.text
            text = ask("In your words", said) if answer == "e" else said
            written = memory.review(held.id, accept=True, text=None if text == said else text)
            if written:
                show_written(written)


def _show_held(memory: Keeper, workspace: Workspace, held: Held) -> None:
    """A fact that waits, what it would replace, and what it was taken from."""
    typer.echo(
        typer.style(held.id, bold=True) + typer.style(f"  {local_time(held.time)}", dim=True)
    )
    typer.echo(f"  {spelled(held.fact.text)}")
    there = memory.locate(held.fact.replaces).passages if held.fact.replaces else ()
    for passage in there:
        typer.echo(f"  in place of {passage_line(passage)}")
    origin = held.fact.origin
    said = f"from {origin.kind}" + (f", session {origin.session}" if origin.session else "")
    said += f", written down {held.fact.recorded}" if held.fact.recorded else ""
    for line in (said, *sentences(workspace, origin)):
        typer.echo(typer.style(f"  {spelled(line)}", dim=True))


# Restore


def _show_erased(erased: Sequence[JournalEntry]) -> None:
    for entry in erased:
        typer.echo(
            spelled(f"{entry.id}  {local_time(entry.time)}  {entry.source}  {one_line(entry.text)}")
        )
    if erased:
        typer.echo("Restore one by its ID, or --all of them; with --dismiss, drop them.")
    else:
        typer.echo("Nothing to restore.")


# Tidy


def _proposals(workspace: Workspace, pairs: Sequence[Pair]) -> "tuple[Proposal, ...]":
    """What the model, if one is configured, or the rules propose."""
    from assistant.upkeep.tidy import (
        configured_judge,
        propose,
    )  # not on the client's path

    try:
        return propose(pairs, configured_judge(workspace))
    except ModelError as error:
        typer.echo(f"The model did not answer ({error.message}). By rules:", err=True)
        return propose(pairs)


def _offer(memory: Keeper, proposals: "Sequence[Proposal]") -> None:
    """Show each proposal; at a terminal, carry out those that the owner accepts."""
    for number, proposal in enumerate(proposals, start=1):
        typer.echo(typer.style(f"\n{number} of {len(proposals)}: {proposal.kind}", bold=True))
        show_diff(_diff(proposal))
        if not sys.stdin.isatty():
            continue
        answer = typer.prompt("[y]es, [n]o, [q]uit", default="n")[:1]
        if answer == "q":
            return
        if answer == "y":
            _apply(memory, proposal)
    if not sys.stdin.isatty():
        typer.echo("Run this in a terminal to accept any of them.", err=True)


def _apply(memory: Keeper, proposal: "Proposal") -> None:
    """Carry out what was shown, if the facts still say it; the next one may well be possible."""
    try:
        if proposal.kind == "merge":
            memory.forget([proposal.old])
        else:
            memory.remember([Fact(proposal.new.plain, replaces=proposal.old.id)])
    except LedgerError as error:
        typer.echo(f"Not done: {error}", err=True)
    else:
        typer.echo("Done. `assistant memory undo` reverses it.")


def _diff(proposal: "Proposal") -> Iterator[str]:
    old, new = proposal.old, proposal.new
    yield f"@@ {old.citation} {old.date or ''} · {proposal.why} @@".replace("  ", " ")
    yield from (f"-{line}" for line in old.shown.splitlines())
    if proposal.kind == "supersede":
        yield f"+- ~~…~~ (superseded: {one_line(proposal.new.plain)})"
    yield f" {one_line(new.shown)}  ({new.citation} {new.date or ''})".replace(" )", ")")
