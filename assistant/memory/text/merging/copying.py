"""A conflict copy of a memory file: what it has more, taken into the file. Pure."""

from collections.abc import Container, Sequence
from dataclasses import dataclass

from assistant.memory.text.merging.units import (
    Unit,
    appended,
    ended,
    name_of,
    sections,
    struck_on,
    units_of,
)


@dataclass(frozen=True, slots=True)
class CopyMerge:
    """What a copy changes in the file that it is one of, and what of it is not taken: prose."""

    copy: str
    source: str
    before: str
    after: str
    left: tuple[str, ...] = ()


def taken_in(ours: str, copy: str, forgotten: Container[str] = ()) -> tuple[str, list[str]]:
    """Our text with the facts that a copy of it has more, and what of the copy is not taken.

    Nobody knows what both came of, so nothing is deleted; `forgotten` facts, by their words folded,
    do not come back, and prose that differs is not taken.
    """
    own, other = units_of(ours), units_of(copy)
    known = {name_of(each) for each in own}
    there = {each.key: each for each in other if each.kind == "item"}
    more = {name: _more(units, known, forgotten) for name, units in sections(other).items()}
    out: list[Unit] = []
    for name, units in sections(own).items():
        said = [max(each, there.get(each.key, each), key=_struck_at) for each in units]
        out += appended(said, more.pop(name, []))
    for name, units in more.items():
        heading = [Unit(f"{name}\n", "heading", name)] if name else []
        out += appended(heading, units) if units else []
    left = [each.text for each in other if each.kind == "prose" and name_of(each) not in known]
    text = "".join(each.text for each in ended(out))
    return (text if ours.endswith("\n\n") else f"{text.rstrip(chr(10))}\n"), left


def _more(
    units: Sequence[Unit], known: set[tuple[str, str]], forgotten: Container[str]
) -> list[Unit]:
    """The facts among units that are not known; from now on they are."""
    found = []
    for each in units:
        if each.kind == "item" and name_of(each) not in known and each.key not in forgotten:
            known.add(name_of(each))
            found.append(each)
    return found


def _struck_at(unit: Unit) -> str:
    return struck_on(unit.text.split("\n")[0]) if unit.kind == "item" else ""
