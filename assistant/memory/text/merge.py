"""Merges two versions of a memory file, fact by fact. Pure.

Whether a fact stays depends on its text in base, ours and theirs, wherever it is: moving a line
restores nothing that the other side deleted. Prose that only one side changed is identified with
the base's. Then the heading of each unit is decided, then the order. The result is the same
whichever side is called ours.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import cached_property
from itertools import pairwise, takewhile

from assistant.memory import annotations
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

MARKS = ("<<<<<<<", "=======", ">>>>>>>")
_ITEM = re.compile(r"(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)")
_HEADING = re.compile(r"#{1,6}(?:[ \t]|$)")
_FENCE = re.compile(r"(`{3,}|~{3,})")
_LINE = re.compile(r"[^\n]*\n|[^\n]+\Z")

Name = tuple[str, str, int]
"""Kind, text and occurrence: equal for the same unit in two versions of a file."""
TOP: Name = ("top", "", 0)
END: Name = ("end", "", 0)


@dataclass(frozen=True, slots=True)
class Unit:
    """A list item with its nested blocks, a heading, or a paragraph or fence ("prose")."""

    text: str
    name: Name


@dataclass(frozen=True, slots=True)
class Merged:
    """A merged text; `conflicts` counts the positions with conflict markers."""

    text: str
    conflicts: int = 0


@dataclass(frozen=True, slots=True)
class CopyMerge:
    """What a conflict copy changes in its original file; `left`: prose not taken.

    `doubtful` are facts that it brings back: they were written on this machine and are gone from
    the file, whether its owner deleted them in an editor or syncing replaced the file. `fault` is
    what its owner has to fix before it can be merged.
    """

    copy: str
    source: str
    before: str
    after: str
    left: tuple[str, ...] = ()
    doubtful: tuple[str, ...] = ()
    fault: str = ""


def merge_texts(base: str, ours: str, theirs: str) -> Merged:
    """Merge two versions that derive from `base`.

    What either added stays, each fact once; what one side deleted is gone; of two supersessions of
    a fact the later one wins. Prose that both sides changed is left to the owner, between git's
    conflict markers. Line endings are those of the side that changed them.
    """
    if ours == theirs or theirs == base:
        return Merged(ours)
    if ours == base:
        return Merged(theirs)
    if any("\r" in text for text in (base, ours, theirs)):
        new = {newline(ours), newline(theirs)} - {newline(base)}
        merged = merge_texts(*(with_newlines(text, "\n") for text in (base, ours, theirs)))
        return replace(merged, text=with_newlines(merged.text, min(new, default=newline(base))))
    return _Merge(_Version(base), _Version(ours), _Version(theirs)).result()


def merge_copy(ours: str, copy: str, forgotten: Set[str] = frozenset()) -> tuple[str, list[str]]:
    """Return our text with the additional facts of a copy of it, and the copy's prose not taken.

    Without a common base nothing is deleted except facts that were `forgotten`, by their keys, and
    are in only one of the two.
    """
    own, other, base = (_Version(with_newlines(text, "\n")) for text in (ours, copy, ""))
    facts = sorted(other.facts, key=lambda fact: struck_on(fact.text))
    latest = {fact.name[1]: fact for fact in facts}
    existing, said = {fact.name[1] for fact in own.facts}, {unit.text.strip() for unit in own.units}
    taken, left = dict[Name, Unit](), list[str]()
    for unit in other.units:
        kind, key, _ = unit.name
        if kind == "prose" and key not in said:
            left.append(unit.text)
        elif kind != "item":
            taken[unit.name] = unit
        elif key in existing or key not in forgotten:
            taken.setdefault((kind, key, 0), replace(latest[key], name=(kind, key, 0)))
    other.units = [*taken.values()]
    base.units = [unit for unit in other.units if unit.name[0] == "heading"]
    copied = {fact.name[1] for fact in other.facts}
    base.units += [fact for fact in own.facts if fact.name[1] in forgotten - copied]
    merged = _Merge(base, own, other, own).result()
    return with_newlines(merged.text, newline(ours)), left


def added(before: str, after: str) -> dict[str, str]:
    """Return the facts in `after` that are not in `before`, verbatim, by their keys."""
    existing = {fact.name[1] for fact in _Version(before).facts}
    return {
        fact.name[1]: fact.text.strip()
        for fact in _Version(after).facts
        if fact.name[1] not in existing and not struck_on(fact.text)
    }


def struck_on(text: str) -> str:
    """Return when a fact was struck out: later is greater; an unknown day comes first."""
    span = struck(_without_marker(text.partition("\n")[0]))
    return f"1{span[2] or ''}" if span else ""


# A version of a file


class _Version:
    """A text as units, and the gaps between them."""

    def __init__(self, text: str) -> None:
        self.units: list[Unit] = []
        self.gaps: dict[tuple[Name, Name], str] = {}
        """The blank lines between two adjacent units."""
        self.more: dict[Name, list[Unit]] = {}
        """Other candidates for a changed unit of prose, elsewhere under its heading."""
        seen: Counter[tuple[str, str]] = Counter()
        before, gap = TOP, ""
        for kind, block in _blocks(text):
            if kind == "blank":
                gap = block
                continue
            key = fact_key(_words(block.partition("\n")[0])) if kind == "item" else block.strip()
            name = (kind, key, seen[kind, key])
            seen[kind, key] += 1
            self.gaps[before, name] = gap
            self.units.append(Unit(block, name))
            before, gap = name, ""
        self.gaps[before, END] = gap

    def name_changed_prose(self, base: "_Version", other: "_Version") -> None:
        """Give prose that only this side changed its name in the base: between the same headings
        and unchanged prose, in order. The last one includes what was typed directly after it."""
        old, new, others = ({unit.name for unit in side.units} for side in (base, self, other))
        before = _prose_after(base.units, old & new)
        after = _prose_after(self.units, old & new)
        renamed = dict[Name, Name]()
        for anchor, gone in before.items():
            typed = [unit for unit in after.get(anchor, []) if unit.name not in others]
            renamed |= {new.name: old.name for old, new in zip(gone, typed, strict=False)}
            for one, two in pairwise(typed[len(gone) - 1 :]):
                if one.name in renamed and (one.name, two.name) in self.gaps:
                    renamed[two.name] = gone[-1].name
                else:
                    self.more.setdefault(gone[-1].name, []).append(two)
        units: list[Unit] = []
        for unit in self.units:
            name = renamed.get(unit.name, unit.name)
            typed = [units.pop(), unit] if units and units[-1].name == name else [unit]
            units.append(Unit("\n".join(part.text for part in typed), name))
        self.units = units
        self.gaps = {
            (renamed.get(one, one), renamed.get(two, two)): gap
            for (one, two), gap in self.gaps.items()
        }

    @property
    def facts(self) -> list[Unit]:
        return [unit for unit in self.units if unit.name[0] == "item"]

    @cached_property
    def by_name(self) -> dict[Name, Unit]:
        return {unit.name: unit for unit in self.units}

    @cached_property
    def sections(self) -> dict[Name, list[Name]]:
        """The names under each heading, including itself; `TOP` is above the first heading."""
        sections: dict[Name, list[Name]] = {TOP: [TOP]}
        heading = TOP
        for unit in self.units:
            if unit.name[0] == "heading":
                heading = unit.name
            sections.setdefault(heading, []).append(unit.name)
        return sections

    @cached_property
    def heading_of(self) -> dict[Name, Name]:
        return {name: heading for heading, names in self.sections.items() for name in names}

    @cached_property
    def gaps_before(self) -> dict[tuple[Name, str], str]:
        """The blank lines after a unit, by the kind of the next unit."""
        return {(one, other[0]): gap for (one, other), gap in self.gaps.items()}


def _blocks(text: str) -> Iterator[tuple[str, str]]:
    """Yield the blocks of a text with their kinds; joined they are the text, its last line
    ended."""
    kind, lines, fence = "", list[str](), ""
    for line in _LINE.findall(text if text.endswith("\n") or not text else f"{text}\n"):
        own, is_nested = line.lstrip(), line[0] in " \t"
        opens = _FENCE.match(own)
        if not own:
            now = "blank"
        elif is_nested or not (_ITEM.match(line) or _HEADING.match(line)):
            now = "prose"
        else:
            now = "item" if _ITEM.match(line) else "heading"
        continues = (
            fence
            or (now == "prose" and kind in ("item", "prose") and (is_nested or not opens))
            or (now == "blank" and kind == "blank")
        )
        if fence:
            fence = "" if own.startswith(fence) else fence
        elif opens:
            fence = opens[1]
        if continues:
            lines.append(line)
            continue
        if lines:
            yield kind, "".join(lines)
        kind, lines = now, [line]
    if lines:
        yield kind, "".join(lines)


def _without_marker(line: str) -> str:
    marker = MARKERS.match(line)
    return line[marker.end() if marker else 0 :].strip()


def _words(line: str) -> str:
    """Return the text of a fact, or of one that was struck out."""
    own = _without_marker(line)
    span = struck(own)
    return plain(own[span[0] : span[1]] if span else own)


# The three-way merge


class _Merge:
    """A merge of two versions. `lead` and `other` are the sides, independent of which is called
    ours, unless one is chosen as the `lead`."""

    def __init__(
        self, base: _Version, ours: _Version, theirs: _Version, lead: _Version | None = None
    ) -> None:
        self._base = base
        self._lead, self._other = sorted(
            (ours, theirs),
            key=lambda side: (side is not lead, [unit.text for unit in side.units]),
        )
        ours.name_changed_prose(base, theirs)
        theirs.name_changed_prose(base, ours)
        self._merged: dict[Name, Unit] = {TOP: Unit("", TOP)}
        self._orphans: dict[Name, list[Unit]] = {}
        self._conflicts: list[Name] = []
        for name in self._lead.by_name | self._other.by_name:
            self._decide(name)
        for name in self._conflicts:
            self._mark_conflict(name, ours, theirs)

    def result(self) -> Merged:
        sections = self._sections()
        names = []
        for heading in self._merged_order(*(list(side.sections) for side in self._versions)):
            units = sections.get(heading, [])
            deleted = heading in self._base.by_name and not (
                heading in self._lead.by_name and heading in self._other.by_name
            )
            if units or not deleted:
                names += [heading, *units]
        by_name = [side.by_name for side in self._versions]
        merged = self._merged | _overruled(self._merged, *by_name)
        return Merged(
            _text(names, merged, [self._lead, self._other, self._base]), len(self._conflicts)
        )

    @property
    def _versions(self) -> tuple[_Version, _Version, _Version]:
        return self._base, self._lead, self._other

    def _decide(self, name: Name) -> None:
        """Decide whether a unit stays, and with which text. What was typed below a fact that the
        other side deleted becomes separate facts."""
        base, one, other = (side.by_name.get(name) for side in self._versions)
        if one and other:
            if one.text == other.text or (base and other.text == base.text):
                self._merged[name] = one
            elif base and one.text == base.text:
                self._merged[name] = other
            elif base and name[0] == "prose":
                self._conflicts.append(name)
            else:
                self._merged[name] = _later(base, one, other)
        elif (kept := one or other) and (
            base is None or name[0] == "heading" or (name[0] == "prose" and kept.text != base.text)
        ):
            self._merged[name] = kept
        elif kept and base:
            base_lines = set(_lines(base.text))
            typed = [line.lstrip() for line in _lines(kept.text)[1:] if line not in base_lines]
            items = [line if _ITEM.match(line) else f"- {line}" for line in typed if line.strip()]
            self._orphans[name] = [Unit(item, ("item", item, 0)) for item in items]
            self._merged |= {unit.name: unit for unit in self._orphans[name]}

    def _sections(self) -> dict[Name, list[Name]]:
        """Return the units under each heading, in order."""
        orders: tuple[dict[Name, list[Name]], ...] = ({}, {}, {})
        for side, order in zip(self._versions, orders, strict=True):
            for unit in side.units:
                name, heading = unit.name, side.heading_of[unit.name]
                belongs = side is self._base or heading == self._heading_of(name)
                if name[0] != "heading" and belongs:
                    order.setdefault(heading, []).append(name)
        merged = {}
        for heading in orders[1] | orders[2]:
            base, lead, other = ([heading, *order.get(heading, [])] for order in orders)
            alive = [
                [
                    living.name
                    for name in side
                    for living in self._orphans.get(name, [self._merged.get(name)])
                    if living
                ]
                for side in (base, lead, other)
            ]
            merged[heading] = self._merged_order(*alive)[1:]
        return merged

    def _heading_of(self, name: Name) -> Name:
        """Return the heading of a unit, as moved by either side."""
        base, one, other = (side.heading_of.get(name) for side in self._versions)
        heading = other if one is None or (other and one == base) else one
        assert heading is not None
        return heading

    def _merged_order(
        self, base: Sequence[Name], lead: Sequence[Name], other: Sequence[Name]
    ) -> list[Name]:
        """Return the lead's order, with what the other side moved or added inserted after its
        predecessor there. Of two runs of new units at one position, the lesser comes first."""
        shifted = _moved(base, other) - _moved(base, lead)
        ahead = [name for name in dict.fromkeys(lead) if name not in shifted]
        after: dict[Name, Name] = dict(pairwise([*ahead, END]))
        new = set(lead).difference(base, other)
        others = list(dict.fromkeys(other))
        for number, (before, name) in enumerate(pairwise(others), start=1):
            if name in after:
                continue
            run, last = list[Name](), before
            while after[last] in new:
                last = after[last]
                run.append(last)
            more = list(takewhile(lambda name: name not in after, others[number:]))
            if run <= more:
                before = last
            for unit in more:
                after[unit], after[before] = after[before], unit
                before = unit
        order = [lead[0]]
        while (following := after[order[-1]]) != END:
            order.append(following)
        return order

    def _mark_conflict(self, name: Name, ours: _Version, theirs: _Version) -> None:
        """Replace the same prose with both sides' versions of it, between markers."""
        texts = []
        for side in (ours, theirs):
            units = [side.by_name[name], *side.more.get(name, [])]
            texts.append("\n".join(unit.text for unit in units))
            for unit in units:
                self._merged.pop(unit.name, None)
        begin, middle, end = MARKS
        text = f"{begin} ours\n{texts[0]}{middle}\n{texts[1]}{end} theirs\n"
        self._merged[name] = Unit(text, name)


def _prose_after(units: Sequence[Unit], stable: set[Name]) -> dict[Name, list[Unit]]:
    """Return the unstable prose, by the stable heading or prose that it follows."""
    result: dict[Name, list[Unit]] = {}
    anchor = TOP
    for unit in units:
        if unit.name[0] == "item":
            continue
        if unit.name in stable:
            anchor = unit.name
        elif unit.name[0] == "prose":
            result.setdefault(anchor, []).append(unit)
    return result


def _moved(base: Sequence[Name], side: Sequence[Name]) -> set[Name]:
    """Return the names of the base that a side has in another order."""
    in_base, in_side = set(base), set(side)
    before = [name for name in base if name in in_side]
    now = [name for name in side if name in in_base]
    if before == now:
        return set()
    blocks = SequenceMatcher(None, before, now, autojunk=False).get_matching_blocks()
    return set(now).difference(*(now[b.b : b.b + b.size] for b in blocks))


def _later(base: Unit | None, one: Unit, other: Unit) -> Unit:
    """Return the version of a fact that was struck out later, with the nested lines and the
    comments of both."""
    head, body = one.text.split("\n", 1)
    other_head, other_body = other.text.split("\n", 1)
    base_head, before = base.text.split("\n", 1) if base else ("", "")
    heads = sorted((head, other_head), key=lambda text: (struck_on(text), text), reverse=True)
    words, comments = zip(*map(annotations.split_comments, (base_head, *heads)), strict=True)
    line = (words[2] if words[1] == words[0] else words[1]) + annotations.merged(*comments)
    if body != other_body:
        base_lines, first, second = (_lines(text) for text in (before, body, other_body))
        deleted = {text for text in base_lines if text not in first or text not in second}
        more = [text for text in second if text not in first]
        body = "".join(text for text in [*first, *more] if text not in deleted)
    return Unit(f"{line}\n{body}", one.name)


def _overruled(
    units: Mapping[Name, Unit],
    base: Mapping[Name, Unit],
    one: Mapping[Name, Unit],
    other: Mapping[Name, Unit],
) -> dict[Name, Unit]:
    """Return, struck out, the overruled successors of facts that both sides superseded. Of two of
    the same day both stay, since it is unknown which is right."""
    facts = {name[1] for name in base if name[0] == "item"}
    result = {}
    for name in one.keys() & other.keys():
        earlier, later = sorted((one[name].text, other[name].text), key=struck_on)
        before = base.get(name)
        if struck_on(earlier) == struck_on(later) or (before and before.text in (earlier, later)):
            continue
        first, last = (named_successor(text.partition("\n")[0]) for text in (earlier, later))
        if not first or not last:
            continue
        loser = ("item", fact_key(plain(first)), 0)
        if loser[1] in facts or loser[1] == fact_key(plain(last)) or loser not in units:
            continue
        if not struck_on(units[loser].text):
            note = f"(superseded {struck_on(later)[1:]}: {last})"
            result[loser] = Unit(strike_out(units[loser].text, note) or units[loser].text, loser)
    return result


def _text(names: Sequence[Name], units: Mapping[Name, Unit], versions: Sequence[_Version]) -> str:
    """Join the units with the gaps of the versions; by default, a blank line next to headings and
    prose."""
    parts = []
    for one, other in pairwise([*dict.fromkeys([TOP, *names]), END]):
        gaps = [side.gaps.get((one, other)) for side in versions]
        if one[0] in ("item", "heading") and other[0] == "item":
            gaps += [side.gaps_before.get((one, "item")) for side in versions]
        is_joined = one == TOP or other == END or one[0] == other[0] == "item"
        gap = next((gap for gap in gaps if gap is not None), "" if is_joined else "\n")
        parts += [units[one].text if one in units else "", gap]
    return "".join(parts)


def _lines(text: str) -> list[str]:
    return _LINE.findall(text)
