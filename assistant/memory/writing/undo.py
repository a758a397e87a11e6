"""Take an edit back from a file that has changed since: its own lines exactly, or not at all."""

import re
from collections.abc import Iterator, Sequence

from assistant.errors import LedgerError
from assistant.memory.text.chunk import chunks_of
from assistant.memory.text.markdown import LINES, line_digest, lines_above, lines_below
from assistant.memory.writing.draft import Draft
from assistant.memory.writing.edits import stated
from assistant.memory.writing.entries import Edit, Write
from assistant.memory.writing.images import Images
from assistant.memory.writing.markup import Splice, removal, with_emptied_heading

_HEADING = re.compile(r"## (.+)")
_STARTS = re.compile(r"^(?=[^\r\n])|\Z", re.MULTILINE)


def reversal(text: str, state: str, edit: Edit, removed: str) -> Splice:
    """The edit that takes `edit` back; `state` is the text's digest, `removed` what it removed.

    Exact to the byte if the file is as the edit left it. Otherwise the lines it added are found
    where they stand now, and what it removed goes back between the neighbours it had.
    Raises LedgerError if the owner has since changed those lines, or the neighbours of removed
    ones.
    """
    if state == edit.after:
        return Splice(edit.at, edit.inserted, removed)
    if not edit.inserted:
        return Splice(_between(text, edit), "", removed)
    whole = [at for at in _occurrences(text, edit.inserted) if _neighbours(text, at, edit)]
    if len(whole) == 1:
        return Splice(whole[0], edit.inserted, removed)
    return _changed_place(text, edit, removed)


def _changed_place(text: str, edit: Edit, removed: str) -> Splice:
    if removed:
        found = list(_occurrences(text, edit.inserted))
        if len(found) == 1:
            return Splice(found[0], edit.inserted, removed)
        raise _refused(edit, found)
    lines = [line.strip() for line in LINES.findall(edit.inserted)]
    found = [line.start() for line in LINES.finditer(text) if line[0].strip() == lines[-1]]
    if len(found) != 1:
        raise _refused(edit, found)
    cut = removal(text, found[0], found[0] + len(lines[-1]))
    heading = _HEADING.fullmatch(lines[0])
    return with_emptied_heading(text, cut, heading[1]) if heading else cut


def _refused(edit: Edit, found: list[int]) -> LedgerError:
    what = "stand there more than once" if found else "have been changed since"
    return LedgerError(
        f"this cannot be undone: its lines in {edit.source} {what}", "Edit the file by hand"
    )


def _occurrences(text: str, part: str) -> Iterator[int]:
    at = text.find(part)
    while at >= 0:
        yield at
        at = text.find(part, at + 1)


def _neighbours(text: str, at: int, edit: Edit) -> bool:
    """Whether the nearest lines around what was inserted at `at` are those it had."""
    above = _nearest(lines_above(text, at)) == edit.above[:1]
    return above and _nearest(lines_below(text, at + len(edit.inserted))) == edit.below[:1]


def _nearest(lines: Iterator[str]) -> tuple[str, ...]:
    return tuple(line_digest(line) for line in lines)[:1]


def _between(text: str, edit: Edit) -> int:
    """The one place whose neighbours are those that the removed lines had, or most of them."""
    scores = {found.start(): _score(text, found.start(), edit) for found in _STARTS.finditer(text)}
    best = max(scores.values(), default=0)
    places = [at for at, score in scores.items() if score == best]
    if not edit.above and not edit.below:
        return 0
    if best == 0 or len(places) != 1:
        raise LedgerError(
            f"this cannot be undone: the lines around it in {edit.source} have changed since",
            "`assistant memory log` shows its text",
        )
    return places[0]


def _score(text: str, at: int, edit: Edit) -> int:
    above = tuple(line_digest(line) for line in lines_above(text, at))
    below = tuple(line_digest(line) for line in lines_below(text, at))
    return (
        2 * (above[:1] == edit.above[:1])
        + 2 * (below[:1] == edit.below[:1])
        + (above == edit.above)
        + (below == edit.below)
    )


def still_gone(draft: Draft, history: Images, sources: Sequence[str], write: Write) -> list[Edit]:
    """A write's edits, without those that took away what the owner has put back since."""
    left = {edit.source: edit.after for edit in write.edits}

    def is_back(edit: Edit) -> bool:
        if not edit.removed or draft.digest(edit.source) == left[edit.source]:
            return False
        facts = chunks_of(history.read(edit.removed) or "", edit.source)
        return bool(facts) and all(stated(draft, sources, fact.plain, {}) for fact in facts)

    return [edit for edit in write.edits if write.action != "forget" or not is_back(edit)]


def reversed_edits(draft: Draft, history: Images, edits: Sequence[Edit]) -> list[Edit]:
    """Take edits back, the last first. Raises LedgerError if one cannot be."""
    made = []
    for edit in reversed(edits):
        removed = history.read(edit.removed) if edit.removed else ""
        if removed is None:
            raise LedgerError("this cannot be undone: what it removed is no longer kept")
        text, state = draft.settled(edit.source), draft.digest(edit.source)
        made.append(draft.edit(edit.source, reversal(text, state, edit, removed)))
    return made
