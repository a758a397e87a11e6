"""Carrying out a compaction: facts to memory, then a summary in the place of older turns.

The order makes a crash harmless: facts are captured first (`capture.py`), then the summary is
made, and the compaction entry is the last. What fails on the way is told, and replaced by
something plainer.
"""

from collections.abc import Generator
from dataclasses import dataclass, replace

from assistant.agent.answering import notice
from assistant.agent.capture import Captured, Reading, ask, capture
from assistant.agent.prompt.request import shown_messages
from assistant.errors import ModelError
from assistant.events import Compacted, Compacting, Event
from assistant.messages import Usage
from assistant.session.entries import CompactionEntry
from assistant.session.history.compaction import batches, bounded, by_lines, split, summary_request
from assistant.session.history.turns import History, Turn, group, history

SUMMARY_SHARE = 8
"""A summary may take 1/8 of the window."""
QUOTE_SHARE = 2
"""What is quoted to the summariser at once may take 1/2 of the window."""


@dataclass(frozen=True, slots=True)
class Compaction:
    """What a compaction works on. `keep` is the share of the history that stays word for word;
    without `capture` no facts are taken from what goes."""

    reading: Reading
    keep: float
    capture: bool = True


def compact(job: Compaction) -> Generator[Event, None, bool]:
    """Compact the older turns; False if there is only one turn, which is never compacted."""
    transcript = job.reading.transcript
    before = history(transcript.entries)
    older, recent = split(before.turns, job.keep, job.reading.window.measured)
    if not older:
        return False
    captured = Captured()
    if job.capture:  # what an earlier compaction could not read is still there
        recent_ids = {turn.entries[0].id for turn in recent}
        said = [turn for turn in group(transcript.entries) if turn.entries[0].id not in recent_ids]
        captured = yield from capture(job.reading, said)
    entry = yield from _summarise(job, before, older)
    after = _tokens(job, History(before.first, entry, recent))
    transcript.append(replace(entry, tokens_after=after, captures=captured.entries))
    yield Compacted(len(older), entry.tokens_before, after)
    return True


def _tokens(job: Compaction, shown: History) -> int:
    return job.reading.window.measured(shown_messages(shown))


def _summarise(
    job: Compaction, before: History, older: tuple[Turn, ...]
) -> Generator[Event, None, CompactionEntry]:
    """The compaction entry, but for what comes of it."""
    earlier = before.compaction.summary if before.compaction else ""
    limit = job.reading.window.tokens // SUMMARY_SHARE
    entry = CompactionEntry(
        bounded(by_lines(earlier, older), limit),
        older[-1].entries[-1].id,
        len(older),
        _tokens(job, before),
        0,
        "lines",
    )
    if not job.reading.model.extracts:
        return entry
    summary, usage, done = earlier, Usage(), 0
    try:
        for batch in batches(older, job.reading.window.tokens // QUOTE_SHARE):
            yield Compacting("summary", done, len(older))
            done += len(batch)
            reply = yield from ask(job.reading, summary_request(summary, batch, limit))
            summary, usage = bounded(job.reading.redact(reply.text), limit), usage + reply.usage
    except ModelError as error:
        why = job.reading.redact(error.message)
        yield notice(
            job.reading.transcript,
            f"The model could not summarise ({why}); each older turn is kept as a line",
        )
        return replace(entry, usage=usage)
    return replace(entry, summary=summary, method="model", usage=usage)
