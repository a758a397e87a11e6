"""Compaction: capture facts for memory, then replace the older turns by a summary.

The order makes a crash harmless: facts are captured first, then the summary is made, and the
compaction entry is written last. If a step fails, the owner is notified and a simpler result is
used.
"""

from collections.abc import Callable, Generator, Sequence

from msgspec.structs import replace

from assistant.agent.capture.reading import Reading, ask, capture
from assistant.agent.context_budget import rendered
from assistant.agent.excerpts import batches, call_line, quote
from assistant.agent.prompt import TEXT
from assistant.display import shortened
from assistant.errors import ModelError
from assistant.events import Compacted, Compacting, Event
from assistant.messages import Message, Usage, estimate_tokens
from assistant.quoting import one_line, quoted
from assistant.session.entries import AssistantEntry, CompactionEntry, Entry
from assistant.session.history import History, Turn, group, history, messages
from assistant.session.transcript import notice

SUMMARY_SHARE = 8
"""A summary may take 1/8 of the window."""
QUOTE_SHARE = 2
"""The turns quoted to the summariser at once may take 1/2 of the window."""
LINE_LIMIT = 160
"""The maximum length of each part of a turn's line, in characters."""
SHORT_LINE_LIMIT = 80
"""The maximum length of a turn's line if there are too many for longer ones."""
LEFT_OUT = "(earlier turns are left out here)"


def compact(job: Reading, keep: float, *, captures: bool = True) -> Generator[Event, None, bool]:
    """Compact the older turns; return False if there is only one turn, which is never compacted.

    `keep` is the share of the history that stays verbatim. `captures` says whether facts are
    extracted from the older turns.
    """
    measured = job.budget.measured
    past = history(job.transcript.entries)
    older, recent = split(past.turns, keep, measured)
    if not older:
        return False
    if captures:  # includes the turns that an earlier compaction failed to read
        all_turns = group(job.transcript.entries)
        yield from capture(job, all_turns[: len(all_turns) - len(recent)])
    entry = yield from _summarise(job, past, older)
    after = measured(rendered(History(past.first, entry, recent)))
    job.transcript.append(replace(entry, tokens_after=after))
    yield Compacted(len(older), entry.tokens_before, after)
    return True


def _summarise(
    job: Reading, past: History, older: tuple[Turn, ...]
) -> Generator[Event, None, CompactionEntry]:
    """Build the compaction entry, without the number of tokens after it."""
    earlier = past.compaction.summary if past.compaction else ""
    limit = job.budget.window // SUMMARY_SHARE
    lines, cut = by_lines(*_not_summarised(job.transcript.entries, past.turns[len(older) :]), limit)
    entry = CompactionEntry(
        lines,
        older[-1].entries[-1].id,
        len(older),
        job.budget.measured(rendered(past)),
        0,
        "lines",
    )
    if not job.model.extracts:
        return entry
    summary, usage, summarised = earlier, Usage(), 0
    try:
        room = job.budget.window // QUOTE_SHARE
        for batch in batches(older, room, room):
            yield Compacting("summary", summarised, len(older))
            summarised += len(batch)
            reply = yield from ask(job, summary_request(summary, batch, limit))
            summary, usage = bounded(job.redact(reply.text), limit), usage + reply.usage
    except ModelError as error:
        reason = job.redact(error.message)
        yield notice(
            job.transcript,
            f"The model could not summarise ({reason}); each older turn is kept as one line{cut}",
        )
        return replace(entry, usage=usage)
    return replace(entry, summary=summary, method="model", usage=usage)


def split(
    turns: Sequence[Turn], keep: float, measured: Callable[[Sequence[Message]], int]
) -> tuple[tuple[Turn, ...], tuple[Turn, ...]]:
    """Split the turns into older and recent ones, which have at most `keep` of all tokens.

    The last turn is always recent; of two turns or more, the first is always older.
    """
    costs = [measured(messages([turn])) for turn in turns]
    allowed = sum(costs) * keep
    recent, tokens = 1, sum(costs[-1:])
    while recent < len(turns) - 1 and tokens + costs[-recent - 1] <= allowed:
        recent += 1
        tokens += costs[-recent]
    boundary = max(0, len(turns) - recent)
    return tuple(turns[:boundary]), tuple(turns[boundary:])


def summary_request(earlier: str, turns: Sequence[Turn], tokens: int) -> list[Message]:
    """Return the request for a summary of at most about `tokens`."""
    summary = f"[SUMMARY]\n{quoted(earlier)}\n[/SUMMARY]\n\n" if earlier else ""
    text = f"{summary}[TRANSCRIPT]\n{quote(turns)}\n[/TRANSCRIPT]"
    return [Message("system", TEXT["summarise"].format(words=tokens // 2)), Message("user", text)]


def bounded(summary: str, tokens: int) -> str:
    """Return the end of a summary within `tokens`, in whole lines; its first line marks a cut."""
    lines = summary.strip().split("\n")
    if estimate_tokens(summary) <= tokens:
        return summary.strip()
    kept: list[str] = []
    total = estimate_tokens(LEFT_OUT)
    for line in reversed(lines):
        total += estimate_tokens(line) + 1
        if total > tokens:
            break
        kept.append(line)
    rest = "\n".join(reversed(kept)) or summary[-tokens * 4 :]
    return f"{LEFT_OUT}\n{rest}"


def _not_summarised(entries: Sequence[Entry], recent: Sequence[Turn]) -> tuple[str, Sequence[Turn]]:
    """Return the latest summary by the model, and the turns since then without the recent ones."""
    by_model = [e for e in entries if not isinstance(e, CompactionEntry) or e.method == "model"]
    past = history(by_model)
    summary = past.compaction.summary if past.compaction else ""
    return summary, past.turns[: len(past.turns) - len(recent)]


def by_lines(earlier: str, turns: Sequence[Turn], tokens: int) -> tuple[str, str]:
    """Summarise without a model: the earlier summary, then one line for each turn, within `tokens`.

    If the lines are too long, they are without the replies, then shorter; then the oldest are left
    out. Also return what is missing, to tell the owner. The lines may take half of `tokens` in
    addition to the earlier summary.
    """
    earlier = bounded(earlier, tokens)
    room = max(tokens - estimate_tokens(earlier), tokens // 2)
    whole = [line_of(turn) for turn in turns]
    requests = ([_request(turn, most) for turn in turns] for most in (LINE_LIMIT, SHORT_LINE_LIMIT))
    for lines in (whole, *requests):
        if estimate_tokens("\n".join(lines)) <= room:
            break
    kept = bounded("\n".join(lines), room)
    missing = len(turns) - kept.count("\n") if kept.startswith(LEFT_OUT) else 0
    cut = ", without the reply" if lines is not whole else ""
    cut += f"; the oldest {missing} of {len(turns)} are left out" if missing else ""
    return "\n".join(filter(None, [earlier, kept])), cut


def line_of(turn: Turn) -> str:
    """Return a turn as one line: the request, the tool calls, the reply."""
    calls = [
        call
        for entry in turn.entries
        if isinstance(entry, AssistantEntry)
        for call in entry.tool_calls
    ]
    replies = [entry.text for entry in turn.entries if isinstance(entry, AssistantEntry)]
    parts = [_request(turn, LINE_LIMIT)]
    if calls:
        parts.append(f"Tools: {', '.join(map(call_line, calls))}")
    if replies and replies[-1]:
        parts.append(f"You: {_short(replies[-1], LINE_LIMIT)}")
    return " · ".join(parts)


def _request(turn: Turn, limit: int) -> str:
    return f"- The owner: {_short(turn.request, limit)}"


def _short(text: str, limit: int) -> str:
    return shortened(one_line(text[: limit * 4]), limit)
