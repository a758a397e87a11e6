"""Compaction: facts to memory, then a summary in the place of older turns.

The order makes a crash harmless: facts are captured first, then the summary is made, and the
compaction entry is the last. What fails on the way is told, and replaced by something plainer.
"""

from collections.abc import Generator
from dataclasses import replace

from assistant.agent.answer import notice
from assistant.agent.capture import Captured, Reading, ask, capture
from assistant.agent.context_budget import shown_messages
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


def compact(job: Reading, keep: float, *, captures: bool = True) -> Generator[Event, None, bool]:
    """Compact the older turns; False if there is only one turn, which is never compacted.

    `keep` is the share of the history that stays word for word; without `captures` no facts are
    taken from what goes.
    """
    measured = job.budget.measured
    before = history(job.transcript.entries)
    older, recent = split(before.turns, keep, measured)
    if not older:
        return False
    captured = Captured()
    if captures:  # what an earlier compaction could not read is still there
        every = group(job.transcript.entries)
        captured = yield from capture(job, every[: len(every) - len(recent)])
    entry = yield from _summarise(job, before, older)
    after = measured(shown_messages(History(before.first, entry, recent)))
    job.transcript.append(replace(entry, tokens_after=after, captures=captured.entries))
    yield Compacted(len(older), entry.tokens_before, after)
    return True


def _summarise(
    job: Reading, before: History, older: tuple[Turn, ...]
) -> Generator[Event, None, CompactionEntry]:
    """The compaction entry, but for what comes of it."""
    earlier = before.compaction.summary if before.compaction else ""
    limit = job.budget.window // SUMMARY_SHARE
    entry = CompactionEntry(
        bounded(by_lines(earlier, older), limit),
        older[-1].entries[-1].id,
        len(older),
        job.budget.measured(shown_messages(before)),
        0,
        "lines",
    )
    if not job.model.extracts:
        return entry
    summary, usage, done = earlier, Usage(), 0
    try:
        for batch in batches(older, job.budget.window // QUOTE_SHARE):
            yield Compacting("summary", done, len(older))
            done += len(batch)
            reply = yield from ask(job, summary_request(summary, batch, limit))
            summary, usage = bounded(job.redact(reply.text), limit), usage + reply.usage
    except ModelError as error:
        why = job.redact(error.message)
        yield notice(
            job.transcript,
            f"The model could not summarise ({why}); each older turn is kept as a line",
        )
        return replace(entry, usage=usage)
    return replace(entry, summary=summary, method="model", usage=usage)
