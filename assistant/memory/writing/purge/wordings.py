"""By which words a fact is known: those that stand, and those that were written before them.

A purge matches by what was written, not by what stands there now: the line that an owner reworded
by hand still stands in the journal as it was remembered.
"""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from assistant.memory.base import Passage
from assistant.memory.text.identity import fact_key
from assistant.memory.text.markdown import line_digest, lines_above
from assistant.memory.writing.draft import Draft
from assistant.memory.writing.finding import line_stating
from assistant.memory.writing.purge.words import Words
from assistant.memory.writing.record.journal import Journal
from assistant.memory.writing.record.writes import Write

ALIKE = 0.6
"""From this share of common characters on, a fact that stands nowhere may have become this one."""


def wordings(
    passages: Sequence[Passage], past: Sequence[str], journal: Journal, draft: Draft
) -> tuple[str, ...]:
    """The facts of passages and `past` ones, in every wording that the journal knows."""
    facts = [*(passage.plain for passage in passages), *past]
    for passage in passages:
        facts += (write.text for write in _before(passage, journal, draft))
    words = Words(facts)
    facts += (write.text for write in journal.acknowledged() if words.are(write.text))
    return tuple(dict.fromkeys(fact for fact in facts if fact))


def cited(words: Words, journal: Journal) -> dict[str, tuple[str, ...]]:
    """The entries of sessions that the facts were taken from."""
    entries: dict[str, tuple[str, ...]] = {}
    for write in journal.acknowledged():
        session = write.origin.session
        if session and words.are(write.text):
            entries[session] = (*entries.get(session, ()), *write.origin.entries)
    return entries


def _before(passage: Passage, journal: Journal, draft: Draft) -> Iterator[Write]:
    """The writes whose fact the passage may have been, before its owner reworded it.

    Their facts stand nowhere any more, and are like it, or stood below the line that it does.
    """
    said, text = passage.plain, draft.text(passage.source)
    if journal.recorded(said):
        return
    above = tuple(line_digest(line) for line in lines_above(text, passage.start_char))[:1]
    for write in journal.acknowledged():
        edit = write.added
        if edit is None or edit.source != passage.source:
            continue
        near = edit.above[:1] == above or _is_like(write.text, said)
        if near and line_stating(text, passage.source, write.text) is None:
            yield write


def _is_like(one: str, other: str) -> bool:
    shared = set(fact_key(one).split()) & set(fact_key(other).split())
    if not shared:
        return False
    return SequenceMatcher(None, one, other, autojunk=False).ratio() >= ALIKE
