"""A conflict copy of a memory file: what it has more, taken into the file. Pure."""

from collections.abc import Container, Sequence
from dataclasses import dataclass

from assistant.memory.text.markdown.lines import newline, with_newlines
from assistant.memory.text.merging.overruling import overruled
from assistant.memory.text.merging.units import (
    Unit,
    appended,
    ended,
    items_of,
    lines_of,
    name_of,
    sections,
    struck_on,
    units_of,
)


@dataclass(frozen=True, slots=True)
class CopyMerge:
    """What a copy changes in the file that it is one of, and what of it is not taken: prose.

    `doubtful` are facts that it brings back: they were written on this machine and are gone from
    the file, be it that its owner deleted them in an editor or that syncing replaced it. `fault`
    says why it can be taken in only once its owner has put something right.
    """

    copy: str
    source: str
    before: str
    after: str
    left: tuple[str, ...] = ()
    doubtful: tuple[str, ...] = ()
    fault: str = ""


def taken_in(ours: str, copy: str, forgotten: Container[str] = ()) -> tuple[str, list[str]]:
    """Our text with the facts that a copy of it has more, and what of the copy is not taken.

    Nobody knows what both came of, so nothing is deleted; `forgotten` facts, by their words folded,
    do not come back, and prose that differs is not taken.
    """
    ends = newline(ours)
    ours, copy = with_newlines(ours, "\n"), with_newlines(copy, "\n")
    own, other = units_of(ours), units_of(copy)
    known = {name_of(each) for each in own}
    there = items_of(other)
    more = {name: _more(units, known, forgotten) for name, units in sections(other).items()}
    out: list[Unit] = []
    for name, units in sections(own).items():
        said = [_with(each, there.get(each.key)) for each in units]
        out += appended(said, more.pop(name, []))
    for name, units in more.items():
        heading = [Unit(f"{name}\n", "heading", name)] if name else []
        out += appended(heading, units) if units else []
    left = [each.text for each in other if each.kind == "prose" and name_of(each) not in known]
    text = "".join(each.text for each in ended(overruled(out, (), own, other)))
    text = text if ours.endswith("\n\n") else f"{text.rstrip(chr(10))}\n"
    return with_newlines(text, ends), left


def added(before: str, after: str) -> dict[str, str]:
    """The facts that a text has more than another and that stand, as they are said, by their
    keys."""
    known = items_of(units_of(before))
    return {
        key: each.text.strip()
        for key, each in items_of(units_of(after)).items()
        if key not in known and not struck_on(each.text)
    }


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


def _with(own: Unit, other: Unit | None) -> Unit:
    """A unit of ours as it is said in the copy, if it was struck out later there, and with what is
    nested in it there."""
    if other is None or own.kind != "item" or own.text == other.text:
        return own
    head = max(own.text, other.text, key=struck_on).partition("\n")[0]
    body, more = (lines_of(each.text.partition("\n")[2]) for each in (own, other))
    return Unit("".join([f"{head}\n", *body, *(line for line in more if line not in body)]),
                own.kind, own.key)  # fmt: skip
