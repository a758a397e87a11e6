"""Daily upkeep: moves what MEMORY.md no longer needs out of it, as one write.

Only lines that this program wrote are moved, and only if it is certain where they belong:

- superseded facts, past appointments and duplicates below one heading go to
  `memory/archive/YYYY.md`;
- facts that have been below a dated heading for more than a month go below the owner's heading that
  fits, else to `memory/YYYY.md`.

Every line keeps its text and its day. What somebody typed into a file stays where it is, and so
does what `undo` has moved back.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, time, timedelta
from itertools import islice

from msgspec.structs import replace as reword

from assistant.memory import annotations
from assistant.memory.base import Origin, Upkept
from assistant.memory.text.chunk import Chunk, chunks_of
from assistant.memory.text.headings import PATH, headings, project_names
from assistant.memory.text.identity import fact_key
from assistant.memory.text.language import language_of, without_function_words
from assistant.memory.text.markdown import strike_out, superseded_note
from assistant.memory.text.times.dates import heading_date, mentioned, without
from assistant.memory.text.times.languages import says
from assistant.memory.text.times.occasions import occasions, without_times
from assistant.memory.writing.draft import Draft
from assistant.memory.writing.journal import Journal, Write
from assistant.memory.writing.markup import (
    dated,
    escape,
    insertion,
    insertion_below,
    removal,
    with_emptied_heading,
)
from assistant.memory.writing.transaction import amendment
from assistant.workspace.folder import ARCHIVE, MEMORY_FILE, PROCEDURE_FILES

UNSORTED = timedelta(days=31)
"""How long a captured fact stays below the heading of its day."""
PASSED = timedelta(days=7)
"""How long a fact stays after its day."""
MOST_WORDS = 2
"""Maximum number of words of an appointment besides its day, its hour and function words. A fact
with more, or with another number, may still be wanted when its day has passed."""
MOST = 200
"""The maximum number of facts moved at once: a second or two of work, during which other writers
wait."""
ORIGIN = Origin("upkeep")
Fits = Callable[[str, Sequence[str]], str]
"""Returns which of these headings fits a fact; "" if none does."""


@dataclass(frozen=True, slots=True)
class _Move:
    """A line to move to the file `source`: below the heading `## {title}`, or below the owner's
    heading with this `path` in MEMORY.md."""

    chunk: Chunk
    write: Write
    item: str
    source: str
    title: str = ""
    path: str = ""


class Upkeep:
    """Moves the lines of memory's files on a day."""

    def __init__(self, journal: Journal, today: date, fits: Fits) -> None:
        self._journal = journal
        self._today = today
        self._fits = fits

    def __call__(self, draft: Draft) -> Upkept:
        """Make the edits on the draft, and return how many lines were moved."""
        moves = list(islice(self._moves(draft), MOST))
        if not moves:
            return Upkept()
        sources = {source for move in moves for source in (move.chunk.source, move.source)}
        texts = {source: draft.text(source) for source in sorted(sources)}
        for move in reversed(moves):  # from the end, so the positions of the others stay valid
            texts[move.chunk.source] = self._without(move, texts[move.chunk.source])
        for move in moves:
            text = texts[move.source]
            below = headings(text).get(move.path) if move.path else None
            added = (
                insertion_below(text, below, move.item)
                if below
                else insertion(text, f"## {move.title}", move.item)
            )
            texts[move.source] = added.apply(text)
        moved = tuple(move.write.id for move in moves)
        draft.writes.append(reword(amendment(draft, texts, ORIGIN), moved=moved))
        draft.verdicts.update(dict.fromkeys(moved, "deleted"))
        archived = sum(move.source.startswith(ARCHIVE) for move in moves)
        return Upkept(archived, len(moves) - archived)

    def _moves(self, draft: Draft) -> Iterator[_Move]:
        """Yield the lines to move, file by file, from beginning to end."""
        seen: set[tuple[tuple[str, ...], str]] = set()
        owners = list(headings(draft.text(MEMORY_FILE)))
        stay = self._journal.moved_back()
        for source, text in draft.texts():
            if source in PROCEDURE_FILES or source.startswith(ARCHIVE):
                continue
            for chunk in chunks_of(text, source):
                undated = (title for title in chunk.heading if not heading_date(title))
                key = (*project_names(chunk.heading), *undated), fact_key(chunk.plain)
                is_twin = chunk.status == "current" and key in seen
                write = self._own_write(chunk, text)
                if (
                    write
                    and write.id not in stay
                    and (move := self._move(chunk, write, is_twin, owners))
                ):
                    yield move
                elif chunk.status == "current":
                    seen.add(key)

    def _own_write(self, chunk: Chunk, text: str) -> Write | None:
        """Return the write of a fact, if it is one line of a list, as we wrote it."""
        at = chunk.start_char
        is_line = "\n" not in chunk.text and chunk.text[:2] in ("- ", "* ", "+ ")
        if not is_line or text[at - 1 : at] not in ("", "\n") or annotations.is_core(chunk.text):
            return None
        return self._journal.adding(chunk.plain)

    def _move(
        self, chunk: Chunk, write: Write, is_twin: bool, owners: Sequence[str]
    ) -> _Move | None:
        """Return where a fact goes; None if it stays."""
        day = chunk.date or write.time[:10]
        under = chunk.heading[-1] if chunk.heading else ""
        own = bool(heading_date(under)) and self._journal.has_made_heading(chunk.source, under)
        name = PATH.join(chunk.heading[-2:]) or "Archived"
        title = under if own else dated(name, date.fromisoformat(day))
        item, year = chunk.text[2:].strip(), day[:4]
        if is_twin:
            item = strike_out(item, superseded_note(self._today, escape(chunk.plain))) or item
        if is_twin or chunk.status == "superseded" or self._has_passed(chunk, day):
            return _Move(chunk, write, item, f"{ARCHIVE}{year}.md", title)
        is_recent = date.fromisoformat(day) + UNSORTED >= self._today
        if not own or is_recent or chunk.source != MEMORY_FILE:
            return None
        may_leave = owners and not project_names(chunk.heading)
        if path := self._fits(chunk.plain, owners) if may_leave else "":
            item = annotations.dated(item, date.fromisoformat(day))
            return _Move(chunk, write, item, MEMORY_FILE, title, path)
        return _Move(chunk, write, item, f"memory/{year}.md", title)

    def _has_passed(self, chunk: Chunk, day: str) -> bool:
        """Return whether a fact states only appointments that were ahead when it was written and
        have passed, and nothing more. A beginning ("works in Porto from 1 October") is none."""
        last = (self._today - PASSED).isoformat()
        ahead = [
            mention
            for mention in chunk.mentions
            if len(mention) == len(last) and day < mention < last
        ]
        if not ahead or len(ahead) < len(chunk.mentions):
            return False
        appointments = occasions(chunk.plain, day)
        if not appointments or not all(one.time and not one.rule for one in appointments):
            return False
        rest = without(chunk.plain, mentioned(chunk.plain, day))
        times = [time.fromisoformat(one.time) for one in appointments]
        figures = {figure for at in times for figure in (at.hour, at.hour % 12, at.minute)}
        numbers = {int(number) for number in re.findall(r"\d+", rest)}
        words = without_function_words(without_times(rest), language_of(chunk.plain)).split()
        is_brief = sum(word.isalpha() for word in words) <= MOST_WORDS
        return is_brief and numbers <= figures and not says("begins", chunk.plain)

    def _without(self, move: _Move, text: str) -> str:
        """Return the text without the line, and without a heading of ours that becomes empty."""
        cut = removal(text, move.chunk.start_char, move.chunk.end_char)
        if self._journal.has_made_heading(move.chunk.source, move.title):
            cut = with_emptied_heading(text, cut, move.title)
        return cut.apply(text)
