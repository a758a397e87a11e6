"""Facts out of turns that are over, into memory: by compaction, and when a session has ended.

What is found is noted in the transcript first and written to memory then, so that a crash in
between repeats the writing, which is harmless, and not the finding, which might word it anew.
Turns whose facts could not be found stay unread, for a later time.
"""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace

from assistant.agent.capture.extraction import (
    Extracted,
    again_request,
    by_place,
    extraction_request,
    is_among,
    parse,
    statements,
    to_memory,
)
from assistant.agent.context_budget import ContextBudget
from assistant.agent.excerpts import batches, readings
from assistant.display import counted
from assistant.errors import AssistantError, LedgerError, MemoryFailure, ModelError, ModelFailure
from assistant.events import Compacting, Event, FactsCaptured, Retrying
from assistant.memory.base import Existing, Fact, Remembered
from assistant.memory.protocol import Memory
from assistant.messages import Message, Reply, Usage
from assistant.model.base import ChatModel, RetryPiece
from assistant.session.entries import (
    NO_USAGE,
    CapturedEntry,
    CapturedFact,
    CaptureEntry,
    CompactionEntry,
    Entry,
    RetryEntry,
)
from assistant.session.history import Turn
from assistant.session.transcript import Transcript, notice

READ_SHARE = 8
"""What facts are taken from at once may take 1/8 of the window: few turns, so that the existing
facts nearest to each sentence in them can be shown beside them."""
KNOWN_EACH = 8
"""Existing facts for each sentence. Among 1,100 facts that are much alike, the one that
a sentence changes stood sixth at the lowest."""
KNOWN_SHARE = 4
"""The existing facts shown may take 1/4 of the window."""
MOST_HEADINGS = 100
"""Headings of the owner's that are shown."""
LOOKED_UP = 12
"""So many sentences of a turn are looked up."""
ASKED_AGAIN = 3
"""So often an answer is asked for what was wrong with it, or for its rest."""
CUT = "it was cut off at your limit: go on with the operations that are missing"


@dataclass(frozen=True, slots=True)
class Reading:
    """What facts are taken from, by whom, and where they go.

    `afford` says before each request whether one more may be made; `spend` is told what it cost.
    """

    transcript: Transcript
    memory: Memory
    model: ChatModel
    budget: ContextBudget
    redact: Callable[[str], str]
    trusted: bool = True
    afford: Callable[[], bool] = lambda: True
    spend: Callable[[Usage], None] = lambda usage: None


@dataclass(frozen=True, slots=True)
class Captured:
    """What came of a reading: the capture entries that memory has acknowledged, and their facts.

    `failed` says why the rest of the turns stay unread; empty if all were read.
    """

    entries: tuple[str, ...] = ()
    stored: tuple[str, ...] = ()
    waiting: int = 0
    failed: str = ""

    def __add__(self, other: "Captured") -> "Captured":
        return Captured(
            self.entries + other.entries,
            self.stored + other.stored,
            self.waiting + other.waiting,
            other.failed or self.failed,
        )


def capture(job: Reading, turns: Sequence[Turn]) -> Generator[Event, None, Captured]:
    """Find the facts of turns not yet looked at, and write all that wait."""
    if job.transcript.off_the_record:
        return Captured()
    done = yield from _write(job, _unwritten(job.transcript.entries))
    fresh = unread(turns, job.transcript.entries)
    if fresh and not job.model.extracts:
        yield notice(
            job.transcript,
            f"{job.model.name} is no language model: no facts were taken from "
            f"{counted(len(fresh), 'turn')}",
        )
    elif fresh:
        done += yield from _read(job, fresh)
    return done


def is_left(turns: Sequence[Turn], entries: Sequence[Entry]) -> bool:
    """Whether there is anything to read, or to write that was read before."""
    return bool(unread(turns, entries)) or any(each.facts for each in _unwritten(entries))


def unread(turns: Sequence[Turn], entries: Sequence[Entry]) -> list[Turn]:
    """The turns after the last capture."""
    order = {entry.id: number for number, entry in enumerate(entries)}
    captures = [
        order.get(entry.through, -1) for entry in entries if isinstance(entry, CaptureEntry)
    ]
    return [turn for turn in turns if order[turn.entries[0].id] > max(captures, default=-1)]


def _read(job: Reading, turns: Sequence[Turn]) -> Generator[Event, None, Captured]:
    """Find and write the facts of turns, batch by batch: a later one may supersede an earlier."""
    done, refused, read = Captured(), 0, 0
    for batch in batches(turns, job.budget.window // READ_SHARE):
        yield Compacting("facts", read, len(turns))
        facts: list[CapturedFact] = []
        usage = NO_USAGE
        try:
            for part in readings(batch):
                extracted, used = yield from _extract(job, part)
                facts += extracted.facts
                refused += extracted.refused
                usage += used
        except AssistantError as error:
            left = counted(len(turns) - read, "turn")
            why = job.redact(error.message)
            yield notice(job.transcript, f"No facts were taken from {left} yet: {why}")
            done += Captured(failed=why)
            break
        read += len(batch)
        entry = CaptureEntry(batch[-1].entries[-1].id, tuple(facts), usage)
        done += yield from _write(job, [job.transcript.append(entry)])
    if refused:
        yield notice(job.transcript, f"{counted(refused, 'fact')} without a source left out")
    return done


def _unwritten(entries: Sequence[Entry]) -> list[CaptureEntry]:
    """Captures whose facts memory has not acknowledged."""
    written = {
        capture
        for entry in entries
        if isinstance(entry, CompactionEntry | CapturedEntry)
        for capture in entry.captures
    }
    return [
        entry for entry in entries if isinstance(entry, CaptureEntry) and entry.id not in written
    ]


def _extract(
    job: Reading, turns: Sequence[Turn]
) -> Generator[Event, None, tuple[Extracted, Usage]]:
    """What the model finds in these turns.

    It is asked again if its answer cannot be understood, once for what of it cannot be used, and
    for the rest of an answer that was cut off. Raises ModelError when it fails, or cannot be
    understood twice.
    """
    existing = _existing(job, turns)
    asked = extraction_request(turns, existing.passages, existing.headings)
    messages, usage = asked, NO_USAGE
    found: Extracted | None = None
    for _ in range(1 + ASKED_AGAIN):
        reply = yield from ask(job, messages)
        usage += reply.usage
        faults = [CUT] if reply.finish_reason == "length" else []
        try:
            read = parse(
                job.redact(reply.text),
                turns,
                existing.passages,
                job.transcript.entries,
                existing.headings,
            )
        except ValueError as fault:
            if found is not None:
                break  # what was understood before stands
            if messages is not asked:
                raise ModelError(
                    f"{job.model.name} did not answer as it was asked: {fault}",
                    kind=ModelFailure.PROTOCOL,
                ) from fault
            faults = [f"it could not be read: {fault}"]
        else:
            before = found.facts if found is not None else ()
            faults += read.faults if found is None else ()
            new = tuple(fact for fact in read.facts if not is_among(fact, before))
            found = Extracted(before + new, read.refused)
        if not faults:
            break
        messages = again_request(asked, reply.text, faults)
    return found or Extracted(), usage


def _existing(job: Reading, turns: Sequence[Turn]) -> Existing:
    """The existing facts nearest to what is said in these turns, as far as there is room, by place;
    and the owner's headings.

    Nothing is too weak to be shown, for a fact that changes is often said in other words than it
    was.
    """
    said = list(
        dict.fromkeys(statement for turn in turns for statement in statements(turn, LOOKED_UP))
    )
    if not job.trusted or not said:
        return Existing()
    try:
        found = job.memory.existing(said, KNOWN_EACH)
    except MemoryFailure:
        return Existing()  # a fact may be found again then; the ledger refuses the same one
    room = job.budget.window // KNOWN_SHARE
    shown = [passage for passage in found.passages if (room := room - passage.tokens) >= 0]
    headings = found.headings[:MOST_HEADINGS]
    return Existing(tuple(by_place(shown)), headings)


def _write(job: Reading, pending: Sequence[CaptureEntry]) -> Generator[Event, None, Captured]:
    """Write what was captured; what memory has acknowledged is noted."""
    record = job.transcript
    facts = [
        to_memory(fact, record.session, record.origin)
        for capture in pending
        for fact in capture.facts
    ]
    try:
        written = _remember(job.memory, facts)
    except MemoryFailure as error:
        what = f"{counted(len(facts), 'fact')} could not be written to memory, left for later"
        why = job.redact(error.message)
        yield notice(job.transcript, f"{what}: {why}")
        return Captured(failed=why)
    stored = tuple(fact.text for fact in written if fact.status in ("stored", "superseded"))
    held = tuple(fact.text for fact in written if fact.status == "waiting")
    if secret := sum(fact.status == "secret" for fact in written):
        yield notice(job.transcript, f"{counted(secret, 'fact')} with a secret left out")
    acknowledged = tuple(capture.id for capture in pending)
    if acknowledged:
        job.transcript.append(CapturedEntry(acknowledged, len(stored), len(held), stored, held))
    if stored or held:
        yield FactsCaptured(stored, len(held))
    return Captured(acknowledged, stored, len(held))


def _remember(memory: Memory, facts: Sequence[Fact]) -> Sequence[Remembered]:
    """Write the facts; one whose predecessor is gone by now is written by itself."""
    try:
        return memory.remember(facts) if facts else ()
    except LedgerError:
        written: list[Remembered] = []
        for fact in facts:
            try:
                written += memory.remember([fact])
            except LedgerError:
                written += memory.remember([replace(fact, replaces=None)])
        return written


def ask(job: Reading, messages: Sequence[Message]) -> Generator[Event, None, Reply]:
    """The model's whole answer, which nobody watches. Raises ModelError, also if it is empty."""
    if not job.afford():
        raise ModelError(
            "this month's tokens for reading sessions are used up",
            "Raise memory.capture_tokens, or wait for the next month",
            kind=ModelFailure.BILLING,
        )
    for piece in job.model.stream(messages):
        match piece:
            case RetryPiece(model, reason, delay, attempt):
                reason = job.redact(reason)
                job.transcript.append(RetryEntry(model, reason, delay, attempt))
                yield Retrying(model, reason, delay, attempt)
            case Reply():
                job.spend(piece.usage)
                if piece.text.strip():
                    return piece
    raise ModelError("the answer is empty", kind=ModelFailure.PROTOCOL)
