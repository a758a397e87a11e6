"""The edits of a write: finding a fact, striking it out, removing it, undoing.

An edit of a file that has changed since is undone at exactly its own lines, or not at all.
"""

import itertools
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from functools import lru_cache
from operator import itemgetter

from assistant.errors import LedgerError
from assistant.memory.annotations import in_core, mattering, without_phrases
from assistant.memory.base import Mark, Passage
from assistant.memory.text.chunk import Chunk, chunks_of
from assistant.memory.text.headings import concerns_project, heading_paths, project_names
from assistant.memory.text.identity import fact_key
from assistant.memory.text.markdown import (
    BREAKS,
    LINES,
    is_struck,
    newline,
    plain,
    strike_out,
    superseded_note,
    unclosed_comment,
)
from assistant.memory.writing.draft import Draft
from assistant.memory.writing.images import Images
from assistant.memory.writing.journal import Edit, Write
from assistant.memory.writing.markup import (
    Splice,
    common,
    escape,
    insertion,
    neighbours,
    removal,
    with_emptied_heading,
)
from assistant.workspace.folder import MEMORY_FILE

LONG = 200
"""The length in characters from which a passage may be only a piece of a chunk."""
LONG_SECTION, SECTIONS = 1 << 14, 1 << 10
"""The length in characters from which a folded section is not cached; the number of cached ones:
some 20,000 facts."""
_WORD = re.compile(r"(?<!\w)[^\W_]+(?!\w)")
_WORD_WITHIN = re.compile(r"[^\W_]+")
_BLOCK_ENDS = re.compile(r"\n(?=(?:[-+*]|\d{1,9}[.)]|#{1,6})[ \t])|\n[ \t\r]*\n(?=\S)")
"""Where every passage ends: before a top-level item, and after a blank line."""
_SECTION_ENDS = re.compile(r"\n(?=#{1,6}[ \t])")
_DATED_HEADING = re.compile(r"^## (.+? -- \d{4}-\d\d-\d\d)[ \t]*\r?$", re.MULTILINE)
_HEADING = re.compile(r"## (.+)")
_CONTINUES = re.compile(r"[ \t]*(?!>|(?:[-+*]|\d{1,9}[.)]|#{1,6})(?:\s|$))\S")
"""A line that continues the paragraph or list item above it."""
_LINE_STARTS = re.compile(r"^(?=[^\r\n])|\Z", re.MULTILINE)


# Find


def find_fact(
    draft: Draft, sources: Iterable[str], fact: str, heading: Sequence[str] | None = None
) -> tuple[str, int] | None:
    """Return the memory file and line that state this fact already, for the project of these
    headings or in general; None if none does.

    Raises StorageError if MEMORY.md cannot be read; other unreadable files are skipped.
    """
    for source in dict.fromkeys([MEMORY_FILE, *sources]):
        is_read = source == MEMORY_FILE or draft.is_text(source)
        if is_read and (line := line_stating(draft.text(source), source, fact, heading)):
            return source, line
    return None


def line_stating(
    text: str, source: str, fact: str, heading: Sequence[str] | None = None
) -> int | None:
    """Return the line of the current passage whose whole text is `fact` (clean text), and which
    belongs to the project of these headings, if given, or to none."""
    own = project_names(heading or ())
    key, words = fact_key(fact), _WORD.findall(_folded(fact))
    sections = (
        _kept_folded(section) if len(section) < LONG_SECTION else _folded(section)
        for section in _SECTION_ENDS.split(text)
    )
    candidates = [section for section in sections if all(word in section for word in words)]
    blocks = itertools.chain.from_iterable(map(_BLOCK_ENDS.split, candidates))
    if not any(_has(block, words) for block in blocks):
        return None  # parsing a file takes a hundred times as long
    for chunk in chunks_of(text, source):
        is_code = chunk.text.startswith(("```", "~~~"))
        is_fact = chunk.status == "current" and not is_code and fact_key(chunk.plain) == key
        if is_fact and (heading is None or concerns_project(chunk.heading, own)):
            return chunk.start_line
    return None


def _has(block: str, words: Sequence[str]) -> bool:
    """Return whether a block has these words, in this order."""
    if any(word not in block for word in words):  # most blocks, and much faster
        return False
    rest = iter(_WORD_WITHIN.findall(block))
    return all(word in rest for word in words)


def _folded(text: str) -> str:
    """Return a text in which equal words are spelled equally."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


_kept_folded = lru_cache(SECTIONS)(_folded)


def _span(chunks: Sequence[Chunk], passage: Passage) -> tuple[int, int]:
    """Return the position of a passage in the file's current text. Raises LedgerError if it has
    changed."""
    span = passage.start_char, passage.end_char
    same = [chunk for chunk in chunks if chunk.text == passage.text]
    whole = [(chunk.start_char, chunk.end_char) for chunk in same]
    piece = re.compile(re.escape(passage.text))
    pieces = [
        (chunk.start_char + match.start(), chunk.start_char + match.end())
        for chunk in chunks
        if len(chunk.text) >= LONG
        for match in piece.finditer(chunk.text)
    ]
    if span in whole or span in pieces:
        return span
    if len(whole) > 1:
        whole = [(chunk.start_char, chunk.end_char) for chunk in same if chunk.id == passage.id]
    spans = whole or pieces
    if len(spans) != 1:
        raise _changed(passage)
    return spans[0]


def _changed(passage: Passage) -> LedgerError:
    return LedgerError(
        f"the fact at {passage.citation} has changed since it was shown", "Recall it and try again"
    )


# Strike out and remove


def strike(draft: Draft, old: Sequence[Passage], fact: str, day: date) -> Edit:
    """Strike out a fact, possibly in several pieces, and name its successor.

    Raises LedgerError if it cannot be struck out, or has changed since it was shown.
    """
    text = draft.editable(old[0].source)
    chunks = chunks_of(text, old[0].source)
    spans = sorted(_span(chunks, passage) for passage in old)
    if any(text[one[1] : other[0]].strip() for one, other in itertools.pairwise(spans)):
        raise LedgerError(f"there are several facts at {old[0].citation}", "Name one by its id")
    start, end = spans[0][0], spans[-1][1]
    current = text[start:end]
    note = superseded_note(day, escape(fact))
    struck = None if is_struck(current) else strike_out(current, note)
    if struck is None or not is_struck(struck):
        raise LedgerError(
            f"{old[0].citation} cannot be superseded", "Name a current list item or paragraph"
        )
    return draft.edit(old[0].source, Splice(start, current, struck))


def removals(
    draft: Draft, passages: Sequence[Passage], is_ours: Callable[[str, str], bool]
) -> list[Edit]:
    """Remove passages, and each dated heading that this empties if `is_ours(source, title)`."""
    edits = []
    for source in dict.fromkeys(passage.source for passage in passages):
        text = draft.editable(source)
        chunks = chunks_of(text, source)
        below = len(text)
        located = [
            (*_span(chunks, passage), passage) for passage in passages if passage.source == source
        ]
        for start, end, passage in sorted(located, key=itemgetter(0), reverse=True):
            if end > below:
                raise _changed(passage)  # it was named twice
            below, text = start, draft.text(source)
            cut = removal(text, start, end)
            headings = _DATED_HEADING.findall(text[: cut.at])
            if headings and is_ours(source, headings[-1]):
                cut = with_emptied_heading(text, cut, headings[-1])
            edits.append(draft.edit(source, cut))
    return edits


# Mark


def markings(draft: Draft, marks: Sequence[Mark]) -> list[Edit]:
    """Write annotations at the end of facts' lines, from the end of a file upwards.

    A fact that has changed since it was shown, or whose line cannot take a comment, is skipped.
    Raises LedgerError if that leaves none, and for a file with an unclosed comment, which the end
    of an annotation would close.
    """
    edits, refused = [], None
    for source in dict.fromkeys(mark.passage.source for mark in marks):
        text = draft.editable(source)
        if line := unclosed_comment(text):
            raise LedgerError(
                f"{source} has a comment that is never closed (line {line})", "Add --> to its end"
            )
        chunks = chunks_of(text, source)
        changes: dict[tuple[int, int], str] = {}
        for mark in (mark for mark in marks if mark.passage.source == source):
            try:
                start, end = _span(chunks, mark.passage)
                changes[start, end] = _marked(text[start:end], text[end:], mark)
            except LedgerError as error:
                refused = error
        for (start, end), marked in sorted(changes.items(), reverse=True):
            if marked != text[start:end]:
                edits.append(draft.edit(source, Splice(start, text[start:end], marked)))
    if refused and not edits:
        raise refused
    return edits


def _marked(text: str, after: str, mark: Mark) -> str:
    """Return the text of a fact with its annotations; `after` is what follows it in the file."""
    line = BREAKS.split(text, maxsplit=1)[0].rstrip()
    rest = text[len(line) :]
    if mark.core is not None:
        line, rest = in_core(line, mark.core), in_core(rest, "")
    if mark.matters_for is not None:
        line, rest = mattering(line, mark.matters_for), without_phrases(rest)
    ends_a_line = rest.strip() or after[:1] in ("", "\r", "\n")
    fits = mark.passage.status == "current" and strike_out(text, "") is not None
    if not (fits and ends_a_line and plain(line + rest) == plain(text)):
        raise LedgerError(
            f"{mark.passage.citation} cannot be marked", "Name a current list item or paragraph"
        )
    return line + rest


# Whole files


def difference(before: str, after: str) -> Splice:
    """Return the single change of whole lines that turns one text into another."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    head = common(old, new)
    at = len("".join(old[:head]))
    old, new = old[head:], new[head:]
    tail = common(old[::-1], new[::-1])
    return Splice(at, "".join(old[: len(old) - tail]), "".join(new[: len(new) - tail]))


def summary(edits: Sequence[Edit], images: Mapping[str, str]) -> str:
    """Return the only item that edits add or remove, as `+ TEXT`, else the number of lines: `+2 -1
    lines`."""
    added = [line for edit in edits for line in edit.inserted.splitlines()]
    removed = [line for edit in edits for line in images.get(edit.removed, "").splitlines()]
    items = [
        f"{sign} {plain(line)}"
        for sign, lines in (("+", added), ("-", removed))
        for line in lines
        if line.strip() and not line.startswith("#")
    ]
    files = len({edit.source for edit in edits})
    where = f" in {files} files" if files > 1 else ""
    return items[0] if len(items) == 1 else f"+{len(added)} -{len(removed)} lines{where}"


# Undo


def reversed_edits(
    draft: Draft, images: Images, sources: Sequence[str], write: Write
) -> list[Edit]:
    """Undo the edits of a write, the last first, except removals of facts that the owner has since
    restored.

    Raises LedgerError if one cannot be undone; of marks, only if none can.
    """
    after = {edit.source: edit.after for edit in write.edits}

    def is_back(edit: Edit) -> bool:
        if write.action != "forget" or draft.digest(edit.source) == after[edit.source]:
            return False
        facts = chunks_of(images.read(edit.removed) or "", "")
        text = draft.text(edit.source)
        above = heading_paths(text[: next(iter(_positions_between(text, edit)), 0)])[-1]
        return bool(facts) and all(
            find_fact(draft, sources, fact.plain, fact.heading or above) for fact in facts
        )

    undone, refused = [], None
    for edit in reversed([edit for edit in write.edits if not is_back(edit)]):
        try:
            removed = images.read(edit.removed)
            if removed is None:
                raise LedgerError("this cannot be undone: what it removed is no longer kept")
            text, state = draft.editable(edit.source), draft.digest(edit.source)
            undone.append(draft.edit(edit.source, reversal(text, state, edit, removed)))
        except LedgerError as error:
            if write.action != "mark":
                raise
            refused = error
    if refused and not undone:
        raise refused
    return undone


def reversal(text: str, state: str, edit: Edit, removed: str) -> Splice:
    """Return the change that undoes `edit`; `state` is the text's digest.

    Exact to the byte if the file has not changed since. Otherwise the added lines are searched, and
    the `removed` text is put back between the neighbours it had. Raises LedgerError if the owner
    has since changed those lines, or the neighbours of removed ones.
    """
    if state == edit.after:
        return Splice(edit.at, edit.inserted, removed)
    if not edit.inserted:
        splice = _below_its_heading(text, removed)
        return splice or _put_back(text, _position_between(text, edit), edit, removed)
    offsets = [match.start() for match in re.finditer(f"(?={re.escape(edit.inserted)})", text)]
    unmoved = [at for at in offsets if _has_neighbours(text, at, edit)]
    if len(unmoved) == 1 or (removed and len(offsets) == 1):
        return _put_back(text, (unmoved or offsets)[0], edit, removed)
    if removed:
        raise _cannot_undo(edit, offsets)
    lines = [without_phrases(line).strip() for line in LINES.findall(edit.inserted)]
    same = [one for one in LINES.finditer(text) if without_phrases(one[0]).strip() == lines[-1]]
    if len(same) != 1:
        raise _cannot_undo(edit, same)
    cut = removal(text, same[0].start(), same[0].start() + len(same[0][0].rstrip()))
    heading = _HEADING.fullmatch(lines[0])
    return with_emptied_heading(text, cut, heading[1]) if heading else cut


def _below_its_heading(text: str, removed: str) -> Splice | None:
    """Return the change that restores the fact in `removed` below the dated heading that was
    removed with it, if the file has such a heading again."""
    head = _DATED_HEADING.match(removed.lstrip("\r\n"))
    if head is None or head[1] not in _DATED_HEADING.findall(text):
        return None
    fact = removed.lstrip("\r\n")[head.end() :].strip()
    return (
        insertion(text, f"## {head[1]}", fact[2:]) if fact.startswith(("- ", "* ", "+ ")) else None
    )


def _put_back(text: str, at: int, edit: Edit, removed: str) -> Splice:
    """Return the change that replaces the edit's insertion at `at` by `removed`.

    Whole lines stay separate from those around them, even if a file has no newline at its end, or
    if a paragraph follows now.
    """
    below, end = text[at + len(edit.inserted) :], newline(text)
    if removed and not edit.inserted and not _ends_line(text[:at]):
        removed = end + removed
    if below and _ends_line(edit.inserted) and not _ends_line(removed):
        removed += end
    if not edit.inserted and _CONTINUES.match(below):
        removed += end if neighbours(below, 0, 0)[1][:1] != edit.below[:1] else ""
    return Splice(at, edit.inserted, removed)


def _ends_line(text: str) -> bool:
    """Return whether a line may start after this text."""
    return not text or text[-1] in "\r\n"


def _cannot_undo(edit: Edit, matches: Sequence[object]) -> LedgerError:
    reason = "occur there more than once" if matches else "have been changed since"
    return LedgerError(
        f"this cannot be undone: its lines in {edit.source} {reason}", "Edit the file by hand"
    )


def _has_neighbours(text: str, at: int, edit: Edit) -> bool:
    """Return whether the insertion, now at `at`, has its original nearest lines around it."""
    above, below = neighbours(text, at, at + len(edit.inserted))
    return above[:1] == edit.above[:1] and below[:1] == edit.below[:1]


def _position_between(text: str, edit: Edit) -> int:
    """Return the only position between all or most of the removed lines' former neighbours."""
    positions = _positions_between(text, edit)
    if len(positions) != 1:
        raise LedgerError(
            f"this cannot be undone: the lines around it in {edit.source} have changed since",
            "`assistant memory log` shows its text",
        )
    return positions[0]


def _positions_between(text: str, edit: Edit) -> list[int]:
    """Return the positions next to the most of the removed lines' former neighbours."""
    if not edit.above and not edit.below:
        return [0]
    starts = [match.start() for match in _LINE_STARTS.finditer(text)]
    then = edit.above, edit.below
    scores = {at: sum(map(_similarity, neighbours(text, at, at), then)) for at in starts}
    best = max(scores.values(), default=0)
    return [at for at, score in scores.items() if score == best > 0]


def _similarity(now: Sequence[str], then: Sequence[str]) -> int:
    """Score how well lines match; the nearest counts double, an end of the file less than a
    line."""
    if not then:
        return int(not now)
    return 2 * (now[:1] == then[:1]) + (now == then)
