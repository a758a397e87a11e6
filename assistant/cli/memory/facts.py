"""`remember` and `recall`: long-term memory from the shell."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice
from typing import Annotated

import typer

from assistant.cli.memory.forgetting import forget
from assistant.cli.memory.giving import give, give_named, tell
from assistant.cli.memory.shown import (
    recall_json,
    show_recall,
    written_json,
)
from assistant.cli.options import (
    ALL,
    AsJson,
    at_terminal,
    given,
    lines,
    print_json,
    reads_lines,
)
from assistant.display import counted
from assistant.errors import UsageError
from assistant.memory.base import FACTS, SESSIONS, Fact, Passage, Query, Remembered
from assistant.memory.protocol import Keeper

Words = Annotated[
    list[str] | None,
    typer.Argument(metavar="[FACT]...", help="The fact; `-` reads one a line."),
]
Section = Annotated[str, typer.Option("--section", help="The dated heading's name.")]
Replaces = Annotated[
    str | None,
    typer.Option("--replaces", metavar="ID|FILE:LINE", help="The fact that this one supersedes."),
]
AsIs = Annotated[bool, typer.Option("--as-is", help="Write it though it holds a secret.")]
Secret = Annotated[
    list[str] | None,
    typer.Option(
        "--secret",
        metavar="NAME",
        help="Register the secret in it under this name; write its stand-in.",
    ),
]
Question = Annotated[
    list[str] | None,
    typer.Argument(metavar="[QUERY]...", help="The question; `-` reads one a line."),
]
Most = Annotated[
    int | None,
    typer.Option(
        "-k", metavar="N", min=1, help="At most so many passages; else the setting memory.k."
    ),
]
Budget = Annotated[
    int | None,
    typer.Option(
        "--budget",
        metavar="TOKENS",
        min=1,
        help="At most so many tokens; else the setting memory.budget.",
    ),
]
AsOf = Annotated[
    str | None,
    typer.Option("--as-of", metavar="DATE", help="Answer from what was recorded by then."),
]
Everything = Annotated[bool, typer.Option("--all", help="Superseded facts too.")]
Why = Annotated[bool, typer.Option("--why", help="Show what each passage owes its place to.")]
Sessions = Annotated[
    bool, typer.Option("--sessions", help="What was said in past conversations instead.")
]
Within = Annotated[
    str, typer.Option("--in", metavar="NAME", help="Of the notes of this name only; or `memory`.")
]
AT_ONCE = 100
"""Facts from a pipe that are written together."""


def register(cli: typer.Typer) -> None:
    """Add the commands to the tree."""
    for command in (remember, recall, forget):
        cli.command()(command)


def remember(
    context: typer.Context,
    fact: Words = None,
    section: Section = "Remembered",
    replaces: Replaces = None,
    as_is: AsIs = False,
    secret: Secret = None,
    as_json: AsJson = False,
) -> None:
    """Write a fact to MEMORY.md; it can be recalled at once."""
    several = reads_lines(fact)
    if several and (replaces or secret):
        option = "--replaces" if replaces else "--secret"
        raise UsageError(f"{option} goes with one fact", "Give that fact as an argument")
    if as_is and secret:
        raise UsageError("--as-is and --secret are opposites", "Give one of them")
    texts = _batches() if several else iter([[given(fact, "fact")]])
    refused = False
    with context.obj.memory() as memory:
        for batch in texts:
            facts = [
                Fact(text, section, replaces, secrets="keep" if as_is else "tell") for text in batch
            ]
            for written in _given(memory, facts, secret or (), ask=_is_asked(as_json)):
                refused = refused or written is None or written.status == "secret"
                if as_json and written:
                    print_json(written_json(written))
                elif written:
                    tell(written)
    if refused:
        raise typer.Exit(1)


def recall(
    context: typer.Context,
    query: Question = None,
    k: Most = None,
    budget: Budget = None,
    as_of: AsOf = None,
    everything: Everything = False,
    why: Why = False,
    sessions: Sessions = False,
    within: Within = "",
    as_json: AsJson = False,
) -> None:
    """Find what memory holds on a question."""
    _check_date(as_of)
    if sessions and within:
        raise UsageError("--sessions and --in are two places to look", "Give one of them")
    shown = sys.stdout.isatty() and not as_json
    within = SESSIONS if sessions else within
    within = within.lower() if within.lower() in (FACTS, SESSIONS) else within
    wanted = Query("", k, budget, as_of, everything, why, verbatim=shown, within=within)
    if reads_lines(query):
        asked = lines()
        if (first := next(asked, None)) is None:
            raise UsageError("there is no query on standard input", "Write one a line")
        with context.obj.memory() as memory:
            for line in chain([first], asked):
                print_json(recall_json(memory.recall(replace(wanted, text=line)), within))
        return
    wanted = replace(wanted, text=given(query, "query"))
    with context.obj.memory() as memory:
        show_answer(memory, wanted, as_json=as_json)


def show_answer(memory: Keeper, wanted: Query, *, as_json: bool) -> None:
    """Show what is found; where the budget is too small for anything, say what it would take."""
    found = memory.recall(wanted)
    settled = found.passages or found.behind or wanted.within
    too_long = None if settled else _best(memory, wanted)
    if as_json:
        print_json(recall_json(found, wanted.within))
    elif too_long is None:
        show_recall(found, why=wanted.why, within=wanted.within)
    if too_long is not None:
        cost = counted(too_long.tokens, "token")
        typer.echo(f"The budget is too small: the best passage takes {cost} (--budget).", err=True)


def _given(
    memory: Keeper, facts: Sequence[Fact], names: Sequence[str], *, ask: bool
) -> Iterable[Remembered | None]:
    """What became of facts; at a terminal their owner is asked about secrets in them."""
    if names:
        return [give_named(memory, fact, names) for fact in facts]
    if ask and all(fact.secrets == "tell" for fact in facts):
        return (give(memory, fact) for fact in facts)
    return memory.remember(facts)


def _is_asked(as_json: bool) -> bool:
    return not as_json and sys.stdin is not None and sys.stdin.isatty()


def _best(memory: Keeper, query: Query) -> Passage | None:
    """What recall would find first if tokens were free."""
    found = memory.recall(replace(query, k=1, budget=ALL)).passages
    return found[0] if found else None


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
