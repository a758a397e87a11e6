"""Carrying out a compaction: facts to memory, then a summary in the place of older turns.

The order makes a crash harmless: the facts found are noted in the transcript, then written to
memory (the same fact twice is one fact), then the summary is made, and the compaction entry is
the last. Whatever fails on the way is told, and replaced by something plainer.
"""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import chain, zip_longest

from assistant.agent.loop import notice
from assistant.agent.request import shown_messages
from assistant.agent.window import Window
from assistant.display import counted
from assistant.errors import LedgerError, MemoryFailure, ModelError, ModelFailure
from assistant.events import Compacted, Compacting, Event, FactsCaptured, Retrying
from assistant.memory.base import Fact, Passage, Query, Remembered
from assistant.memory.protocol import Memory
from assistant.messages import Message, Reply, Usage
from assistant.model.base import ChatModel, RetryPiece
from assistant.session.compaction import batches, bounded, by_lines, split, summary_request
from assistant.session.entries import CaptureEntry, CompactionEntry, Entry
from assistant.session.extraction import (
    Extracted,
    extraction_request,
    parse,
    statements,
    to_memory,
)
from assistant.session.transcript import Transcript
from assistant.session.turns import History, Turn, history

SUMMARY_SHARE = 8
"""A summary may take 1/8 of the window."""
QUOTE_SHARE = 2
"""What is quoted to the summariser at once may take 1/2 of the window."""
READ_SHARE = 8
"""What facts are taken from at once may take 1/8 of the window: few turns, so that the existing
facts nearest to each sentence in them can be shown beside them."""
KNOWN_EACH = 8
"""Existing facts looked up for each sentence. Among 1,100 facts that are much alike, the one that
a sentence changes stood sixth at the lowest."""
KNOWN_SHARE = 4
"""The existing facts shown may take 1/4 of the window."""
LOOKED_UP = 12
"""So many sentences of a turn are looked up."""


@dataclass(frozen=True, slots=True)
class Compaction:
    """What a compaction works on. `keep` is the share of the history that stays word for word."""

    transcript: Transcript
    memory: Memory
    model: ChatModel
    window: Window
    keep: float
    redact: Callable[[str], str]
    trusted: bool = True


def compact(job: Compaction) -> Generator[Event, None, bool]:
    """Compact the older turns; False if there is only one turn, which is never compacted."""
    before = history(job.transcript.entries)
    older, recent = split(before.turns, job.keep, job.window.measured)
    if not older:
        return False
    acknowledged = yield from _capture(job, older)
    entry = yield from _summarise(job, before, older)
    after = _tokens(job, History(before.first, entry, recent))
    job.transcript.append(replace(entry, tokens_after=after, captures=acknowledged))
    yield Compacted(len(older), entry.tokens_before, after)
    return True


def _tokens(job: Compaction, shown: History) -> int:
    return job.window.measured(shown_messages(shown))


# Facts


def _capture(job: Compaction, older: Sequence[Turn]) -> Generator[Event, None, tuple[str, ...]]:
    """Find the facts of turns not yet looked at, and write all that wait; the entries written."""
    if job.transcript.off_the_record:
        return ()
    written = yield from _write(job, _unwritten(job.transcript.entries))
    fresh = _unread(older, job.transcript.entries)
    if fresh and not job.model.extracts:
        yield notice(
            job.transcript,
            f"{job.model.name} is no language model: no facts were taken from "
            f"{counted(len(fresh), 'turn')}",
        )
    elif fresh:
        written += yield from _read(job, fresh)
    return written


def _read(job: Compaction, turns: Sequence[Turn]) -> Generator[Event, None, tuple[str, ...]]:
    """Find and write the facts of turns, batch by batch: a later one may supersede an earlier."""
    written: tuple[str, ...] = ()
    refused, missed, done = 0, 0, 0
    for batch in batches(turns, job.window.tokens // READ_SHARE):
        yield Compacting("facts", done, len(turns))
        done += len(batch)
        found, usage = yield from _extract(job, batch)
        facts = found.facts if found else ()
        entry = CaptureEntry(batch[-1].entries[-1].id, facts, usage)
        written += yield from _write(job, [job.transcript.append(entry)])
        refused += found.refused if found else 0
        missed += 0 if found else len(batch)
    if missed:
        yield notice(job.transcript, f"No facts could be taken from {missed} of the older turns")
    if refused:
        yield notice(job.transcript, f"{counted(refused, 'fact')} without a source left out")
    return written


def _unwritten(entries: Sequence[Entry]) -> list[CaptureEntry]:
    """Captures whose facts memory has not acknowledged."""
    written = {
        each for entry in entries if isinstance(entry, CompactionEntry) for each in entry.captures
    }
    return [each for each in entries if isinstance(each, CaptureEntry) and each.id not in written]


def _unread(turns: Sequence[Turn], entries: Sequence[Entry]) -> list[Turn]:
    """The turns after the last capture."""
    captures = [entry.through for entry in entries if isinstance(entry, CaptureEntry)]
    if not captures:
        return list(turns)
    order = {entry.id: number for number, entry in enumerate(entries)}
    return [turn for turn in turns if order[turn.entries[0].id] > order[captures[-1]]]


def _extract(
    job: Compaction, turns: Sequence[Turn]
) -> Generator[Event, None, tuple[Extracted | None, Usage]]:
    """What the model finds in these turns; None if it fails or cannot be understood."""
    known = _nearest(job, turns)
    usage = Usage()
    try:
        asked = extraction_request(turns, known, date.today().isoformat())
        reply = yield from _ask(job, asked)
        usage = reply.usage
        return parse(job.redact(reply.text), turns, known, job.transcript.entries), usage
    except (ModelError, ValueError):
        return None, usage


def _nearest(job: Compaction, turns: Sequence[Turn]) -> list[Passage]:
    """The existing facts nearest to what is said in these turns, the nearest of each first."""
    if not job.trusted:
        return []
    try:
        found = [
            job.memory.recall(Query(said, k=KNOWN_EACH)).passages
            for turn in turns
            for said in statements(turn, LOOKED_UP)
        ]
    except MemoryFailure:
        return []  # without them a fact may be found again; the ledger refuses the same one
    known: dict[str, Passage] = {}
    room = job.window.tokens // KNOWN_SHARE
    for passage in filter(None, chain.from_iterable(zip_longest(*found))):
        if passage.id not in known and (room := room - passage.tokens) >= 0:
            known[passage.id] = passage
    return list(known.values())


def _write(
    job: Compaction, pending: Sequence[CaptureEntry]
) -> Generator[Event, None, tuple[str, ...]]:
    """Write what was captured; the entries whose facts memory has acknowledged."""
    facts = [to_memory(fact, job.transcript.session) for each in pending for fact in each.facts]
    try:
        written = _remember(job.memory, facts)
    except MemoryFailure as error:
        yield notice(
            job.transcript,
            f"{counted(len(facts), 'fact')} could not be written to memory, left for the next "
            f"compaction: {error.message}",
        )
        return ()
    stored = tuple(each.text for each in written if each.status in ("stored", "superseded"))
    waiting = sum(each.status == "waiting" for each in written)
    if stored or waiting:
        yield FactsCaptured(stored, waiting)
    return tuple(each.id for each in pending)


def _remember(memory: Memory, facts: Sequence[Fact]) -> Sequence[Remembered]:
    """Write the facts; one whose predecessor is gone by now is written by itself."""
    if not facts:
        return ()
    try:
        return memory.remember(facts)
    except LedgerError:
        return [each for fact in facts for each in _remember_one(memory, fact)]


def _remember_one(memory: Memory, fact: Fact) -> Sequence[Remembered]:
    try:
        return memory.remember([fact])
    except LedgerError:
        if fact.replaces is None:
            raise
        return memory.remember([replace(fact, replaces=None)])


# The summary


def _summarise(
    job: Compaction, before: History, older: Sequence[Turn]
) -> Generator[Event, None, CompactionEntry]:
    """The compaction entry, but for what comes of it."""
    earlier = before.compaction.summary if before.compaction else ""
    limit = job.window.tokens // SUMMARY_SHARE
    entry = CompactionEntry(
        bounded(by_lines(earlier, older), limit),
        older[-1].entries[-1].id,
        len(older),
        _tokens(job, before),
        0,
        "lines",
    )
    if not job.model.extracts:
        return entry
    summary, usage, done = earlier, Usage(), 0
    try:
        for batch in batches(older, job.window.tokens // QUOTE_SHARE):
            yield Compacting("summary", done, len(older))
            done += len(batch)
            reply = yield from _ask(job, summary_request(summary, batch, limit))
            summary, usage = bounded(job.redact(reply.text), limit), usage + reply.usage
    except ModelError as error:
        yield notice(
            job.transcript,
            f"The model could not summarise ({error.message}); each older turn is kept as a line",
        )
        return replace(entry, usage=usage)
    return replace(entry, summary=summary, method="model", usage=usage)


def _ask(job: Compaction, messages: Sequence[Message]) -> Generator[Event, None, Reply]:
    """The model's whole answer, which nobody watches. Raises ModelError, also if it is empty."""
    for piece in job.model.stream(messages):
        match piece:
            case RetryPiece(model, reason, delay, attempt):
                yield Retrying(model, reason, delay, attempt)
            case Reply() if piece.text.strip():
                return piece
    raise ModelError("the answer is empty", kind=ModelFailure.PROTOCOL)
