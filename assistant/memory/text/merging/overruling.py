"""A fact that both sides superseded: the later successor strikes out the earlier one. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from assistant.memory.text.identity import fact_key
from assistant.memory.text.markdown import superseding
from assistant.memory.text.markdown.words import plain
from assistant.memory.text.merging.units import Unit, items_of, struck_on


def overruled(
    units: Sequence[Unit], base: Sequence[Unit], one: Sequence[Unit], other: Sequence[Unit]
) -> list[Unit]:
    """The units, in which a successor that came too late to hold is superseded itself.

    Of two that came on the same day nobody knows which is right; both stand.
    """
    notes = dict(_notes(items_of(base), items_of(one), items_of(other)))
    return [_struck(each, notes[each.key]) if each.key in notes else each for each in units]


def _notes(
    base: Mapping[str, Unit], one: Mapping[str, Unit], other: Mapping[str, Unit]
) -> Iterator[tuple[str, str]]:
    """The keys of the successors that do not hold, and the note behind each."""
    for key in one.keys() & other.keys():
        earlier, later = sorted((one[key].text, other[key].text), key=struck_on)
        known = base.get(key)
        if struck_on(earlier) == struck_on(later) or (known and known.text in (earlier, later)):
            continue
        first, last = (superseding.successor(text.partition("\n")[0]) for text in (earlier, later))
        if not first or not last:
            continue
        loser = fact_key(plain(first))
        if loser not in base and loser != fact_key(plain(last)):
            yield loser, f"(superseded {struck_on(later)[1:]}: {last})"


def _struck(unit: Unit, note: str) -> Unit:
    if unit.kind != "item" or struck_on(unit.text):
        return unit
    return replace(unit, text=superseding.strike(unit.text, note) or unit.text)
