"""Two versions of a memory file that came of one, united fact by fact. Pure.

What both sides added stays, each fact once; what one side deleted is gone; of two supersessions of
a fact the later one stands. Prose that both sides changed is left to the owner, between the marks
that git puts there. What comes of it is the same whichever side is called ours.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from assistant.memory.text.markdown.lines import newline, with_newlines
from assistant.memory.text.merging.overruling import overruled
from assistant.memory.text.merging.units import (
    Unit,
    appended,
    ended,
    lines_of,
    name_of,
    sections,
    struck_on,
    units_of,
)

MARKS = ("<<<<<<<", "=======", ">>>>>>>")
_MARKED = re.compile(r"^(?:<{7}|>{7})(?:[ \t]|$)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class United:
    """What came of it; `conflicts` are how many places hold marks."""

    text: str
    conflicts: int = 0


def marked_line(text: str) -> int | None:
    """The line, from 1, of the first mark of an unfinished merge; None if there is none."""
    found = _MARKED.search(text)
    return text.count("\n", 0, found.start()) + 1 if found else None


def united(base: str, ours: str, theirs: str) -> United:
    """The two versions as one; its lines end as those of the side that changed their ends."""
    if ours == theirs or theirs == base:
        return United(ours)
    if ours == base:
        return United(theirs)
    if any("\r" in text for text in (base, ours, theirs)):
        new = {newline(ours), newline(theirs)} - {newline(base)}
        done = united(*(with_newlines(text, "\n") for text in (base, ours, theirs)))
        return replace(done, text=with_newlines(done.text, min(new, default=newline(base))))
    parts = [units_of(text) for text in (base, ours, theirs)]
    out: list[Unit] = []
    conflicts = 0
    for region in _regions(*parts):
        if (joined := _joined(*region)) is None:
            joined = [_unfinished(region)]
            conflicts += 1
        out += joined
    text = "".join(each.text for each in ended(overruled(_once(out, *parts), *parts)))
    while text.endswith("\n\n") and not any(each.endswith("\n\n") for each in (ours, theirs)):
        text = text[:-1]
    return United(text, conflicts)


# Three ways


def _regions(
    base: Sequence[Unit], ours: Sequence[Unit], theirs: Sequence[Unit]
) -> Iterator[tuple[Sequence[Unit], Sequence[Unit], Sequence[Unit]]]:
    """What the three have in common, and what they have between that."""
    here = _matched(base, ours)
    there = _matched(base, theirs)
    at = (0, 0, 0)
    for number, unit in enumerate(base):
        if number in here and number in there and here[number] >= at[1] and there[number] >= at[2]:
            yield base[at[0] : number], ours[at[1] : here[number]], theirs[at[2] : there[number]]
            yield [unit], [unit], [unit]
            at = (number + 1, here[number] + 1, there[number] + 1)
    yield base[at[0] :], ours[at[1] :], theirs[at[2] :]


def _matched(base: Sequence[Unit], other: Sequence[Unit]) -> dict[int, int]:
    """Which units of a version are those of the base."""
    matcher = SequenceMatcher(None, [u.text for u in base], [u.text for u in other], autojunk=False)
    return {
        first + n: second + n
        for first, second, size in matcher.get_matching_blocks()
        for n in range(size)
    }


def _joined(
    base: Sequence[Unit], ours: Sequence[Unit], theirs: Sequence[Unit]
) -> list[Unit] | None:
    """A region of the three as one; None where both sides changed its prose."""
    texts = [[u.text for u in side] for side in (base, ours, theirs)]
    if texts[1] == texts[2] or texts[2] == texts[0]:
        return list(ours)
    if texts[1] == texts[0]:
        return list(theirs)
    prose = [[u.text for u in side if u.kind == "prose"] for side in (base, ours, theirs)]
    if prose[1] != prose[2] and prose[0] not in (prose[1], prose[2]):
        return None
    first, second = sorted((ours, theirs), key=lambda side: [u.text for u in side])
    return _Joining(base, first, second).units()


class _Joining:
    """Joins two versions of a region, by sections; what the second has more follows the first's."""

    def __init__(self, base: Sequence[Unit], first: Sequence[Unit], second: Sequence[Unit]) -> None:
        self._base = {name_of(u): u for u in base if u.kind != "blank"}
        self._first = {name_of(u): u for u in first if u.kind != "blank"}
        self._second = {name_of(u): u for u in second if u.kind != "blank"}
        self._sections = (sections(first), sections(second))

    def units(self) -> list[Unit]:
        first, second = self._sections
        out: list[Unit] = []
        for name in [*first, *(name for name in second if name not in first)]:
            more = [
                each
                for each in second.get(name, [])
                if each.kind != "blank" and name_of(each) not in self._first
            ]
            kept = self._kept(first[name] if name in first else second[name])
            added = self._kept(more) if name in first else []
            out += appended(kept, added)
        return out

    def _kept(self, units: Sequence[Unit]) -> list[Unit]:
        """Those units that stand, as they shall be said."""
        out = []
        for each in units:
            if each.kind == "blank":
                out.append(each)
            elif (said := self._said(name_of(each))) is not None:
                out.append(said)
            else:
                out += _orphans(each, self._base[name_of(each)])
        return out

    def _said(self, name: tuple[str, str]) -> Unit | None:
        """How a unit is said; None if one side deleted it."""
        base, one, other = self._base.get(name), self._first.get(name), self._second.get(name)
        if one is None or other is None:
            deleted = base is not None and name[0] != "heading"
            return None if deleted else one or other
        if one == other or (base and other.text == base.text):
            return one
        if base and one.text == base.text:
            return other
        return _later(base, one, other)


def _orphans(unit: Unit, base: Unit) -> list[Unit]:
    """What was typed below a fact that the other side deleted, as facts of their own."""
    known = set(lines_of(base.text))
    typed = [line.lstrip() for line in lines_of(unit.text)[1:] if line not in known]
    return [each for line in typed if line for each in units_of(_as_item(line))]


def _as_item(line: str) -> str:
    return line if units_of(line)[0].kind == "item" else f"- {line}"


def _later(base: Unit | None, one: Unit, other: Unit) -> Unit:
    """Of two ways to say the same the one that was struck out later; what is nested is united."""
    head, body = one.text.split("\n", 1)
    other_head, other_body = other.text.split("\n", 1)
    line = max((head, other_head), key=lambda each: (struck_on(each), each))
    before = base.text.split("\n", 1)[1] if base else ""
    if body != other_body:
        sides = [lines_of(text) for text in (before, body, other_body)]
        first, second = sorted(sides[1:])
        gone = {each for each in sides[0] if each not in first or each not in second}
        more = [each for each in second if each not in first]
        body = "".join(each for each in [*first, *more] if each not in gone)
    return Unit(f"{line}\n{body}", one.kind, one.key)


def _once(
    out: Sequence[Unit], base: Sequence[Unit], ours: Sequence[Unit], theirs: Sequence[Unit]
) -> list[Unit]:
    """Without the second of two facts that both sides added, each in another place."""
    before, here, there = (
        Counter(each.key for each in side if each.kind == "item") for side in (base, ours, theirs)
    )
    most = {key: max(here[key], there[key], before[key]) for key in here | there}
    seen: Counter[str] = Counter()
    kept = []
    for each in out:
        if each.kind == "item" and each.key:
            seen[each.key] += 1
            if seen[each.key] > most.get(each.key, 1):
                continue
        kept.append(each)
    return kept


def _unfinished(region: tuple[Sequence[Unit], Sequence[Unit], Sequence[Unit]]) -> Unit:
    """A region as git leaves it to be finished by hand."""
    ours, theirs = ("".join(each.text for each in side) for side in region[1:])
    begin, middle, end = MARKS
    return Unit(f"{begin} ours\n{ours}{middle}\n{theirs}{end} theirs\n", "prose", "")
