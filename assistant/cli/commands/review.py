"""`memory review`, `restore` and `tidy`."""

import sys
from collections.abc import Iterator, Sequence
from functools import partial
from secrets import token_hex
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assistant.cli.commands.memory import sentences
from assistant.cli.memory_text import one_line, passage_line, show_diff, show_written, written_json
from assistant.cli.options import AsJson, Globals, answer, note, option
from assistant.cli.palette import echo
from assistant.cli.questions import choose, edit
from assistant.display import counted, local_time
from assistant.errors import LedgerError, ModelError, UsageError
from assistant.memory.base import Fact, Held, Keeper, Pair, Passage
from assistant.workspace.folder import Workspace

if TYPE_CHECKING:
    from assistant.upkeep.tidy import Proposal


def review(
    context: typer.Context,
    accept: list[str] | None = None,
    refuse: list[str] | None = None,
    accept_all: bool = False,
    as_json: AsJson = False,
) -> None:
    """Accept or refuse facts that a tool or another program wrote.

    Arguments:
      --accept ID: Accept this one.
      --refuse ID: Refuse this one.
      --accept-all: Accept all.
    """
    workspace = context.obj.workspace()
    with context.obj.memory() as memory:
        waiting = memory.waiting()
        texts = {pending.id: pending.fact.text for pending in waiting}
        everything = list(texts) if accept_all else []
        accepted: list[dict[str, Any]] = []
        together = token_hex(6)
        for id in [*(accept or ()), *everything]:
            if written := memory.review(id, accept=True, together=together):
                accepted.append(written_json(written))
                show_written(written)
        for id in refuse or ():
            memory.review(id, accept=False, together=together)
            echo(f"Refused: {one_line(texts.get(id, id))}")
        if accept or refuse or accept_all:
            return answer({"accepted": accepted, "refused": list(refuse or ())})
        if as_json:
            return answer(waiting)
        if sys.stdin.isatty() or not waiting:
            return decide(memory, workspace, waiting)
        for pending in waiting:
            _show_pending(memory, workspace, pending)


def restore(
    context: typer.Context,
    ids: list[str] | None = None,
    everything: bool = False,
    dismiss: bool = False,
    as_json: AsJson = False,
) -> None:
    """List or restore facts that saving an older copy of a file erased, or brought back.

    Arguments:
      [ID]...: Restore these.
      --all: Restore all.
      --dismiss: Do not restore them, and do not offer them again.
    """
    if dismiss and not (ids or everything):
        raise UsageError("--dismiss needs the facts to drop", "Give their IDs, or --all")
    with context.obj.memory() as memory:
        erased, returned = memory.erased(), memory.returned()
        offered = [fact.id for fact in (*erased, *(returned if dismiss else ()))]
        chosen = list(dict.fromkeys(offered)) if everything else list(ids or ())
        written = memory.restore(chosen, dismiss=dismiss) if chosen else ()
    answer([written_json(fact) for fact in written] if chosen else [*erased, *returned])
    for fact in written:
        show_written(fact)
    if chosen:
        if dismiss:
            echo(f"{counted(len(chosen), 'fact')} will not be offered again.")
        return
    for entry in erased:
        echo(f"{entry.id}  {local_time(entry.time)}  {entry.source}  {one_line(entry.text)}")
    if erased:
        echo("Restore one by its ID, or --all of them; with --dismiss, drop them.")
    for back in returned:
        echo(f"{back.id}  back in {back.address}  {one_line(back.text)}")
        echo(f"`{back.cure}` forgets it again; --dismiss with its ID keeps it.")
    if not (erased or returned):
        echo("Nothing to restore.")


def tidy(
    context: typer.Context,
    limit: Annotated[int, partial(option, min=1)] = 200,
    with_model: bool = False,
    as_json: AsJson = False,
) -> None:
    """Propose merging duplicates and striking out outdated facts.

    Each proposal is a diff to accept or not; without a terminal they are only shown. With
    --with-model, the model first says for each unmarked fact when it matters, in a comment: a
    request for a restaurant then finds an allergy.

    Arguments:
      -n N: Maximum number of pairs to compare.
      --with-model: First ask the model when each fact matters.
    """
    workspace = context.obj.workspace()
    with context.obj.memory() as memory:
        if with_model:
            _mark_occasions(context.obj, memory)
        proposals = _proposals(workspace, memory.pairs(limit))
        if as_json:
            return answer(proposals)
        if not proposals:
            echo("Nothing to tidy.")
        _offer(memory, proposals)


# Review


def decide(memory: Keeper, workspace: Workspace, waiting: Sequence[Held]) -> None:
    """Ask the owner about each fact, in order."""
    if not waiting:
        echo("Nothing is waiting for review.")
    key = ""
    for pending in waiting:
        _show_pending(memory, workspace, pending)
        key = key if key == "a" else choose("review")
        if key == "q":
            return
        if key == "n":
            memory.review(pending.id, accept=False)
            echo("Dropped.\n")
        if key in ("y", "e", "a"):
            text = edit("Its text", pending.fact.text) if key == "e" else pending.fact.text
            if not text:
                echo("Left waiting.\n")
                continue
            new_text = None if text == pending.fact.text else text
            if written := memory.review(pending.id, accept=True, text=new_text):
                show_written(written)


def _show_pending(memory: Keeper, workspace: Workspace, pending: Held) -> None:
    """Show the origin of a pending fact, the fact it would replace, and last the fact itself."""
    echo(pending.id, f"  {local_time(pending.time)}", bold=True)
    origin = pending.fact.origin
    source = f"from {origin.kind}" + (f", session {origin.session}" if origin.session else "")
    source += f", recorded {pending.fact.recorded}" if pending.fact.recorded else ""
    for line in (source, *sentences(workspace, origin)):
        echo(f"  {line}", faint=True)
    if pending.fact.replaces:
        words = pending.fact.replaced_text
        replaced = _replaced(memory, pending.fact.replaces, words)
        gone = ": ".join(filter(None, ("a fact that is gone", one_line(words))))
        echo(f"  in place of {passage_line(replaced) if replaced else gone}")
    echo(f"  {pending.fact.text}")


def _replaced(memory: Keeper, id: str, words: str) -> Passage | None:
    """Return the current fact that a waiting one replaces, by its id, or else by its words."""
    located = [memory.locate(name) for name in (id, words) if name]
    found = (passage for each in located if each.exact for passage in each.passages)
    return next((passage for passage in found if passage.status == "current"), None)


# Tidy


def _mark_occasions(options: Globals, memory: Keeper) -> None:
    """Have the model add when old facts matter, and tell the owner in one line."""
    from datetime import date

    from assistant.secrets.registered import redactor
    from assistant.upkeep import mattering
    from assistant.upkeep.tidy import configured_model

    workspace = options.workspace()
    model = configured_model(workspace)
    if model is None:
        raise UsageError(
            "no model can be used", "Run `assistant config set model NAME`, and `assistant trust`"
        )
    facts = mattering.unmarked(workspace, redactor(), options.hidden(), date.today())
    done = mattering.mark(memory, model, facts)
    summary = f"{done.marked} of {counted(done.asked, 'fact')} now say when they matter"
    left = f"; {done.left:,} left for another run" if done.left else ""
    undo = " `assistant memory undo` reverses it." if done.marked else ""
    echo(f"{summary} ({counted(done.tokens, 'token')}){left}.{undo}", err=True)
    if done.failed:
        note(f"the model failed: {done.failed}")


def _proposals(workspace: Workspace, pairs: Sequence[Pair]) -> "tuple[Proposal, ...]":
    """Return the proposals of the configured model, otherwise those of the rules."""
    from assistant.upkeep.tidy import configured_judge, propose  # models: not for `--help`

    try:
        return propose(pairs, configured_judge(workspace))
    except ModelError as error:
        echo(f"The model did not answer ({error.message}). The rules propose:", err=True)
        return propose(pairs)


def _offer(memory: Keeper, proposals: "Sequence[Proposal]") -> None:
    """Show each proposal; at a terminal, apply those that the owner accepts."""
    key = ""
    for number, proposal in enumerate(proposals, start=1):
        echo(f"\n{number} of {len(proposals)}: {proposal.kind}", bold=True)
        show_diff(_diff(proposal))
        if not sys.stdin.isatty():
            continue
        key = key if key == "a" else choose("tidy")
        if key == "q":
            return
        if key in ("y", "a"):
            _apply(memory, proposal)
    if proposals and not sys.stdin.isatty():
        echo("Run this in a terminal to accept any of them.", err=True)


def _apply(memory: Keeper, proposal: "Proposal") -> None:
    """Apply a proposal, unless the facts have changed since it was made."""
    try:
        if proposal.kind == "merge":
            memory.forget([proposal.old])
        else:
            memory.remember([Fact(proposal.new.plain, replaces=proposal.old.id)])
    except LedgerError as error:
        echo(f"Not done: {error}", err=True)
    else:
        echo("Done. `assistant memory undo` reverses it.")


def _diff(proposal: "Proposal") -> Iterator[str]:
    old, new = proposal.old, proposal.new
    yield f"@@ {old.citation} {old.date or ''} · {proposal.why} @@".replace("  ", " ")
    yield from (f"-{line}" for line in old.shown.splitlines())
    if proposal.kind == "supersede":
        yield f"+- ~~…~~ (superseded: {one_line(proposal.new.plain)})"
    yield f" {one_line(new.shown)}  ({new.citation} {new.date or ''})".replace(" )", ")")
