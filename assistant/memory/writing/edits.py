"""The edits that a write consists of, made on a draft: find, strike out, take away, take back.

An edit is taken back from a file that has changed since by its own lines exactly, or not at all.
"""

import itertools
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date

from assistant.errors import LedgerError
from assistant.memory.annotations import without_phrases
from assistant.memory.base import Passage
from assistant.memory.text.chunk import Chunk, chunks_of
from assistant.memory.text.identity import fact_key
from assistant.memory.text.markdown import (
    LINES,
    is_struck,
    line_digest,
    lines_above,
    lines_below,
    strike_out,
    superseded_note,
)
from assistant.memory.writing.draft import Draft, State
from assistant.memory.writing.images import Images
from assistant.memory.writing.journal import Edit, Write
from assistant.memory.writing.markup import Splice, escape, removal, with_emptied_heading
from assistant.workspace.folder import MEMORY_FILE

LONG = 200
"""Characters from which on a passage may be a piece of a unit, cut to fit an embedding model."""
_WORD = re.compile(r"(?<!\w)[a-z0-9]+(?!\w)")
_HEADING = re.compile(r"^## (.+? -- \d{4}-\d\d-\d\d)[ \t]*\r?$", re.MULTILINE)


Unsaid = Callable[[str], Mapping[str, State]]
"""The states of files that are known not to state a fact."""


def nothing_known(fact: str) -> Mapping[str, State]:
    """Knows nothing of any file."""
    return {}


def stated(
    draft: Draft, sources: Sequence[str], fact: str, unsaid: Mapping[str, State]
) -> tuple[str, int] | None:
    """The file and line of the passage, in any memory file, that says this already; those that are
    still as `unsaid` knows them are not searched."""
    for source in dict.fromkeys([MEMORY_FILE, *sources]):
        digest, sign = unsaid.get(source, (None, None))
        is_ours = source == MEMORY_FILE  # read in any case: its save is compared with what it was
        if not is_ours and (draft.is_unread(source, sign) or not draft.is_text(source)):
            continue  # it says what it did, or nothing in it can be recalled
        if digest == draft.original(source)[1] and not line_stating(
            draft.added(source), source, fact
        ):
            continue  # nor has this write said it
        if line := line_stating(draft.text(source), source, fact):
            return source, line
    return None


def line_stating(text: str, source: str, fact: str) -> int | None:
    """The line of the current passage that says `fact` (clean text) and nothing else."""
    wanted, words, lowered = fact_key(fact), words_of(fact), text.lower()
    if all(word in lowered for word in words):
        for chunk in chunks_of(text, source):
            said, is_code = chunk.plain.lower(), chunk.text.startswith(("```", "~~~"))
            may_say = chunk.status == "current" and not is_code
            if may_say and all(word in said for word in words) and fact_key(chunk.plain) == wanted:
                return chunk.start_line
    return None


def words_of(fact: str) -> set[str]:
    """The words of a fact that any text which says it holds, however that is spelled."""
    return set(_WORD.findall(unicodedata.normalize("NFC", fact).lower()))


def strike(draft: Draft, old: Sequence[Passage], fact: str, day: date) -> Edit:
    """Strike out a fact, which may be in several pieces, with its successor.

    Raises LedgerError if it cannot be, or has changed since it was shown.
    """
    text = draft.settled(old[0].source)
    places = sorted(_place(text, each) for each in old)
    if any(text[one[1] : other[0]].strip() for one, other in itertools.pairwise(places)):
        raise LedgerError(f"several facts stand at {old[0].citation}", "Name one by its id")
    start, end = places[0][0], places[-1][1]
    said = text[start:end]
    note = superseded_note(day, escape(fact))
    result = None if is_struck(said) else strike_out(said, note)
    if result is None or not is_struck(result):
        raise LedgerError(
            f"{old[0].citation} cannot be superseded", "Name a current list item or paragraph"
        )
    return draft.edit(old[0].source, Splice(start, said, result))


def removals(
    draft: Draft, passages: Sequence[Passage], is_ours: Callable[[str, str], bool]
) -> list[Edit]:
    """Take passages away, and each dated heading that this empties if `is_ours(source, title)`."""
    edits = []
    for passage in sorted(passages, key=lambda one: one.start_char, reverse=True):
        text = draft.settled(passage.source)
        cut = removal(text, *_place(text, passage))
        headings = _HEADING.findall(text[: cut.at])
        if headings and is_ours(passage.source, headings[-1]):
            cut = with_emptied_heading(text, cut, headings[-1])
        edits.append(draft.edit(passage.source, cut))
    return edits


def difference(before: str, after: str) -> Splice:
    """The one change, of whole lines, that makes one text of another."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    head = _alike(old, new)
    at = len("".join(old[:head]))
    old, new = old[head:], new[head:]
    tail = _alike(old[::-1], new[::-1])
    return Splice(at, "".join(old[: len(old) - tail]), "".join(new[: len(new) - tail]))


def _alike(lines: Sequence[str], others: Sequence[str]) -> int:
    """How many lines are the same, from the start on."""
    pairs = zip(lines, others, strict=False)
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))


def counted(edits: Sequence[Edit], images: Mapping[str, str]) -> str:
    """How many lines edits add and take away; what they say is told by the diff."""
    added = sum(len(edit.inserted.splitlines()) for edit in edits)
    gone = sum(len(images.get(edit.removed, "").splitlines()) for edit in edits)
    return f"+{added} -{gone} lines"


def _place(text: str, passage: Passage) -> tuple[int, int]:
    """Where the bytes that were shown stand now. Raises LedgerError if they do not."""
    place = passage.start_char, passage.end_char
    unmoved = text[slice(*place)] == passage.text
    chunks = chunks_of(text, passage.source)
    long = [chunk for chunk in chunks if len(chunk.text) >= LONG]
    same = [(chunk.start_char, chunk.end_char) for chunk in chunks if chunk.text == passage.text]
    if place in same or (
        unmoved
        and any(chunk.start_char <= place[0] and place[1] <= chunk.end_char for chunk in long)
    ):
        return place
    if len(same) > 1:
        same = [(chunk.start_char, chunk.end_char) for chunk in chunks if chunk.id == passage.id]
    same = same or [place for each in long for place in _occurrences(each, passage.text)]
    if len(same) != 1:
        raise LedgerError(
            f"the fact at {passage.citation} has changed since it was shown",
            "Recall it and try again",
        )
    return same[0]


def _occurrences(chunk: Chunk, words: str) -> Iterator[tuple[int, int]]:
    """Where a piece of a long chunk stands in the file."""
    for found in re.finditer(re.escape(words), chunk.text):
        yield chunk.start_char + found.start(), chunk.start_char + found.end()


_ANY_HEADING = re.compile(r"## (.+)")
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
    whole = [at for at in _places_of(text, edit.inserted) if _neighbours(text, at, edit)]
    if len(whole) == 1:
        return Splice(whole[0], edit.inserted, removed)
    return _changed_place(text, edit, removed)


def _changed_place(text: str, edit: Edit, removed: str) -> Splice:
    if removed:
        found = list(_places_of(text, edit.inserted))
        if len(found) == 1:
            return Splice(found[0], edit.inserted, removed)
        raise _refused(edit, found)
    lines = [without_phrases(line).strip() for line in LINES.findall(edit.inserted)]
    same = [one for one in LINES.finditer(text) if without_phrases(one[0]).strip() == lines[-1]]
    if len(same) != 1:
        raise _refused(edit, [one.start() for one in same])
    cut = removal(text, same[0].start(), same[0].start() + len(same[0][0].rstrip()))
    heading = _ANY_HEADING.fullmatch(lines[0])
    return with_emptied_heading(text, cut, heading[1]) if heading else cut


def _refused(edit: Edit, found: list[int]) -> LedgerError:
    what = "stand there more than once" if found else "have been changed since"
    return LedgerError(
        f"this cannot be undone: its lines in {edit.source} {what}", "Edit the file by hand"
    )


def _places_of(text: str, part: str) -> Iterator[int]:
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
