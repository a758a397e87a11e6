"""The units of a memory file: list items, headings, blank lines, prose. Pure."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from assistant.memory.text.identity import fact_key
from assistant.memory.text.markdown import superseding
from assistant.memory.text.markdown.words import plain

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
    marker = superseding.MARKERS.match(line)
    own = line[marker.end() if marker else 0 :].strip()
    struck = superseding.struck(own)
    return plain(own[struck[0] : struck[1]] if struck else own)


def struck_on(text: str) -> str:
    """When a fact was struck out: later is greater; a day that is not told comes first."""
    line = text.partition("\n")[0]
    marker = superseding.MARKERS.match(line)
    struck = superseding.struck(line[marker.end() if marker else 0 :].strip())
    return f"1{struck[2] or ''}" if struck else ""


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
