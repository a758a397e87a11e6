"""What the page of a memory shows: facts on their plane, what became of them, who asked for them.

The names of the values are short: there may be twenty thousand of each.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from assistant.memory.base import Chart, Charted, Held, JournalEntry, Pair
from assistant.memory.protocol import Keeper
from assistant.memory.text.identity import fact_key
from assistant.memory.text.markdown import named_successor, plain
from assistant.session.listing import Asked
from assistant.upkeep.tidy import propose

Json = dict[str, Any]
Redact = Callable[[str], str]
MOST_EVENTS = 50_000
MOST_PAIRS = 300
ALIKE = 0.85
"""The cosine from which on two facts are shown as alike, whatever their words say."""
KINDS = {"merge": "same", "supersede": "changed"}


def gather(
    memory: Keeper, recalls: Mapping[str, Asked], place: str, now: datetime, redact: Redact
) -> Json:
    """All that the page shows; `recalls` tells how often each passage was recalled, by its id."""
    chart = memory.chart()
    log = memory.log(MOST_EVENTS)
    keys = [fact_key(fact.passage.plain) for fact in chart.facts]
    history = _history(keys, log)
    return {
        "made": now.strftime("%Y-%m-%d %H:%M"),
        "place": place,
        "topics": [{"name": t.name, "x": t.x, "y": t.y, "r": t.radius} for t in chart.topics],
        "facts": [
            _fact(each, history.get(key, []), recalls.get(each.passage.id))
            for each, key in zip(chart.facts, keys, strict=True)
        ],
        "events": list(_events(log, keys, redact)),
        "waiting": [_held(each, redact) for each in memory.waiting()],
        "pairs": list(_pairs(chart, memory.pairs(MOST_PAIRS))),
    }


def _fact(each: Charted, history: Sequence[int], asked: Asked | None) -> Json:
    passage = each.passage
    instead = named_successor(passage.text) if passage.status == "superseded" else None
    return {
        "t": each.passage.plain,
        "p": passage.citation,
        "g": " › ".join(passage.heading),
        "d": passage.date or "",
        "o": passage.origin or "",
        "k": each.topic,
        "x": each.x,
        "y": each.y,
        "n": each.near,
        "h": history,
        "c": asked.times if asked else 0,
        "l": asked.last if asked else "",
        "s": int(passage.status == "superseded"),
        "u": each.until or "",
        "b": plain(instead) if instead else "",
    }


def _history(keys: Iterable[str], log: Sequence[JournalEntry]) -> dict[str, list[int]]:
    """By what a fact says, the places in the log of the writes that were about it."""
    known = set(keys)
    found: dict[str, list[int]] = {}
    for number, entry in enumerate(log):
        for key in _keys(entry):
            if key in known:
                found.setdefault(key, []).append(number)
    return found


def _keys(entry: JournalEntry) -> set[str]:
    """What an entry's facts say, if it is of several, each."""
    return {fact_key(text) for text in (entry.text, *entry.text.split("\n")) if text.strip()}


def _events(log: Sequence[JournalEntry], keys: Sequence[str], redact: Redact) -> Iterable[Json]:
    places = {key: number for number, key in enumerate(keys)}
    for entry in log:
        stands = (places[key] for key in _keys(entry) if key in places)
        yield {
            "d": entry.time,
            "a": entry.action,
            "t": redact(entry.text),
            "p": entry.source,
            "o": entry.origin.kind,
            "u": int(entry.undone),
            "f": next(stands, -1),
        }


def _held(held: Held, redact: Redact) -> Json:
    return {"t": redact(held.fact.text), "o": held.fact.origin.kind, "d": held.time}


def _pairs(chart: Chart, pairs: Sequence[Pair]) -> Iterable[Json]:
    """Facts that say the same, that one another has changed, or that are nearly alike."""
    places = {each.passage.id: number for number, each in enumerate(chart.facts)}
    proposed = {frozenset((each.old.id, each.new.id)): KINDS[each.kind] for each in propose(pairs)}
    for pair in pairs:
        ids = pair.earlier.id, pair.later.id
        kind = proposed.get(frozenset(ids)) or ("near" if pair.cosine >= ALIKE else "")
        if kind and all(each in places for each in ids):
            a, b = (places[each] for each in ids)
            yield {"a": a, "b": b, "c": round(pair.cosine, 3), "k": kind}
