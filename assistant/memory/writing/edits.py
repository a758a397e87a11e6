"""The edits that a write consists of, made on a draft: find, strike out, take away, take back."""

import itertools
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date

from assistant.errors import LedgerError
from assistant.memory.base import Passage
from assistant.memory.text.chunk import Chunk, chunks_of
from assistant.memory.text.identity import fact_key
from assistant.memory.text.markdown import is_struck, strike_out, superseded_note
from assistant.memory.writing.draft import Draft, State
from assistant.memory.writing.entries import Edit
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
            may_say = chunk.status == "current" and all(
                map(chunk.plain.lower().__contains__, words)
            )
            if may_say and fact_key(chunk.plain) == wanted:
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
    for each in sorted(passages, key=lambda one: one.start_char, reverse=True):
        text = draft.settled(each.source)
        cut = removal(text, *_place(text, each))
        headings = _HEADING.findall(text[: cut.at])
        if headings and is_ours(each.source, headings[-1]):
            cut = with_emptied_heading(text, cut, headings[-1])
        edits.append(draft.edit(each.source, cut))
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
    long = [each for each in chunks if len(each.text) >= LONG]
    same = [(each.start_char, each.end_char) for each in chunks if each.text == passage.text]
    if place in same or (unmoved and any(_holds(each, place) for each in long)):
        return place
    if len(same) > 1:
        same = [(each.start_char, each.end_char) for each in chunks if each.id == passage.id]
    same = same or [place for each in long for place in _occurrences(each, passage.text)]
    if len(same) != 1:
        raise LedgerError(
            f"the fact at {passage.citation} has changed since it was shown",
            "Recall it and try again",
        )
    return same[0]


def _holds(chunk: Chunk, place: tuple[int, int]) -> bool:
    return chunk.start_char <= place[0] and place[1] <= chunk.end_char


def _occurrences(chunk: Chunk, words: str) -> Iterator[tuple[int, int]]:
    """Where a piece of a long chunk stands in the file."""
    for found in re.finditer(re.escape(words), chunk.text):
        yield chunk.start_char + found.start(), chunk.start_char + found.end()
