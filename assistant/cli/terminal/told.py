"""What stands beside the conversation: an event, or a tool's work, as lines of their own. Pure."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from assistant import events
from assistant.cli.terminal.palette import BAD, FAINT, WARNING, styled
from assistant.display import counted, outcome, spelled
from assistant.events import Event

SHOWN_CITATIONS = 4
"""Places of recalled passages that are named."""
SHOWN_VALUE = 60
"""Characters of each argument of a call in its line."""
SLOW = 1.0
"""Seconds from which on it is said how long a tool took."""
VERBS = {
    "stored": "remembered",
    "exists": "already known",
    "superseded": "remembered, in the place of an older fact,",
    "waiting": "waits for your review:",
}
INTERRUPTED = "(stopped to hear you)"


def told(event: Event) -> Iterator[str]:
    """The lines that an event is worth to a person; none for most."""
    for text, colour in _told(event):
        yield styled(spelled(text), colour)


def work(tool: str, arguments: Mapping[str, Any], result: events.ToolFinished) -> str:
    """What a tool was given and what came of it, in one line; a plan with its boxes."""
    if tool == "plan" and not result.error:
        return f"plan: {result.compact}\n{result.content}"
    if tool == "remember" and not result.error:
        done, _, place = result.compact.partition(" ")
        verb = VERBS.get(done, done)
        return f'{verb} "{_short(arguments.get("fact", ""))}" {place}'.rstrip()
    given = call(tool, arguments)
    return f"{given} → {result.compact}" if result.compact else given


def call(tool: str, arguments: Mapping[str, Any]) -> str:
    """A call in one line: the tool, its first argument bare, the others named."""
    first, *rest = [*arguments.items()] or [("", "")]
    named = " ".join(f"{name}={_short(value)}" for name, value in rest)
    return " ".join(part for part in (f"{tool}:", _short(first[1]), named) if part).rstrip(":")


def _told(event: Event) -> Iterator[tuple[str, int]]:
    match event:
        case events.Recalled(citations=(), abstained=True):
            yield "memory holds nothing on this", FAINT
        case events.Recalled(citations=citations) if citations:
            more = ", …" if len(citations) > SHOWN_CITATIONS else ""
            yield f"recalled {', '.join(citations[:SHOWN_CITATIONS])}{more}", FAINT
        case events.ApprovalDecided(compact=compact, decision=decision, reason=reason):
            yield outcome(compact, decision, reason), WARNING
        case events.Reminded(text):
            yield f"the model was told: {text}", FAINT
        case events.Notice(text):
            yield f"note: {text}", WARNING
        case events.Retrying(model, reason, delay):
            yield f"{reason}; trying {model} in {delay:.0f} s", WARNING
        case events.Compacted(turns, before, after):
            yield f"compacted {counted(turns, 'turn')}: {before:,} → {after:,} tokens", FAINT
        case events.FactsCaptured(facts, waiting):
            yield from ((f"kept in memory: {fact}", FAINT) for fact in facts)
            if waiting:
                yield f"{counted(waiting, 'fact')} for your review: /review", WARNING
        case events.TurnFailed(message, cure):
            yield f"{message}. {cure}".rstrip(". ") + ".", BAD
        case events.TurnFinished(interrupted=True):
            yield "stopped", WARNING


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    line = " ".join(text.split())
    return line if len(line) <= SHOWN_VALUE else f"{line[: SHOWN_VALUE - 1]}…"
