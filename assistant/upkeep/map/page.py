"""Renders memory as a page: facts in a plane by topic, their history, and how often they are
recalled.

The page is a single file without external resources. The keys in its data are short, since it may
hold twenty thousand items of each kind.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from importlib import resources
from typing import Any

from assistant.memory.base import Chart, Charted, JournalEntry, Keeper, Pair
from assistant.memory.text.identity import fact_key
from assistant.memory.text.markdown import named_successor, plain
from assistant.session.listing import Asked
from assistant.upkeep.tidy import propose

Json = dict[str, Any]
Redact = Callable[[str], str]
MOST_EVENTS = 50_000
MOST_PAIRS = 300
ALIKE = 0.85
"""Minimum cosine for showing two facts as similar."""
KINDS = {"merge": "same", "supersede": "changed"}


def gather(
    memory: Keeper,
    recalls: Mapping[str, Asked],
    place: str,
    now: datetime,
    redact: Redact,
    *,
    served: bool = False,
) -> Json:
    """Return the data of the page; `recalls` counts how often each passage was recalled, by ID.

    If the page is `served`, facts can be changed in it.
    """
    chart = memory.chart()
    log = memory.log(MOST_EVENTS)
    keys = [fact_key(fact.passage.plain) for fact in chart.facts]
    events, history = _events(log, keys, redact)
    data: Json = {
        "made": now.strftime("%Y-%m-%d %H:%M"),
        "place": place,
        "topics": [{"name": t.name, "x": t.x, "y": t.y, "r": t.radius} for t in chart.topics],
        "facts": [
            _fact(fact, history.get(key, []), recalls.get(fact.passage.id))
            for fact, key in zip(chart.facts, keys, strict=True)
        ],
        "events": events,
        "waiting": [
            {
                "t": redact(pending.fact.text),
                "o": pending.fact.origin.kind,
                "d": pending.time,
            }
            for pending in memory.waiting()
        ],
        "pairs": list(_pairs(chart, memory.pairs(MOST_PAIRS))),
    }
    if served:
        data["ids"] = [fact.passage.id for fact in chart.facts]
    return data


def _fact(fact: Charted, history: Sequence[int], recalls: Asked | None) -> Json:
    passage = fact.passage
    successor = named_successor(passage.text) if passage.status == "superseded" else None
    return {
        "t": passage.plain,
        "p": passage.citation,
        "g": " › ".join(passage.heading),
        "d": passage.date or "",
        "o": passage.origin or "",
        "k": fact.topic,
        "x": fact.x,
        "y": fact.y,
        "n": fact.near,
        "h": history,
        "c": recalls.times if recalls else 0,
        "l": recalls.last if recalls else "",
        "s": int(passage.status == "superseded"),
        "u": fact.until or "",
        "b": plain(successor) if successor else "",
    }


def _events(
    log: Sequence[JournalEntry], keys: Sequence[str], redact: Redact
) -> tuple[list[Json], dict[str, list[int]]]:
    """Return the writes, and the indices of those about each fact, by its key."""
    indices = {key: number for number, key in enumerate(keys)}
    events, history = list[Json](), dict[str, list[int]]()
    for number, entry in enumerate(log):
        texts = filter(str.strip, (entry.text, *entry.text.split("\n")))
        named = [key for key in dict.fromkeys(map(fact_key, texts)) if key in indices]
        for key in named:
            history.setdefault(key, []).append(number)
        events.append(
            {
                "d": entry.time,
                "a": entry.action,
                "t": redact(entry.text),
                "p": entry.source,
                "o": entry.origin.kind,
                "u": int(entry.undone),
                "f": indices[named[0]] if named else -1,
            }
        )
    return events, history


def _pairs(chart: Chart, pairs: Sequence[Pair]) -> Iterable[Json]:
    """Yield pairs of facts that repeat or change one another, or are similar."""
    indices = {fact.passage.id: number for number, fact in enumerate(chart.facts)}
    proposed = {frozenset((p.old.id, p.new.id)): KINDS[p.kind] for p in propose(pairs)}
    for pair in pairs:
        ids = pair.earlier.id, pair.later.id
        kind = proposed.get(frozenset(ids)) or ("near" if pair.cosine >= ALIKE else "")
        if kind and all(id in indices for id in ids):
            a, b = (indices[id] for id in ids)
            yield {"a": a, "b": b, "c": round(pair.cosine, 3), "k": kind}


def page(data: Json) -> str:
    """Return the page with the data as JSON without `<`, so that no text of memory becomes
    markup."""
    encoded = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    connects = "; connect-src 'self'" if "ids" in data else ""
    parts = {
        "CONNECTS": connects,
        "STYLE": _file("page.css"),
        "SCRIPT": _file("page.js"),
        "DATA": encoded,
    }
    text = _file("page.html")
    for name, part in parts.items():
        before, mark, after = text.partition(f"/*{name}*/")
        assert mark, f"the page has no place for its {name.lower()}"
        text = before + part + after
    return text


def _file(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text("utf-8")
