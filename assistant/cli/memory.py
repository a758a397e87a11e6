"""`remember`, `recall`, `forget` and `memory …`: long-term memory from the shell."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import islice
from typing import Annotated, Any

import typer

from assistant.cli.options import (
    AsJson,
    at_terminal,
    confirmed,
    given,
    lines,
    print_json,
    reads_lines,
)
from assistant.display import spelled
from assistant.errors import LedgerError, UsageError
from assistant.memory.base import Fact, Memory, Passage, Query, Recall, Remembered

memory_commands = typer.Typer(
    help="Look after memory itself.", rich_markup_mode=None, no_args_is_help=True
)


ALL = 1 << 31
"""More entries than any journal has."""
AT_ONCE = 100
"""Facts from a pipe that are written together."""


def register(cli: typer.Typer) -> None:
    """Add the memory commands to the tree."""
    cli.command()(remember)
    cli.command()(recall)
    cli.command()(forget)
    cli.add_typer(memory_commands, name="memory")


def remember(
    context: typer.Context,
    fact: Annotated[
        list[str] | None,
        typer.Argument(metavar="[FACT]...", help="The fact; `-` reads one a line."),
    ] = None,
    section: Annotated[
        str, typer.Option("--section", help="The dated heading's name.")
    ] = "Remembered",
    replaces: Annotated[
        str | None,
        typer.Option(
            "--replaces", metavar="ID|FILE:LINE", help="The fact that this one supersedes."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write a fact to MEMORY.md; it can be recalled at once."""
    several = reads_lines(fact)
    if several and replaces:
        raise UsageError("--replaces goes with one fact", "Give that fact as an argument")
    texts = _batches() if several else iter([[given(fact, "fact")]])
    with context.obj.memory() as memory:
        for batch in texts:
            for written in memory.remember([Fact(text, section, replaces) for text in batch]):
                if as_json:
                    print_json(_written(written))
                else:
                    show_written(written)


def recall(
    context: typer.Context,
    query: Annotated[
        list[str] | None,
        typer.Argument(metavar="[QUERY]...", help="The question; `-` reads one a line."),
    ] = None,
    k: Annotated[int | None, typer.Option("-k", min=1, help="At most so many passages.")] = None,
    budget: Annotated[
        int | None, typer.Option("--budget", min=1, help="At most so many tokens.")
    ] = None,
    as_of: Annotated[
        str | None,
        typer.Option("--as-of", metavar="DATE", help="Answer from what was recorded by then."),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Superseded facts too.")] = False,
    why: Annotated[
        bool, typer.Option("--why", help="Show what each passage owes its place to.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Find what memory holds on a question."""

    def ask(memory: Memory, text: str) -> Recall:
        return memory.recall(Query(text, k, budget, as_of, everything, why))

    _check_date(as_of)
    if reads_lines(query):
        with context.obj.memory() as memory:
            for line in lines():
                print_json(_recalled(ask(memory, line)))
        return
    text = given(query, "query")
    with context.obj.memory() as memory:
        found = ask(memory, text)
    if as_json:
        print_json(_recalled(found))
    else:
        show_recall(found, why=why)


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
        found = named(memory, given(target, "target"))
        cure = "Run it again with --yes once you have seen what it removes"
        if not confirmed("Forget this?", yes=yes, cure=cure):
            raise typer.Exit(1)
        if sessions:
            from assistant import app  # transcripts: not on the client's path

            app.purge_conversations(context.obj.place(), found, memory.log(limit=ALL))
        gone = memory.forget(found, purge=purge)
    if as_json:
        removed = [_passage(passage) for passage in gone.removed]
        print_json({"entry": gone.entry, "purged": gone.purged, "removed": removed})
    else:
        typer.echo(
            "Forgotten for good." if purge else "Forgotten. `assistant memory undo` restores it."
        )


@memory_commands.command()
def status(context: typer.Context, as_json: AsJson = False) -> None:
    """Show what is indexed, by which model, and who owns the index."""
    with context.obj.memory() as memory:
        state = memory.status()
    if as_json:
        print_json(asdict(state))
        return
    typer.echo(f"{state.chunks} chunks, {state.index_bytes / 1e6:.1f} MB, {state.embedder}")
    for source in state.sources:
        typer.echo(
            f"  {spelled(source.source)}  {source.chunks} chunks, indexed {source.indexed_at}"
        )
    typer.echo(f"{state.embedded_total} texts embedded since the index was made")
    if state.waiting_for_review:
        typer.echo(f"{state.waiting_for_review} facts wait for `assistant memory review`")
    if state.daemon:
        rss = state.daemon.rss_bytes / 1e6
        typer.echo(f"daemon: process {state.daemon.pid}, {rss:.0f} MB")
    for notice in state.notices:
        typer.echo(f"note: {spelled(notice)}")


@memory_commands.command()
def log(
    context: typer.Context,
    limit: Annotated[int, typer.Option("-n", min=1, help="How many of the latest writes.")] = 20,
    as_json: AsJson = False,
) -> None:
    """Show the latest writes to memory, newest first."""
    with context.obj.memory() as memory:
        entries = memory.log(limit)
    if as_json:
        print_json([asdict(entry) for entry in entries])
        return
    for entry in entries:
        undone = " (undone)" if entry.undone else ""
        kept = f"{entry.time[:16]}  {entry.action:<9} {entry.source}  {one_line(entry.text)}"
        typer.echo(spelled(f"{kept}  [{entry.origin.kind}]{undone}"))


@memory_commands.command()
def undo(context: typer.Context, as_json: AsJson = False) -> None:
    """Reverse the latest write to memory."""
    with context.obj.memory() as memory:
        entry = memory.undo()
    if as_json:
        print_json(asdict(entry))
    else:
        typer.echo(f"Undone: {entry.action} {entry.source}  {one_line(entry.text)}")


@memory_commands.command()
def rebuild(context: typer.Context, as_json: AsJson = False) -> None:
    """Make the derived index again; vectors that are cached are not embedded again."""
    with context.obj.memory() as memory:
        state = memory.rebuild()
    if as_json:
        print_json(asdict(state))
    else:
        typer.echo(f"Rebuilt: {state.chunks} chunks")


def _batches() -> Iterator[Sequence[str]]:
    """The facts on standard input, one a line, without the bullets of a list."""
    texts = map(_unlisted, filter(None, lines()))
    batch = list(islice(texts, 1))
    if not batch:
        raise UsageError("there is no fact on standard input", "Write one a line")
    while batch:
        yield batch
        batch = list(islice(texts, 1 if at_terminal() else AT_ONCE))


def _unlisted(line: str) -> str:
    mark, _, rest = line.partition(" ")
    return rest.strip() if mark in ("-", "*", "+", "•") and rest.strip() else line


def _check_date(text: str | None) -> None:
    from datetime import date

    try:
        date.fromisoformat(text or "2000-01-01")
    except ValueError as error:
        raise UsageError(f"{text!r} is not a date", "Write it as 2026-05-08") from error


def named(memory: Memory, target: str) -> tuple[Passage, ...]:
    """The one fact that the target names, shown. Raises LedgerError for none or several."""
    found = memory.locate(target)
    if not found:
        raise LedgerError(f"memory holds nothing for {target!r}", "Try `assistant recall` first")
    if len(found) > 1:
        places = ", ".join(passage.citation for passage in found[:5])
        raise LedgerError(f"{len(found)} facts match {target!r}: {places}", "Name one by FILE:LINE")
    typer.echo(one_line(f"{found[0].citation}  {found[0].text}"), err=True)
    return found


def show_written(written: Remembered) -> None:
    """Where a fact now stands, and what it may replace."""
    place = f"{written.source}:{written.line}"
    said = {
        "stored": "Remembered",
        "exists": "Already known",
        "superseded": "Remembered, and the old fact struck through",
        "waiting": "Waits for your review (`assistant memory review`)",
    }[written.status]
    typer.echo(f"{said}: {spelled(place)}" if written.source else said)
    if written.similar:
        typer.echo("Similar, in case this replaces one of them (--replaces FILE:LINE):")
        for passage in written.similar:
            typer.echo(f"  {one_line(f'{passage.citation}  {passage.text}')}")


def show_recall(found: Recall, *, why: bool = False) -> None:
    """The passages for a person, best first."""
    for passage in found.passages:
        _show_passage(passage, why=why)
    if not found.passages:
        reason = "nothing that is close enough" if found.abstained else "nothing on this"
        typer.echo(f"Memory holds {reason}.", err=True)
    if why and found.near_misses:
        typer.echo(typer.style("\nNear misses, below the cut:", dim=True))
        for passage in found.near_misses:
            _show_passage(passage, why=True)


def _show_passage(passage: Passage, *, why: bool) -> None:
    marks = [passage.date or "", " › ".join(passage.heading)]
    marks += ["superseded"] if passage.status == "superseded" else []
    head = spelled(" · ".join(mark for mark in marks if mark))
    place = spelled(passage.citation)
    typer.echo(typer.style(place, bold=True) + typer.style(f"  {head}", dim=True))
    for line in spelled(passage.text).strip().split("\n"):
        typer.echo(f"  {line}")
    if why:
        shares = "  ".join(f"{name} {share:+.2f}" for name, share in passage.signals.items())
        origin = f"from {passage.origin or 'the file'}"
        facts = f"score {passage.score:.2f} = {shares} · {passage.tokens} tokens · {origin}"
        typer.echo(typer.style(f"  {spelled(facts)}", dim=True))


def one_line(text: str, width: int = 100) -> str:
    """The text on one line, cut to a width; nothing in it steers the terminal."""
    line = spelled(" ".join(text.split()))
    return line if len(line) <= width else line[: width - 1] + "…"


def _recalled(found: Recall) -> dict[str, Any]:
    value: dict[str, Any] = {
        "query": found.query,
        "tokens": found.tokens,
        "passages": [_passage(passage) for passage in found.passages],
    }
    if found.abstained:
        value["abstained"] = True
    if found.near_misses:
        value["near_misses"] = [_passage(passage) for passage in found.near_misses]
    return value


def _passage(passage: Passage) -> dict[str, Any]:
    return {
        name: value
        for name, value in asdict(passage).items()
        if value is not None or name == "date"
    }


def _written(written: Remembered) -> dict[str, Any]:
    similar = [_passage(passage) for passage in written.similar]
    return {
        "status": written.status,
        "id": written.id,
        "source": written.source,
        "line": written.line,
        "similar": similar,
    }
