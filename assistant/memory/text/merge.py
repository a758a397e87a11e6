"""Merge two versions of a memory file, fact by fact. Pure."""

import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from assistant.memory.text.identity import fact_key
from assistant.memory.text.markdown import (
    MARKERS,
    named_successor,
    newline,
    plain,
    strike_out,
    struck,
    with_newlines,
)

_ITEM = re.compile(r"(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)")
_HEADING = re.compile(r"#{1,6}(?:[ \t]|$)")
_FENCE = re.compile(r"(`{3,}|~{3,})")
_LINE = re.compile(r"[^\n]*\n|[^\n]+\Z")


@dataclass(frozen=True, slots=True)
class Unit:
    """A list item with what is nested in it, a heading, blank lines, or prose.

    `key` is the same for the same fact, struck out or not.
    """

    text: str
    kind: str
    key: str


def units_of(text: str) -> list[Unit]:
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


def _unit(text: str, kind: str) -> Unit:
    match kind:
        case "item":
            return Unit(text, kind, fact_key(_said(text.partition("\n")[0])))
        case "blank":
            return Unit(text, kind, "")
        case _:
            return Unit(text, kind, text.strip())


def _said(line: str) -> str:
    """What a fact says, or said before it was struck out."""
    marker = MARKERS.match(line)
    own = line[marker.end() if marker else 0 :].strip()
    found = struck(own)
    return plain(own[found[0] : found[1]] if found else own)


def struck_on(text: str) -> str:
    """When a fact was struck out: later is greater; a day that is not told comes first."""
    line = text.partition("\n")[0]
    marker = MARKERS.match(line)
    found = struck(line[marker.end() if marker else 0 :].strip())
    return f"1{found[2] or ''}" if found else ""


def name_of(unit: Unit) -> tuple[str, str]:
    return unit.kind, unit.key


def items_of(units: Iterable[Unit]) -> dict[str, Unit]:
    """The facts among units, by their keys."""
    return {each.key: each for each in units if each.kind == "item"}


def sections(units: Sequence[Unit]) -> dict[str, list[Unit]]:
    """The units under each heading of a region, the heading first; "" before the first one."""
    found: dict[str, list[Unit]] = {}
    name = ""
    for each in units:
        if each.kind == "heading":
            name = each.key
        found.setdefault(name, []).append(each)
    return found


def appended(kept: list[Unit], added: list[Unit]) -> list[Unit]:
    """What is added, right behind the last unit that is not blank."""
    if not added:
        return kept
    end = max((n for n, each in enumerate(kept, start=1) if each.kind != "blank"), default=0)
    between = []
    if end and kept[end - 1].kind == "heading" and added[0].kind == "item":
        between = [Unit("\n", "blank", "")]
    return [*kept[:end], *between, *added, *(kept[end:] or [Unit("\n", "blank", "")])]


def ended(units: Sequence[Unit]) -> list[Unit]:
    """Without a second blank line where two parts met, and none at the end but the line's own."""
    out: list[Unit] = []
    for each in units:
        if each.kind == "blank" and out and out[-1].kind == "blank":
            out[-1] = max(out[-1], each, key=lambda blank: len(blank.text))
            continue
        if each.kind == "heading" and out and out[-1].kind not in ("blank", "heading"):
            out.append(Unit("\n", "blank", ""))
        out.append(each)
    return out


def lines_of(text: str) -> list[str]:
    """The lines of a text, with their ends."""
    return _LINE.findall(text)


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
        first, last = (named_successor(text.partition("\n")[0]) for text in (earlier, later))
        if not first or not last:
            continue
        loser = fact_key(plain(first))
        if loser not in base and loser != fact_key(plain(last)):
            yield loser, f"(superseded {struck_on(later)[1:]}: {last})"


def _struck(unit: Unit, note: str) -> Unit:
    if unit.kind != "item" or struck_on(unit.text):
        return unit
    return replace(unit, text=strike_out(unit.text, note) or unit.text)


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
