"""Daily upkeep: what need not stand in MEMORY.md any longer is moved out of it, as one write.

Moved is only what this program wrote, line by line, and only for what is certain:

- a superseded fact, an appointment that has passed, and what stands twice under one heading, to
  `memory/archive/YYYY.md`;
- what stands under a dated heading for more than a month, below the owner's heading that fits,
  else to `memory/YYYY.md`.

Every line keeps its words and its day. What somebody typed into a file stays where it is.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import islice

from assistant.memory import annotations
from assistant.memory.base import Origin, Upkept
from assistant.memory.text.chunk import Chunk, chunks_of
from assistant.memory.text.headings import PATH, headings
from assistant.memory.text.identity import fact_key
from assistant.memory.text.markdown import strike_out, superseded_note
from assistant.memory.text.times.dates import heading_date
from assistant.memory.text.times.occasions import occasions
from assistant.memory.writing.journal import Journal, Write
from assistant.memory.writing.markup import (
    dated,
    escape,
    insertion,
    insertion_below,
    removal,
    with_emptied_heading,
)
from assistant.memory.writing.transaction import Change, amendment
from assistant.workspace.folder import ARCHIVE, MEMORY_FILE, PROCEDURE_FILES, Workspace

UNSORTED = timedelta(days=31)
"""So long a captured fact may stand under the heading of its day."""
PASSED = timedelta(days=7)
"""So long after its day a fact stays."""
MOST = 200
"""Facts that are moved at once: a second or two of work, for which other writers wait."""
ORIGIN = Origin("upkeep")
Fits = Callable[[str, Sequence[str]], str]
"""Says which of these headings fits a fact; "" if none does."""


@dataclass(frozen=True, slots=True)
class _Move:
    """A line that is moved to a file: under the heading `## {title}`, or below the owner's heading
    of this path in MEMORY.md."""

    chunk: Chunk
    write: Write
    item: str
    source: str
    title: str = ""
    path: str = ""


class Upkeep:
    """What there is to be moved in a workspace's files on a day."""

    def __init__(self, workspace: Workspace, journal: Journal, today: date, fits: Fits) -> None:
        self._place = workspace
        self._journal = journal
        self._today = today
        self._fits = fits

    def __call__(self, change: Change) -> Upkept:
        """Make the edits on the draft."""
        moves = list(islice(self._moves(change), MOST))
        if not moves:
            return Upkept()
        texts: dict[str, str] = {}
        for move in reversed(moves):  # from the end, so that the places of the others stay
            source = move.chunk.source
            text = texts[source] if source in texts else change.draft.text(source)
            texts[source] = self._without(move, text)
        for (source, title, path), items in _by_target(moves).items():
            text = texts[source] if source in texts else change.draft.text(source)
            for item in items:
                there = headings(text) if path else {}
                below = insertion_below(text, there[path], item) if path in there else None
                text = (below or insertion(text, title, item)).apply(text)
            texts[source] = text
        for source in texts:
            (self._place.root / source).parent.mkdir(parents=True, exist_ok=True)
        change.writes.append(amendment(change.draft, texts, ORIGIN))
        change.verdicts.update({move.write.id: "deleted" for move in moves})
        archived = sum(move.source.startswith(ARCHIVE) for move in moves)
        return Upkept(archived, len(moves) - archived)

    def _moves(self, change: Change) -> Iterator[_Move]:
        """The lines to move, by file, from its beginning to its end."""
        known: set[tuple[tuple[str, ...], str]] = set()
        there = list(headings(change.draft.text(MEMORY_FILE)))
        for source in self._place.sources():
            if source in PROCEDURE_FILES or source.startswith(ARCHIVE):
                continue
            text = change.draft.text(source) if change.draft.is_text(source) else ""
            for chunk in chunks_of(text, source):
                above = tuple(each for each in chunk.heading if not heading_date(each))
                key = above, fact_key(chunk.plain)
                twice = chunk.status == "current" and key in known
                if write := self._ours(chunk, text):
                    move = self._move(chunk, write, twice, there)
                    if move:
                        yield move
                        continue
                if chunk.status == "current":
                    known.add(key)

    def _ours(self, chunk: Chunk, text: str) -> Write | None:
        """The write of a fact that is one line of a list and stands as we wrote it."""
        at = chunk.start_char
        alone = "\n" not in chunk.text and chunk.text[:2] in ("- ", "* ", "+ ")
        if not alone or text[at - 1 : at] not in ("", "\n") or annotations.is_core(chunk.text):
            return None
        return self._journal.adding(chunk.plain)

    def _move(self, chunk: Chunk, write: Write, twice: bool, there: Sequence[str]) -> _Move | None:
        """Where a fact goes; None if it stays."""
        day = chunk.date or write.time[:10]
        under = chunk.heading[-1:]
        own = bool(
            under
            and heading_date(under[0])
            and self._journal.has_made_heading(chunk.source, under[0])
        )
        name = PATH.join(chunk.heading[-2:]) or "Archived"
        title = under[0] if own else dated(name, date.fromisoformat(day))
        item, year = chunk.text[2:].strip(), day[:4]
        if twice:
            item = strike_out(item, superseded_note(self._today, escape(chunk.plain))) or item
        if twice or chunk.status == "superseded" or self._has_passed(chunk, day):
            return _Move(chunk, write, item, f"{ARCHIVE}{year}.md", title)
        waits = date.fromisoformat(day) + UNSORTED >= self._today
        if not own or waits or chunk.source != MEMORY_FILE:
            return None
        if path := self._fits(chunk.plain, there) if there else "":
            item = annotations.dated(item, date.fromisoformat(day))
            return _Move(chunk, write, item, MEMORY_FILE, title, path)
        return _Move(chunk, write, item, f"memory/{year}.md", title)

    def _has_passed(self, chunk: Chunk, day: str) -> bool:
        """Whether a fact spoke of appointments alone, which lay ahead when it was written and have
        passed. What begins on a day ("works in Porto from 1 October") has no time of day."""
        last = (self._today - PASSED).isoformat()
        ahead = [
            mention
            for mention in chunk.mentions
            if len(mention) == len(last) and day < mention < last
        ]
        if not ahead or len(ahead) < len(chunk.mentions):
            return False
        spoken = occasions(chunk.plain, day)
        return bool(spoken) and all(each.time and not each.rule for each in spoken)

    def _without(self, move: _Move, text: str) -> str:
        """The text without the line, and without a heading of ours that this empties."""
        cut = removal(text, move.chunk.start_char, move.chunk.end_char)
        if self._journal.has_made_heading(move.chunk.source, move.title):
            cut = with_emptied_heading(text, cut, move.title)
        return cut.apply(text)


def _by_target(moves: Sequence[_Move]) -> dict[tuple[str, str, str], list[str]]:
    """The lines that go to one place: a file, the title of a heading or an owner's one."""
    found: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for move in moves:
        found[move.source, "" if move.path else move.title, move.path].append(move.item)
    return found
