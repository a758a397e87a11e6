"""`remember`, `recall` and `forget`."""

import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import chain
from secrets import token_hex
from typing import Annotated

import typer

from assistant.cli.memory_text import (
    passage_json,
    passage_line,
    recall_json,
    show_recall,
    show_written,
    written_json,
)
from assistant.cli.options import (
    AsJson,
    Yes,
    answer,
    at_terminal,
    given,
    lines,
    note,
    option,
    reads_lines,
)
from assistant.cli.palette import echo
from assistant.cli.questions import ask, choose, confirm, in_chat, must_confirm, say
from assistant.display import counted, spelled
from assistant.errors import LedgerError, UsageError
from assistant.memory.base import (
    FACTS,
    SESSIONS,
    Fact,
    Forgotten,
    Keeper,
    Located,
    Memory,
    Passage,
    Query,
    Remembered,
    Secret,
)

ALL = 1 << 31
"""A token budget that any passage fits into."""
AT_ONCE = 100
"""Number of facts from a pipe that are written in one batch."""


# Remember


def remember(
    context: typer.Context,
    fact: list[str] | None = None,
    section: str = "Remembered",
    of_project: bool = False,
    replaces: str | None = None,
    as_is: bool = False,
    secret: list[str] | None = None,
    as_json: AsJson = False,
) -> None:
    """Write a fact to MEMORY.md.

    Arguments:
      [FACT]...: The fact; `-` reads one per line.
      --section NAME: Heading to write it under.
      --project: Keep it for coding agents in this git repository.
      --replaces ID|FILE:LINE: The fact that it supersedes.
      --as-is: Write it even if it contains a secret.
      --secret NAME: Register its secret as NAME; keep it out of the file.

    Examples:
      assistant remember The spare key is with Ada
      assistant remember Lives in Lisbon --replaces MEMORY.md:12
      grep '^- ' notes.md | assistant remember -
    """
    several = reads_lines(fact)
    if several and (replaces or secret):
        name = "--replaces" if replaces else "--secret"
        raise UsageError(f"{name} only works with one fact", "Give that fact as an argument")
    if as_is and secret:
        raise UsageError("--as-is and --secret cannot be combined", "Give one of them")
    if of_project:
        from assistant.workspace import project  # only needed with --project

        section = project.section()
    form = Fact(
        "",
        section,
        replaces,
        together=token_hex(6) if several else "",
        secrets="keep" if as_is else "tell",
        under=section,
    )
    facts = [replace(form, text=text) for text in (_facts() if several else [given(fact, "fact")])]
    asks = not (as_json or as_is or secret) and at_terminal()
    outcomes = []
    with context.obj.memory() as memory:
        try:
            for written in _written(memory, facts, secret or (), asks=asks):
                outcomes.append(written.status if written else "refused")
                if written:
                    answer(written_json(written))
                    _show(written)
        except KeyboardInterrupt:
            if several:
                _show_stopped(outcomes, len(facts))
            raise
    if {"refused", "secret"}.intersection(outcomes):
        raise typer.Exit(1)


def _written(
    memory: Memory, facts: Sequence[Fact], names: Sequence[str], *, asks: bool
) -> Iterator[Remembered | None]:
    """Write the facts; yield None for one that the owner, if it `asks`, does not want written.

    With `names` for its secrets, there is only one fact.
    """
    if names:
        yield _write_with_names(memory, facts[0], names)
    elif asks:
        yield from (give(memory, fact) for fact in facts)
    else:
        for start in range(0, len(facts), AT_ONCE):
            with _uninterrupted():  # or memory would write facts that are not shown
                yield from memory.remember(facts[start : start + AT_ONCE])


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Hold back a Ctrl-C until the block ends; a second one interrupts it at once."""
    before, held = signal.getsignal(signal.SIGINT), list[int]()

    def hold(number: int, _: object) -> None:
        held.append(number)
        signal.signal(signal.SIGINT, before)
        echo("Stopping once these facts are written; Ctrl-C again does not wait.", err=True)

    if before is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, hold)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if held:
        raise KeyboardInterrupt


def _show_stopped(outcomes: Sequence[str], total: int) -> None:
    """Print how many of the facts an interrupted command has written, and how to undo that."""
    written = sum(outcome in ("stored", "superseded") for outcome in outcomes)
    undo = " `assistant memory undo` takes them all back." if written else ""
    echo(f"Stopped: {written:,} of {counted(total, 'fact')} were written.{undo}", err=True)


def _facts() -> list[str]:
    """Return the facts on standard input, one per line, skipping lines that are not current
    facts."""
    from assistant.memory.text.identity import fact_of_line  # not needed for recall

    facts = [fact_of_line(line) for line in filter(None, lines())]
    if not any(facts):
        raise UsageError("there is no fact on standard input", "Write one per line")
    if skipped := facts.count(None):
        line = counted(skipped, "line")
        echo(f"Skipped {line}: struck out, or not a fact.", err=True)
    return [fact for fact in facts if fact]


def _show(written: Remembered) -> None:
    """Print where a fact was written and the secrets in it, or why it was not written."""
    described = ", ".join(_described(written.text, secret) for secret in written.secrets)
    if written.status == "secret":
        echo(
            f"assistant: nothing was written: the fact contains {described}. "
            "--secret NAME keeps the value out of the file, --as-is writes it",
            err=True,
        )
        return
    show_written(written)
    if written.secrets:
        note(
            f"it contains {described}, which is in the file now. "
            "--secret NAME would have kept it out"
        )


# Secrets in a fact

Learn = Callable[[str, str], None]
"""Called with the name and the value of a registered secret."""


def give(memory: Memory, fact: Fact, learn: Learn = lambda name, value: None) -> Remembered | None:
    """Write a fact, asking what to do with secrets in it; return None if the owner writes
    nothing."""
    (written,) = memory.remember([replace(fact, secrets="ask")])
    if written.status != "secret":
        return written
    for secret in written.secrets:
        say(f"It contains {_described(fact.text, secret)}.")
    match choose("secret"):
        case "y":
            (written,) = memory.remember([replace(fact, secrets="keep")])
            return written
        case "e":
            names: dict[str, str] = {}
            for secret in written.secrets:
                value = fact.text[secret.start : secret.end]
                if value not in names:
                    names[value] = ask("Name it", secret.kind if secret.certain else None)
            return _register_and_write(memory, fact, names, learn)
    say("Nothing was written.")
    return None


def _write_with_names(memory: Memory, fact: Fact, names: Sequence[str]) -> Remembered:
    """Write a fact with its secrets registered under these names.

    Raises UsageError unless it contains exactly as many secrets.
    """
    from assistant.secrets.registered import redactor  # takes 30 ms

    secrets = redactor().findings(fact.text)
    values = list(dict.fromkeys(fact.text[secret.start : secret.end] for secret in secrets))
    if len(values) != len(names):
        raise UsageError(
            f"{counted(len(values), 'secret')} found in the fact, {counted(len(names), 'name')} "
            "given",
            "Register it with `assistant secrets add NAME`, and write [[secret:NAME]] in its place",
        )
    return _register_and_write(memory, fact, dict(zip(values, names, strict=True)))


def _register_and_write(
    memory: Memory, fact: Fact, names: Mapping[str, str], learn: Learn = lambda name, value: None
) -> Remembered:
    """Register values under names, and write the fact with placeholders for them.

    Raises UsageError if a name already has another value.
    """
    from assistant.secrets import registered  # also slow to import

    text = fact.text
    for value, name in names.items():
        if name not in registered.names():
            store = registered.add(name, value)
            say(f"{name} is registered; its value is in {store}")
        elif registered.value(name) != value:
            raise UsageError(f"{name} is the name of another secret", "Choose another name")
        learn(name, value)
        text = text.replace(value, f"[[secret:{name}]]")
    (written,) = memory.remember([replace(fact, text=text, secrets="tell")])
    return written


def _described(text: str, secret: Secret) -> str:
    """Describe a secret by its kind and its first and last characters."""
    value = text[secret.start : secret.end]
    hint = f"{value[:2]}…{value[-2:]}" if len(value) >= 8 else f"{value[:1]}…"
    if secret.certain:
        return f"the secret {secret.kind} ({hint})"
    return f"what looks like a secret ({secret.kind}, {hint})"


# Recall


def recall(
    context: typer.Context,
    query: list[str] | None = None,
    k: Annotated[int | None, partial(option, min=1)] = None,
    budget: Annotated[int | None, partial(option, min=1)] = None,
    as_of: str | None = None,
    everything: bool = False,
    why: bool = False,
    sessions: bool = False,
    within: str = "",
    as_json: AsJson = False,
) -> None:
    """Search memory.

    Arguments:
      [QUERY]...: The question; `-` reads one per line.
      -k N: Maximum number of passages.
      --budget N: Maximum number of tokens.
      --as-of DATE: Answer from what was recorded by then, such as `last week`.
      --all: Include superseded facts.
      --why: Show why each passage matches.
      --sessions: Search past conversations instead.
      --in NAME: Search only these notes, or only `memory`.

    Examples:
      assistant recall who has the spare key
      assistant recall where do I live --as-of 2025-06-01 --all
      assistant recall door code -k 1 --why
    """
    if as_of is not None:
        from datetime import date  # both only needed with --as-of

        from assistant.memory.text.times.dates import day_of

        as_of = day_of(as_of, date.today(), last=True).isoformat()
    if sessions and within:
        raise UsageError("--sessions and --in cannot be combined", "Give one of them")
    verbatim = sys.stdout.isatty()
    within = SESSIONS if sessions else within
    within = within.lower() if within.lower() in (FACTS, SESSIONS) else within
    template = Query("", k, budget, as_of, everything, why, verbatim=verbatim, within=within)
    several = reads_lines(query)
    queries = lines() if several else iter([given(query, "query")])
    if (first := next(queries, None)) is None:
        raise UsageError("there is no query on standard input", "Write one per line")
    with context.obj.memory() as memory:
        for text in chain([first], queries):
            if several and not as_json:
                echo(text, bold=True)
            show_answer(memory, replace(template, text=text), as_json=as_json)


def show_answer(memory: Keeper, query: Query, *, as_json: bool) -> None:
    """Print the passages; if the budget is too small for any, print the tokens that the best one
    takes."""
    recall = memory.recall(query)
    is_final = recall.passages or recall.behind or query.within
    best = () if is_final else memory.recall(replace(query, k=1, budget=ALL)).passages
    if as_json:
        answer(recall_json(recall, query.within))
    elif not best:
        whole = query.why or query.k is not None or query.budget is not None
        show_recall(recall, why=query.why, within=query.within, whole=whole)
    for passage in best:
        cost = counted(passage.tokens, "token")
        echo(f"The budget is too small: the best passage takes {cost} (--budget).", err=True)


# Forget


def forget(
    context: typer.Context,
    target: list[str],
    yes: Yes = False,
    purge: bool = False,
    sessions: bool = False,
    as_json: AsJson = False,
) -> None:
    """Remove a fact from memory.

    Arguments:
      ID|FILE:LINE|WORDS...: The fact: its position, or some of its words.
      --purge: Also remove it from the journal and all copies, for good.
      --sessions: With --purge: from past conversations too.

    Examples:
      assistant forget the door code
      assistant forget MEMORY.md:12 --yes
      assistant forget MEMORY.md:12 --purge --sessions
    """
    if sessions and not purge:
        raise UsageError("--sessions only works with --purge", "Add --purge, or drop --sessions")
    with context.obj.memory() as memory:
        words = given(target, "fact")
        try:
            if purge:
                forgotten = _purge(memory, words, yes=yes, sessions=sessions)
            else:
                fact = choice(memory, words, yes=yes)
                forgotten = memory.forget([fact]) if fact else None
        except (LedgerError, UsageError):
            if as_json:
                candidates = map(passage_json, memory.locate(words).passages)
                answer({"candidates": list(candidates)})
            raise
    if forgotten is None:
        raise typer.Exit(1)
    removed = [passage_json(passage) for passage in forgotten.removed]
    answer({"entry": forgotten.entry, "purged": forgotten.purged, "removed": removed})
    echo("Forgotten for good." if purge else "Forgotten. `assistant memory undo` restores it.")
    if forgotten.left:
        echo("It is still in these places; each line says how to remove it:", err=True)
    for line in forgotten.left:
        echo(f"  {line}", err=True)


def _purge(memory: Keeper, words: str, *, yes: bool, sessions: bool) -> Forgotten | None:
    """Purge the fact that is named or chosen, or one that no file contains any more."""
    located = memory.locate(words)
    if located.exact or (located.passages and not yes):
        fact = choice(memory, words, yes=yes, purge=True)
        return memory.purge([fact], sessions=sessions) if fact else None
    must_confirm("No file contains this. Remove it from the journal and all copies?", yes=yes)
    forgotten = memory.purge((), past=[words], sessions=sessions)
    if not forgotten.cleared:
        locate(memory, words).one(words)  # raises with the closest matches
    return forgotten


def choice(
    memory: Keeper, target: str, *, yes: bool = False, purge: bool = False
) -> Passage | None:
    """Return the fact that the owner picks from the candidates at a terminal, or None.

    With `yes`, return the one with this ID, `FILE:LINE` or text. The fact is shown in full, since
    more may be nested in it than the owner expects. Raises LedgerError without candidates,
    UsageError without a terminal.
    """
    located = locate(memory, target)
    passages = located.passages
    if yes:
        _show_all(located.one(target))
        return passages[0]
    if not located.exact:
        say(f"No fact says exactly {target!r}. Closest matches:")
    if not (at_terminal() or in_chat()):
        for passage in passages:
            say(passage_line(passage))
        if len(passages) == 1 and located.exact:
            raise UsageError("this needs your confirmation", "Run it again with --yes")
        raise UsageError(
            "it is not clear which fact is meant", "Run it again with its FILE:LINE and --yes"
        )
    chosen = passages[0] if len(passages) == 1 else pick(passages, "Forget which one?")
    if chosen:
        _show_all(chosen)
    question = "Remove it for good? No undo brings it back." if purge else "Forget it?"
    asks = purge or len(passages) == 1  # an undo takes back a wrong pick
    if chosen is None or (asks and not confirm(question)):
        say("Nothing was forgotten.")
        return None
    return chosen


def _show_all(passage: Passage) -> None:
    say(passage.citation)
    for line in spelled(passage.readable).strip().split("\n"):
        say(f"  {line}")


def pick(passages: Sequence[Passage], question: str) -> Passage | None:
    """Return the passage that the owner picks from a numbered list, or None."""
    for number, passage in enumerate(passages, start=1):
        say(f"{number}. {passage_line(passage)}")
    answer = ask(f"{question} (Enter for none)", "")
    return passages[int(answer) - 1] if answer in map(str, range(1, len(passages) + 1)) else None


def locate(memory: Keeper, target: str) -> Located:
    """Return the facts that the target may refer to. Raises LedgerError if there is none."""
    located = memory.locate(target)
    if not located.passages:
        source, _, line = target.rpartition(":")
        if located.exact and source and line.isdecimal():
            raise LedgerError(
                f"{source} has no fact in line {line}",
                f"`assistant recall` shows each {source}:LINE",
            )
        raise LedgerError(f"nothing in memory mentions {target!r}", "Try `assistant recall` first")
    return located
