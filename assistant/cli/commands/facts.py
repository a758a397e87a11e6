"""`remember`, `recall` and `forget`."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice
from typing import Annotated

import typer

from assistant.cli.options import (
    ALL,
    AsJson,
    ask,
    at_terminal,
    confirm,
    confirmed,
    given,
    lines,
    print_json,
    reads_lines,
    say,
)
from assistant.cli.shown import (
    one_line,
    passage_json,
    recall_json,
    show_recall,
    show_written,
    written_json,
)
from assistant.display import counted, spelled
from assistant.errors import LedgerError, UsageError
from assistant.memory.base import (
    FACTS,
    SESSIONS,
    Fact,
    Forgotten,
    Located,
    Passage,
    Query,
    Remembered,
    Secret,
)
from assistant.memory.protocol import Keeper, Memory


def the_very(memory: Keeper, target: str) -> Passage:
    """The one fact that has this id, stands at this `FILE:LINE`, or says just this.

    Raises LedgerError if there is none, or more than one; what is like it is named.
    """
    found = _found(memory, target)
    if found.exact and len(found.passages) == 1:
        return found.passages[0]
    many = f"{len(found.passages)} facts say {target!r}"
    said = many if found.exact else f"no fact says just {target!r}, but"
    like = "; ".join(map(_line, found.passages))
    raise LedgerError(f"{said}: {like}", "Name one by FILE:LINE, or choose it without --yes")


def choice(memory: Keeper, target: str) -> Passage | None:
    """The fact that the owner picks at the terminal from those the target may mean, or none.

    Raises LedgerError if there are none, and UsageError without a terminal.
    """
    found = _found(memory, target)
    passages = found.passages
    for number, passage in enumerate(passages, start=1):
        said = _line(passage) if len(passages) == 1 else f"{number}. {_line(passage)}"
        say(said)
    if at_terminal():
        return _picked(passages)
    if len(passages) == 1 and found.exact:
        raise UsageError("this needs a yes", "Run it again with --yes")
    raise UsageError(
        f"{counted(len(passages), 'fact')} may be meant",
        "Run it again with its FILE:LINE and --yes",
    )


def _found(memory: Keeper, target: str) -> Located:
    found = memory.locate(target)
    if not found.passages:
        raise LedgerError(f"memory holds nothing for {target!r}", "Try `assistant recall` first")
    return found


def _picked(found: Sequence[Passage]) -> Passage | None:
    if len(found) == 1:
        return found[0] if confirm("Forget this?") else None
    answer = ask("Forget which one? (Enter for none)", "")
    if answer.isdecimal() and 1 <= int(answer) <= len(found):
        return found[int(answer) - 1]
    return None


def _line(passage: Passage) -> str:
    return one_line(f"{passage.citation}  {passage.text}")


Learn = Callable[[str, str], None]
"""Told the name and the value of a secret that was registered."""


def give(memory: Memory, fact: Fact, learn: Learn = lambda name, value: None) -> Remembered | None:
    """Write a fact from a terminal; None if the owner leaves it for what it holds."""
    (written,) = memory.remember([replace(fact, secrets="ask")])
    if written.status != "secret":
        return written
    for secret in written.secrets:
        say(f"It holds {_described(fact.text, secret)}.")
    asked = "[s]tore it as it is, [k]eep it as a secret with a name, [l]eave it"
    answer = ask(asked, "l")[:1].lower()
    if answer == "s":
        (written,) = memory.remember([replace(fact, secrets="keep")])
        return written
    if answer == "k":
        return _keep(memory, fact, written.secrets, learn)
    say("Nothing was written.")
    return None


def give_named(memory: Memory, fact: Fact, names: Sequence[str]) -> Remembered:
    """Register the secrets in a fact under these names, and write it with their stand-ins.

    Raises UsageError if it holds more or fewer, or a name belongs to another secret.
    """
    from assistant.secrets.current import redactor  # 30 ms, for this option alone

    found = [
        Secret(each.start, each.end, each.kind, each.certain)
        for each in redactor().findings(fact.text)
    ]
    values = list(dict.fromkeys(fact.text[each.start : each.end] for each in found))
    if len(values) != len(names):
        raise UsageError(
            f"the fact holds {counted(len(values), 'secret')} that can be told, and "
            f"{counted(len(names), 'name')} came with it",
            "Register one with `assistant secrets add NAME`, and write [[secret:NAME]] for it",
        )
    named = dict(zip(values, names, strict=True))
    for value, name in named.items():
        _register(name, value)
    (written,) = memory.remember([replace(fact, text=_with_stand_ins(fact.text, found, named))])
    return written


def tell(written: Remembered) -> None:
    """Say where a fact stands, and what of it looks like a secret; or why it was not written."""
    described = ", ".join(_described(written.text, each) for each in written.secrets)
    if written.status == "secret":
        typer.echo(
            f"assistant: nothing was written: the fact holds {described}. Add --as-is to write it "
            "all the same, or --secret NAME to keep the value under a name and out of the file",
            err=True,
        )
        return
    show_written(written)
    if written.secrets:
        typer.echo(
            f"note: it holds {described}, which stands in the file as you gave it. "
            "--secret NAME keeps a value under a name and out of the file",
            err=True,
        )


def _keep(memory: Memory, fact: Fact, secrets: Sequence[Secret], learn: Learn) -> Remembered:
    """Register the secrets of a fact under names that the owner gives, and write the rest."""
    named: dict[str, str] = {}
    for secret in secrets:
        value = fact.text[secret.start : secret.end]
        if value not in named:
            name = ask("Its name", secret.kind if secret.certain else None)
            _register(name, value)
            learn(name, value)
            named[value] = name
    text = _with_stand_ins(fact.text, secrets, named)
    (written,) = memory.remember([replace(fact, text=text, secrets="tell")])
    return written


def _register(name: str, value: str) -> None:
    """Register a secret. Raises UsageError if the name has another value already."""
    from assistant.secrets import registered  # as above

    if name not in registered.names():
        where = registered.add(name, value)
        say(f"{name} is registered, its value kept in {where}")
    elif registered.value(name) != value:
        raise UsageError(f"{name} is the name of another secret", "Choose another name")


def _with_stand_ins(text: str, secrets: Sequence[Secret], named: dict[str, str]) -> str:
    for secret in sorted(secrets, key=lambda each: each.start, reverse=True):
        name = named[text[secret.start : secret.end]]
        text = f"{text[: secret.start]}[[secret:{name}]]{text[secret.end :]}"
    return text


def _described(text: str, secret: Secret) -> str:
    """A secret by its kind and its ends, for the owner to know it by."""
    value = text[secret.start : secret.end]
    hint = f"{value[:2]}…{value[-2:]}" if len(value) >= 8 else f"{value[:1]}…"
    if secret.certain:
        return spelled(f"the secret {secret.kind} ({hint})")
    return spelled(f"what looks like a secret ({secret.kind}, {hint})")


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
        if gone.left:
            typer.echo("It still stands, with what removes it, in:", err=True)
        for line in gone.left:
            typer.echo(f"  {line}", err=True)


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
Registered = Annotated[
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
    secret: Registered = None,
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
            for written in _written(memory, facts, secret or (), ask=_is_asked(as_json)):
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


def _written(
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
    """The facts on standard input, one a line; lines that say no current fact are left out."""
    left_out = 0

    from assistant.memory.text.fact_line import fact_of_line  # not for a warm recall

    def facts() -> Iterator[str]:
        nonlocal left_out
        for line in filter(None, lines()):
            if fact := fact_of_line(line):
                yield fact
            else:
                left_out += 1

    texts = facts()
    batch = list(islice(texts, 1))
    if not batch:
        raise UsageError("there is no fact on standard input", "Write one a line")
    while batch:
        yield batch
        batch = list(islice(texts, 1 if at_terminal() else AT_ONCE))
    if left_out:
        typer.echo(f"Left out {counted(left_out, 'line')}: struck out, or no fact.", err=True)


def _check_date(text: str | None) -> None:
    from datetime import date

    try:
        date.fromisoformat(text or "2000-01-01")
    except ValueError as error:
        raise UsageError(f"{text!r} is not a date", "Write it as 2026-05-08") from error
