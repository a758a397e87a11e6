"""What stands beside the conversation: an event as lines of their own, or none. Pure."""

from collections.abc import Iterator

from assistant import events
from assistant.cli.terminal.palette import BAD, FAINT, WARNING, styled
from assistant.display import counted, outcome, spelled
from assistant.events import Event

SHOWN_CITATIONS = 4
"""Places of recalled passages that are named."""
SLOW = 1.0
"""Seconds from which on it is said how long a tool took."""
INTERRUPTED = "(stopped to hear you)"


def told(event: Event) -> Iterator[str]:
    """The lines that an event is worth to a person; none for most."""
    for text, colour in _told(event):
        yield styled(spelled(text), colour)


def _told(event: Event) -> Iterator[tuple[str, int]]:
    match event:
        case events.Attached(title, lines, picture):
            yield f"with it: {title} · {picture or counted(lines, 'line')}", FAINT
        case events.Recalled(citations=(), abstained=True):
            yield "memory holds nothing on this", FAINT
        case events.Recalled(citations=citations) if citations:
            more = ", …" if len(citations) > SHOWN_CITATIONS else ""
            yield f"recalled {', '.join(citations[:SHOWN_CITATIONS])}{more}", FAINT
        case events.SkillLoaded(skill, _, trigger):
            yield f"skill {skill} loaded: “{trigger}”", FAINT
        case events.ApprovalDecided(compact=compact, decision=decision, reason=reason):
            yield outcome(compact, decision, reason), WARNING
        case events.Reminded(text):
            yield f"the model was told: {text}", FAINT
        case events.Notice(text):
            yield f"note: {text}", WARNING
        case events.Retrying():
            yield event.said, WARNING
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
