"""Capture facts from past turns into memory, during compaction and after a session has ended.

The facts are recorded in the transcript first and then written to memory. So a crash in between
only repeats the write, which is harmless; extracting them again might word them differently. Turns
whose facts could not be extracted stay unread and are tried again later.
"""

from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime

from assistant.agent.capture.extraction import (
    NOTHING,
    Extracted,
    again_request,
    by_place,
    extraction_request,
    fact_on,
    parse,
    statements,
    to_memory,
)
from assistant.agent.capture.origins import folded, message_without_forgotten
from assistant.agent.context_budget import ContextBudget
from assistant.agent.excerpts import batches, readings
from assistant.disk.locking import LockHeld
from assistant.display import counted
from assistant.errors import (
    AssistantError,
    LedgerError,
    MemoryFailure,
    ModelError,
    ModelFailure,
    SessionError,
    StorageError,
)
from assistant.events import Compacting, Event, FactsCaptured, Retrying
from assistant.memory.base import Existing, Fact, Memory, Remembered
from assistant.messages import Message, Reply, Usage, without_forgotten
from assistant.model.base import ChatModel
from assistant.session.entries import (
    NO_USAGE,
    AssistantEntry,
    AttachmentEntry,
    CapturedEntry,
    CapturedFact,
    CaptureEntry,
    Entry,
    RetryEntry,
    ToolResultEntry,
    UserEntry,
    with_text,
)
from assistant.session.history import Turn
from assistant.session.transcript import SUFFIX, Transcript, entries_of, notice

READ_SHARE = 8
"""The turns of one extraction request may take 1/8 of the window: few enough to include the
existing facts nearest to each of their sentences."""
TURN_SHARE = 4
"""A single turn that takes more than 1/4 of the window is cut."""
KNOWN_EACH = 8
"""Existing facts looked up for each sentence. Among 1,100 similar facts, the one that a sentence
changes ranked sixth at worst."""
KNOWN_SHARE = 4
"""The existing facts shown may take 1/4 of the window."""
MOST_HEADINGS = 100
"""The maximum number of the owner's headings that are shown."""
LOOKED_UP = 12
"""The maximum number of sentences of a reply that are looked up in memory."""
ASKED_AGAIN = 3
"""How often the model is asked to correct or complete its answer."""
CUT = "it was cut off at your limit: go on with the operations that are missing"


@dataclass(frozen=True, slots=True)
class Reading:
    """The transcript that facts are read from, the model that extracts them, and their memory.

    `afford` returns whether another request may be made; `spend` receives its usage.
    """

    transcript: Transcript
    memory: Memory
    model: ChatModel
    budget: ContextBudget
    redact: Callable[[str], str]
    trusted: bool = True
    afford: Callable[[], bool] = lambda: True
    spend: Callable[[Usage], None] = lambda usage: None


def capture(job: Reading, turns: Sequence[Turn]) -> Generator[Event, None, str]:
    """Extract the facts of unread turns, and write them and any earlier ones to memory; the
    transcript records them. Return why something is left for later; empty if nothing is.

    Waits while another process reads the session, and reads on from there.
    """
    if job.transcript.off_the_record:
        return ""
    try:
        lock = job.transcript.reading()
    except LockHeld as error:
        yield notice(job.transcript, f"No facts were extracted yet: {error.message}")
        return error.message
    with lock:
        job.transcript.check()  # takes in what another process has recorded
        return (yield from _capture(job, turns))


def _capture(job: Reading, turns: Sequence[Turn]) -> Generator[Event, None, str]:
    failed = yield from _write(job, _unwritten(job.transcript.entries))
    unread_turns = unread(turns, job.transcript.entries)
    if unread_turns and not job.model.extracts:
        yield notice(
            job.transcript,
            f"{job.model.name} is not a language model: no facts were extracted from "
            f"{counted(len(unread_turns), 'turn')}",
        )
    elif unread_turns:
        failed = (yield from _read(job, unread_turns)) or failed
    return failed


def is_left(turns: Sequence[Turn], entries: Sequence[Entry]) -> bool:
    """Return whether there are unread turns, or facts that have not been written to memory."""
    return bool(unread(turns, entries)) or any(capture.facts for capture in _unwritten(entries))


def unread(turns: Sequence[Turn], entries: Sequence[Entry]) -> list[Turn]:
    """Return the turns after the last capture. If that goes through an entry that a rewind has
    discarded, the remaining turns before it are read."""
    order = {entry.id: number for number, entry in enumerate(entries)}
    captures = [
        order.get(entry.through, number)
        for number, entry in enumerate(entries)
        if isinstance(entry, CaptureEntry)
    ]
    last = max(captures, default=-1)
    later = (turn for turn in turns if order.get(turn.entries[0].id, -1) > last)
    return [turn for turn in map(_without_forgotten, later) if turn]


def _without_forgotten(turn: Turn) -> Turn | None:
    """Return a turn without the remains of purged text; None if the owner's messages are gone."""
    entries = [_entry_without_forgotten(entry) for entry in turn.entries]
    if entries == list(turn.entries):
        return turn
    is_left = any(isinstance(entry, UserEntry) and entry.text for entry in entries)
    return replace(turn, entries=tuple(entries)) if is_left else None


def _entry_without_forgotten(entry: Entry) -> Entry:
    match entry:
        case UserEntry(text=text):
            return with_text(entry, message_without_forgotten(text))
        case AssistantEntry(text=text) | AttachmentEntry(text=text) | ToolResultEntry(content=text):
            return with_text(entry, without_forgotten(text))
    return entry


def _read(job: Reading, turns: Sequence[Turn]) -> Generator[Event, None, str]:
    """Extract and write facts batch by batch, as a later batch may supersede earlier facts. Return
    why something is left for later."""
    failed, turns_read = "", 0
    window = job.budget.window
    for batch in batches(turns, window // READ_SHARE, window // TURN_SHARE):
        yield Compacting("facts", turns_read, len(turns))
        facts: list[CapturedFact] = []
        left_out: list[str] = []
        usage = NO_USAGE
        whole = turns[turns_read : turns_read + len(batch)]
        try:
            for part in readings(batch):
                extracted, used = yield from _extract(job, part, whole)
                facts += extracted.facts
                left_out += map(str, extracted.refused)
                usage += used
            through = batch[-1].entries[-1].id
            entry = CaptureEntry(through, tuple(facts), usage, tuple(left_out))
            entry = job.transcript.append(entry)
        except AssistantError as error:
            remaining = counted(len(turns) - turns_read, "turn")
            reason = job.redact(error.message)
            yield notice(job.transcript, f"No facts were extracted from {remaining} yet: {reason}")
            return reason
        turns_read += len(batch)
        failed = (yield from _write(job, [entry])) or failed
    return failed


def _unwritten(entries: Sequence[Entry]) -> list[CaptureEntry]:
    """Return the captures whose facts memory has not acknowledged."""
    written = {
        capture
        for entry in entries
        if isinstance(entry, CapturedEntry)
        for capture in entry.captures
    }
    return [
        entry for entry in entries if isinstance(entry, CaptureEntry) and entry.id not in written
    ]


def _extract(
    job: Reading, turns: Sequence[Turn], whole: Sequence[Turn]
) -> Generator[Event, None, tuple[Extracted, Usage]]:
    """Let the model extract the facts of these turns, which may be parts of the `whole` turns.

    Only a whole message shows what is pasted in it, and only a whole result what a tool said.

    It is asked again if its answer cannot be parsed, if parts of it cannot be used (once), and if
    it was cut off. Raises ModelError if the model fails, or if two answers cannot be parsed.
    """
    existing = _existing(job, turns)
    request = extraction_request(turns, existing.passages, existing.headings)
    messages, usage = request, NO_USAGE
    result: Extracted | None = None
    for _ in range(1 + ASKED_AGAIN):
        reply = yield from ask(job, messages)
        usage += reply.usage
        faults = [CUT] if reply.finish_reason == "length" else []
        try:
            answer = parse(
                job.redact(reply.text),
                whole,
                existing.passages,
                job.transcript.entries,
                existing.headings,
                result or NOTHING,
            )
        except ValueError as fault:
            if result is not None:
                break  # keep the facts parsed before
            if messages is not request:
                raise ModelError(
                    f"{job.model.name} did not answer in the requested form: {fault}",
                    kind=ModelFailure.PROTOCOL,
                ) from fault
            faults = [f"it could not be read: {fault}"]
        else:
            faults = [CUT] if answer.is_cut else faults
            faults += answer.faults if result is None else []
            result = answer
        if not faults:
            break
        messages = again_request(request, reply.text, faults)
    return result or NOTHING, usage


def _existing(job: Reading, turns: Sequence[Turn]) -> Existing:
    """Return the existing facts nearest to the sentences of these turns, grouped, and the headings.

    Even weak matches are shown if there is room: a changed fact is often worded differently.
    """
    sentences = list(
        dict.fromkeys(statement for turn in turns for statement in statements(turn, LOOKED_UP))
    )
    if not job.trusted or not sentences:
        return Existing()
    try:
        nearest = job.memory.existing(sentences, KNOWN_EACH)
    except MemoryFailure:
        return Existing()  # facts may be extracted again; the ledger refuses duplicates
    room = job.budget.window // KNOWN_SHARE
    fitting = [passage for passage in nearest.passages if (room := room - passage.tokens) >= 0]
    later = _said_since(job, turns)
    fitting = [replace(p, date=later.get(folded(p.plain), p.date)) for p in fitting]
    headings = nearest.headings[:MOST_HEADINGS]
    return Existing(tuple(by_place(fitting)), headings)


def _said_since(job: Reading, turns: Sequence[Turn]) -> dict[str, str]:
    """Return when each fact was said (ISO 8601) that another session stated after these turns."""
    path = job.transcript.path
    begun = next((entry.time for turn in turns for entry in turn.entries if entry.time), "")
    times: dict[str, str] = {}
    for other in path.parent.glob(f"*{SUFFIX}") if path and begun else ():
        with suppress(OSError, SessionError, StorageError):  # it may be gone, or damaged
            if other == path or other.stat().st_mtime < datetime.fromisoformat(begun).timestamp():
                continue
            entries = entries_of(other)
            said = {entry.id: entry.time for entry in entries}
            for capture in entries:
                for fact in capture.facts if isinstance(capture, CaptureEntry) else ():
                    times[folded(fact.text)] = max(said.get(id_, "") for id_ in ("", *fact.entries))
    return {text: time for text, time in times.items() if time > begun}


def _write(job: Reading, pending: Sequence[CaptureEntry]) -> Generator[Event, None, str]:
    """Write captured facts to memory, and record in the transcript that it has acknowledged them;
    return why that failed, if it did.

    Facts whose messages the owner has since discarded are left out.
    """
    transcript = job.transcript
    remaining = {entry.id for entry in transcript.entries} if pending else set()
    captured = [
        fact
        for capture in pending
        for fact in capture.facts
        if not fact.entries or not remaining.isdisjoint(fact.entries)
    ]
    facts = [fact for fact in captured if fact_on(fact.text)]
    left_out = [line for capture in pending for line in capture.left_out]
    left_out += [f"“{fact.text}”: it is not a fact" for fact in captured if fact not in facts]
    try:
        if facts:
            transcript.check()  # no purged text comes back
        to_write = [to_memory(fact, transcript.session, transcript.origin) for fact in facts]
        written = _remember(job.memory, to_write)
    except MemoryFailure as error:
        problem = f"{counted(len(facts), 'fact')} could not be written to memory, left for later"
        reason = job.redact(error.message)
        yield notice(job.transcript, f"{problem}: {reason}")
        return reason
    pairs = list(zip(facts, written, strict=False))
    stored, waiting = (
        tuple(dict.fromkeys(done.text for done in written if done.status in statuses))
        for statuses in (("stored", "superseded"), ("waiting",))
    )
    struck = tuple((now.text, old.struck) for old, now in pairs if now.status == "superseded")
    left_out += [f"“{old.text}”: it holds a secret" for old, now in pairs if now.status == "secret"]
    for line in left_out:
        yield notice(job.transcript, f"Left out: {job.redact(line)}")
    acknowledged = tuple(capture.id for capture in pending)
    entry = CapturedEntry(
        acknowledged, len(stored), len(waiting), stored, waiting, struck, tuple(left_out)
    )
    if acknowledged:
        job.transcript.append(entry)
    if stored or waiting:
        yield FactsCaptured(tuple(map(entry.with_struck, stored)), len(waiting))
    return ""


def _remember(memory: Memory, facts: Sequence[Fact]) -> Sequence[Remembered]:
    """Write the facts; if the fact that one replaces is gone, write it as a new fact. One that
    cannot be written does not stop the others."""
    try:
        return memory.remember(facts) if facts else ()
    except LedgerError:
        if len(facts) == 1:
            if facts[0].replaces is None:
                raise
            return memory.remember([replace(facts[0], replaces=None)])
        written: list[Remembered] = []
        refused: LedgerError | None = None
        for fact in facts:
            try:
                written += _remember(memory, [fact])
            except LedgerError as error:
                refused = error
        if refused:
            raise refused from None
        return written


def ask(job: Reading, messages: Sequence[Message]) -> Generator[Event, None, Reply]:
    """Return the model's complete answer. Raises ModelError if it fails or the answer is empty."""
    if not job.afford():
        raise ModelError(
            "this month's tokens for reading sessions are used up",
            "Raise memory.capture_tokens, or wait for the next month",
            kind=ModelFailure.BILLING,
        )
    for piece in job.model.stream(messages):
        match piece:
            case Retrying(model, reason, delay, attempt):
                reason = job.redact(reason)
                job.transcript.append(RetryEntry(model, reason, delay, attempt))
                yield Retrying(model, reason, delay, attempt)
            case Reply():
                job.spend(piece.usage)
                if piece.text.strip():
                    return piece
    raise ModelError("the answer is empty", kind=ModelFailure.PROTOCOL)
