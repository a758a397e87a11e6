"""Two versions of a memory file that came of one, united fact by fact. Pure.

What both sides added stays, each fact once; what one side deleted is gone; of two supersessions of
a fact the later one stands. Prose that both sides changed is left to the owner, between the marks
that git puts there. What comes of it is the same whichever side is called ours.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from assistant.memory.text import superseding
from assistant.memory.text.identity import fact_key
from assistant.memory.text.words import plain

MARKS = ("<<<<<<<", "=======", ">>>>>>>")
_MARKED = re.compile(r"^(?:<{7}|>{7})(?:[ \t]|$)", re.MULTILINE)
_ITEM = re.compile(r"(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)")
_HEADING = re.compile(r"#{1,6}(?:[ \t]|$)")
_FENCE = re.compile(r"(`{3,}|~{3,})")
_LINE = re.compile(r"[^\n]*\n|[^\n]+\Z")


@dataclass(frozen=True, slots=True)
class United:
    """What came of it; `conflicts` are how many places hold marks."""

    text: str
    conflicts: int = 0


@dataclass(frozen=True, slots=True)
class _Unit:
    """A list item with what is nested in it, a heading, blank lines, or prose.

    `key` is the same for the same fact, struck out or not.
    """

    text: str
    kind: str
    key: str


def marked_line(text: str) -> int | None:
    """The line, from 1, of the first mark of an unfinished merge; None if there is none."""
    found = _MARKED.search(text)
    return text.count("\n", 0, found.start()) + 1 if found else None


def united(base: str, ours: str, theirs: str) -> United:
    """The two versions as one."""
    if ours == theirs or theirs == base:
        return United(ours)
    if ours == base:
        return United(theirs)
    parts = [_units(text) for text in (base, ours, theirs)]
    out: list[_Unit] = []
    conflicts = 0
    for region in _regions(*parts):
        if (joined := _joined(*region)) is None:
            joined = [_unfinished(region)]
            conflicts += 1
        out += joined
    text = "".join(each.text for each in _ended(_once(out, *parts)))
    while text.endswith("\n\n") and not any(each.endswith("\n\n") for each in (ours, theirs)):
        text = text[:-1]
    return United(text, conflicts)


def added(ours: str, theirs: str) -> list[str]:
    """The facts of one text, as its list items, that another does not have."""
    known = {each.key for each in _units(ours) if each.kind == "item"}
    return [each.text for each in _units(theirs) if each.kind == "item" and each.key not in known]


# Units


def _units(text: str) -> list[_Unit]:
    """The units of a text, in order; together they are the text, its last line ended."""
    found: list[list[str]] = []
    kinds: list[str] = []
    fence = ""
    for line in _LINE.findall(text if text.endswith("\n") or not text else f"{text}\n"):
        kind = _kind(line)
        own = line.lstrip()
        opens = _FENCE.match(own)
        goes_on = bool(found) and (
            fence
            or (kind == "nested" and kinds[-1] in ("item", "prose"))
            or (kind == "prose" and kinds[-1] in ("prose", "item") and not opens)
            or (kind == "blank" and kinds[-1] == "blank")
        )
        if fence:
            fence = "" if own.startswith(fence) else fence
        elif opens:
            fence = opens[1]
        if goes_on:
            found[-1].append(line)
        else:
            found.append([line])
            kinds.append("prose" if kind == "nested" else kind)
    return [_unit("".join(lines), kind) for lines, kind in zip(found, kinds, strict=True)]


def _kind(line: str) -> str:
    if not line.strip():
        return "blank"
    if line[0] in " \t":
        return "nested"
    if _ITEM.match(line):
        return "item"
    return "heading" if _HEADING.match(line) else "prose"


def _unit(text: str, kind: str) -> _Unit:
    match kind:
        case "item":
            return _Unit(text, kind, fact_key(_said(text.partition("\n")[0])))
        case "blank":
            return _Unit(text, kind, "")
        case _:
            return _Unit(text, kind, text.strip())


def _said(line: str) -> str:
    """What a fact says, or said before it was struck out."""
    marker = superseding.MARKERS.match(line)
    own = line[marker.end() if marker else 0 :].strip()
    struck = superseding.struck(own)
    return plain(own[struck[0] : struck[1]] if struck else own)


# Three ways


def _regions(
    base: Sequence[_Unit], ours: Sequence[_Unit], theirs: Sequence[_Unit]
) -> Iterator[tuple[Sequence[_Unit], Sequence[_Unit], Sequence[_Unit]]]:
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


def _matched(base: Sequence[_Unit], other: Sequence[_Unit]) -> dict[int, int]:
    """Which units of a version are those of the base."""
    matcher = SequenceMatcher(None, [u.text for u in base], [u.text for u in other], autojunk=False)
    return {
        first + n: second + n
        for first, second, size in matcher.get_matching_blocks()
        for n in range(size)
    }


def _joined(
    base: Sequence[_Unit], ours: Sequence[_Unit], theirs: Sequence[_Unit]
) -> list[_Unit] | None:
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

    def __init__(
        self, base: Sequence[_Unit], first: Sequence[_Unit], second: Sequence[_Unit]
    ) -> None:
        self._base = {_name(u): u for u in base if u.kind != "blank"}
        self._first = {_name(u): u for u in first if u.kind != "blank"}
        self._second = {_name(u): u for u in second if u.kind != "blank"}
        self._sections = (_sections(first), _sections(second))

    def units(self) -> list[_Unit]:
        first, second = self._sections
        out: list[_Unit] = []
        for name in [*first, *(name for name in second if name not in first)]:
            more = [
                each
                for each in second.get(name, [])
                if each.kind != "blank" and _name(each) not in self._first
            ]
            kept = self._kept(first[name] if name in first else second[name])
            added = self._kept(more) if name in first else []
            out += _appended(kept, added)
        return out

    def _kept(self, units: Sequence[_Unit]) -> list[_Unit]:
        """Those units that stand, as they shall be said."""
        out = []
        for each in units:
            if each.kind == "blank":
                out.append(each)
            elif (said := self._said(_name(each))) is not None:
                out.append(said)
        return out

    def _said(self, name: tuple[str, str]) -> _Unit | None:
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


def _later(base: _Unit | None, one: _Unit, other: _Unit) -> _Unit:
    """Of two ways to say the same the one that was struck out later; what is nested is united."""
    head, body = one.text.split("\n", 1)
    other_head, other_body = other.text.split("\n", 1)
    line = max((head, other_head), key=lambda each: (_until(each), each))
    before = base.text.split("\n", 1)[1] if base else ""
    if body != other_body:
        sides = [_lines(text) for text in (before, body, other_body)]
        first, second = sorted(sides[1:])
        gone = {each for each in sides[0] if each not in first or each not in second}
        more = [each for each in second if each not in first]
        body = "".join(each for each in [*first, *more] if each not in gone)
    return _Unit(f"{line}\n{body}", one.kind, one.key)


def _until(line: str) -> str:
    """When a fact was struck out: later is greater; a day that is not told comes first."""
    marker = superseding.MARKERS.match(line)
    struck = superseding.struck(line[marker.end() if marker else 0 :].strip())
    return f"1{struck[2] or ''}" if struck else ""


def _lines(text: str) -> list[str]:
    return _LINE.findall(text)


def _name(unit: _Unit) -> tuple[str, str]:
    return unit.kind, unit.key


def _sections(units: Sequence[_Unit]) -> dict[str, list[_Unit]]:
    """The units under each heading of a region, the heading first; "" before the first one."""
    found: dict[str, list[_Unit]] = {}
    name = ""
    for each in units:
        if each.kind == "heading":
            name = each.key
        found.setdefault(name, []).append(each)
    return found


def _appended(kept: list[_Unit], added: list[_Unit]) -> list[_Unit]:
    """What is added, right behind the last unit that is not blank."""
    if not added:
        return kept
    end = max((n for n, each in enumerate(kept, start=1) if each.kind != "blank"), default=0)
    between = []
    if end and kept[end - 1].kind == "heading" and added[0].kind == "item":
        between = [_Unit("\n", "blank", "")]
    return [*kept[:end], *between, *added, *(kept[end:] or [_Unit("\n", "blank", "")])]


def _once(
    out: Sequence[_Unit], base: Sequence[_Unit], ours: Sequence[_Unit], theirs: Sequence[_Unit]
) -> list[_Unit]:
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


def _unfinished(region: tuple[Sequence[_Unit], Sequence[_Unit], Sequence[_Unit]]) -> _Unit:
    """A region as git leaves it to be finished by hand."""
    ours, theirs = ("".join(each.text for each in side) for side in region[1:])
    begin, middle, end = MARKS
    return _Unit(f"{begin} ours\n{ours}{middle}\n{theirs}{end} theirs\n", "prose", "")


def _ended(units: Sequence[_Unit]) -> list[_Unit]:
    """Without a second blank line where two parts met, and none at the end but the line's own."""
    out: list[_Unit] = []
    for each in units:
        if each.kind == "blank" and out and out[-1].kind == "blank":
            out[-1] = max(out[-1], each, key=lambda blank: len(blank.text))
            continue
        if each.kind == "heading" and out and out[-1].kind not in ("blank", "heading"):
            out.append(_Unit("\n", "blank", ""))
        out.append(each)
    return out
