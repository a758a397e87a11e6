"""Purge: take a fact's words out of everything that was kept about it."""

import re
from collections.abc import Sequence
from dataclasses import replace

from assistant.memory.base import Passage
from assistant.memory.text import superseding
from assistant.memory.text.identity import fact_key
from assistant.memory.text.lines import line_digest
from assistant.memory.text.words import plain
from assistant.memory.writing.draft import Draft
from assistant.memory.writing.markup.items import Splice, clean, escape
from assistant.memory.writing.record.images import Images
from assistant.memory.writing.record.journal import Journal
from assistant.memory.writing.record.writes import Edit, Write, scrubbed

_MARKER = re.compile(r"^(?:[-+*]|\d{1,9}[.)])[ \t]+")


class Words:
    """The words of passages, in every form that the journal and the history hold them in."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        said = [plain(passage.text) for passage in passages]
        self._keys = {fact_key(words) for words in said}
        raw = {_MARKER.sub("", passage.text).strip() for passage in passages}
        self.escaped = {escape(clean(words)) for words in said}
        self._forms = {form for form in raw | self.escaped if form}
        lines = [line for passage in passages for line in passage.text.splitlines()]
        self._digests = {line_digest(line) for line in lines}

    def are(self, text: str) -> bool:
        """Whether a fact is one of these."""
        return fact_key(text) in self._keys

    def stand_in(self, text: str) -> bool:
        """Whether a text holds any of these."""
        return any(form in text for form in self._forms)

    def without(self, edit: Edit) -> Edit:
        """The edit without the digests of these lines, which would confirm a guess."""
        above = tuple("" if each in self._digests else each for each in edit.above)
        below = tuple("" if each in self._digests else each for each in edit.below)
        return replace(edit, above=above, below=below)


def unnamed(draft: Draft, sources: Sequence[str], words: Words) -> list[Edit]:
    """The edits that take the words out of the notes `(superseded DATE: words)`."""
    edits = []
    for source in sources:
        for form in words.escaped:
            note = superseding.naming(form)
            while draft.is_text(source) and (found := note.search(draft.text(source))):
                splice = Splice(found.start(), found[0], f"{found[1]})")
                edits.append(draft.edit(source, splice))
    return edits


def scrub(journal: Journal, history: Images, words: Words) -> None:
    """Take the words out of the journal and the history."""
    gone = {name for name in history.names() if words.stand_in(history.read(name) or "")}
    journal.rewrite(lambda write: _clean(write, words, gone))
    for name in gone:
        history.drop(name)


def _clean(write: Write, words: Words, gone: set[str]) -> Write:
    parts = write.text.split("\n")
    if any(map(words.are, [write.text, *parts])):
        return scrubbed(write)
    if any(edit.removed in gone or words.stand_in(edit.inserted) for edit in write.edits):
        return replace(write, edits=(), purged=True)
    return replace(write, edits=tuple(map(words.without, write.edits)))
