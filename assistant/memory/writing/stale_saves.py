"""Tell which facts somebody's save erased from those that the owner deleted.

A save may rest on a text from before our writes: an editor that loaded the file earlier, a backup,
`git stash`, another machine's copy. It takes facts away that nobody wanted to lose. So the facts in
the journal are watched: each time somebody else saves a file, each fact of it gets a verdict.

One rule: **a missing fact was erased by a stale save, unless the save shows that its maker had the
fact before them.** A save shows that by anything as new as the fact: a fact written later, the
heading that came with it, a line struck out since, the gap left by what was forgotten since. A text
that the file never had shows it as well by a line that rewrites the fact in its place, or by
missing one fact alone that an earlier save had.

What a stale save erased is offered again: an offer can be dismissed, a loss is not noticed. No
verdict is final: a save that was cut short, or a copy that came back, is followed by another, and
what that holds has been seen again.

A save may also bring a forgotten fact back. It is recognised by a keyed digest of the words of its
first line, which the journal keeps and a purge leaves. The key is `.assistant/forgotten.key`;
without it a digest confirms no guess.
"""

import re
import secrets
from bisect import bisect
from collections.abc import Container, Iterator, Sequence
from difflib import SequenceMatcher
from functools import cached_property, lru_cache
from hashlib import blake2b
from itertools import chain, takewhile

from assistant.disk import storage
from assistant.memory import annotations
from assistant.memory.annotations import without_phrases
from assistant.memory.base import Passage, Returned
from assistant.memory.text.identity import fact_key, fold, without_bullet
from assistant.memory.text.markdown import BREAKS, LINES, line_digest, plain
from assistant.memory.writing.draft import Draft
from assistant.memory.writing.journal import ABSENT, Edit, Journal, Record, Verdict, Write
from assistant.workspace.folder import Workspace

SIMILAR = 0.6
"""From this share of common characters on, a line is an edited form of another."""
SHARED = 3
"""So is a line that shares at least one in this many words of the shorter one."""
BLOCKS = 1 << 14
"""Blocks of files that are kept parsed."""
MOST_LINES = 3
"""Maximum number of lines that may replace a fact, which may have been split."""
_BLOCK_ENDS = re.compile(
    r"\n[ \t]*\n|\n(?=[ \t]*(?:>|(?:[-+*]|\d{1,9}[.)]|#{1,6})(?:[ \t]|$)))", re.MULTILINE
)
"""A blank line, and the end of one before a list marker, a quote or a heading."""
_HEADING = re.compile(r"#{1,6}[ \t]")


class SavedText:
    """The text that a file has now, after somebody else may have saved it."""

    def __init__(self, text: str, source: str, journal: Journal) -> None:
        self.text = text
        self._source = source
        self._journal = journal

    @cached_property
    def lines(self) -> list[str]:
        """Its lines that are not blank, stripped, without what they matter for."""
        return _lines(self.text)

    @cached_property
    def _line_set(self) -> frozenset[str]:
        return frozenset(self.lines)

    @cached_property
    def _digests(self) -> list[str]:
        return list(map(line_digest, self.lines))

    @cached_property
    def _pairs(self) -> set[tuple[str, ...]]:
        """The digests of each two lines that follow one another."""
        return set(zip(self._digests, self._digests[1:], strict=False))

    def verdicts(self, state: str) -> dict[str, Verdict]:
        """What became of the file's facts, by write; `state` is the text's digest."""
        written = self._journal.written.get(self._source)
        if written is None:
            return {}
        watched = self._journal.watched(self._source)
        judged = self._judged(state, watched) if written != state else {}
        before = {record.write.id: record.verdict for record in watched}
        changed = {id: verdict for id, verdict in judged.items() if before[id] != verdict}
        return self.seen_again() | changed

    def seen_again(self) -> dict[str, Verdict]:
        """The verdicts on facts that had gone from the file and are in it again."""
        return {
            record.write.id: "seen"
            for record in self._journal.of_file(self._source)
            if record.verdict in ABSENT and record.item in self._line_set and record.stands
        }

    def deleted(self) -> dict[str, Verdict]:
        """The verdicts on watched facts that this text, which the owner approved, lacks."""
        missing = self._missing(self._journal.watched(self._source))
        return {record.write.id: "deleted" for record in missing}

    def lacks(
        self, records: Sequence[Record], ignored: frozenset[str] = frozenset()
    ) -> list[Record]:
        """Those of these writes whose facts the text does not state, struck out or not.

        The lines `ignored` do not count, nor do lines that we struck out before the fact was
        written.
        """
        if not records:
            return []
        keys = self._keys(ignored)

        def is_stated(record: Record) -> bool:
            key = fact_key(record.write.text)
            if key not in keys:
                return False
            struck = [lines for line, lines in self._struck.get(key, ()) if line < record.line]
            return not struck or key in self._keys(ignored.union(*struck))

        return [record for record in records if not is_stated(record)]

    def _keys(self, ignored: Container[str]) -> set[str]:
        """The keys of the text's blocks without the lines `ignored`."""
        lines = BREAKS.split(self.text)
        kept = ("" if without_phrases(line).strip() in ignored else line for line in lines)
        return fact_keys("\n".join(kept))

    @cached_property
    def _struck(self) -> dict[str, list[tuple[int, list[str]]]]:
        """By the key of a fact that we struck out here: the journal's line, and the file's."""
        struck: dict[str, list[tuple[int, list[str]]]] = {}
        for record in self._standing("supersede"):
            for edit in record.write.edits:
                if edit.source == self._source and edit.removed:
                    for key in fact_keys(edit.inserted):
                        struck.setdefault(key, []).append((record.line, _lines(edit.inserted)))
        return struck

    def _standing(self, *actions: str) -> list[Record]:
        """The writes to the file that stand, of these actions; oldest first."""
        records = (record for record in self._journal.of_file(self._source) if record.stands)
        return [record for record in records if record.write.action in actions]

    def _missing(self, watched: Sequence[Record]) -> list[Record]:
        """The watched writes whose facts the text does not hold."""
        items = frozenset(record.item for record in watched if record.item)
        return self.lacks(
            [record for record in watched if record.item not in self._line_set], items
        )

    def _judged(self, state: str, watched: Sequence[Record]) -> dict[str, Verdict]:
        """The verdicts on all watched writes (oldest first)."""
        missing = self._missing(watched)
        verdicts: dict[str, Verdict] = {record.write.id: "seen" for record in watched}
        verdicts |= {record.write.id: "deleted" for record in missing}
        if not missing:
            return verdicts
        is_old = self._journal.has_had(self._source, state)
        later = [
            record for record in watched[self._loaded(watched, missing) :] if record in missing
        ]
        erased = [record for record in later if is_old or not self._rewrites(record.write)]
        is_alone = len(erased) == len(later) == 1 and erased[0].verdict == "seen"
        if not (is_alone and not is_old and self.text.strip()):  # else it was deleted by hand
            verdicts |= {record.write.id: "erased" for record in erased}
        return verdicts

    def _loaded(self, watched: Sequence[Record], missing: Container[Record]) -> int:
        """How many of the watched writes, from the first on, the save's maker had before them."""
        first_with: dict[str | None, Record] = {}
        for record in self._journal.of_file(self._source):
            first_with.setdefault(record.heading, record)

        def shows(record: Record) -> bool:
            """Whether the text holds what came with this write, and with none before it."""
            made_heading = record.heading is not None and first_with[record.heading] is record
            return (made_heading and record.heading in self._line_set) or (
                record not in missing and not self._journal.has_written_before(record)
            )

        loaded = len(watched)
        while loaded and not shows(watched[loaded - 1]):
            loaded -= 1
        request = watched[loaded - 1].write.request if loaded else None
        while request and loaded < len(watched) and watched[loaded].write.request == request:
            loaded += 1  # the facts of one request came into the file together
        lines = [record.line for record in watched]
        for record in reversed(self._standing("forget", "supersede")):
            since = bisect(lines, record.line)
            if since <= loaded:
                break
            edits = [edit for edit in record.write.edits if edit.source == self._source]
            if any(self._shows_edit(edit, record.write.action) for edit in edits):
                return since
        return loaded

    def _shows_edit(self, edit: Edit, action: str) -> bool:
        """Whether the text shows an edit: the line that it struck out, or the gap it left, where
        the lines that were around it follow one another."""
        if action == "supersede":
            return bool(edit.removed) and edit.inserted in self.text
        neighbours = (*edit.above[:1], *edit.below[:1])
        return len(neighbours) == 2 and neighbours in self._pairs

    def _rewrites(self, write: Write) -> bool:
        """Whether a line in the fact's place rewrites it.

        At the end of a file, where whoever has an older copy types as well, that is only a line
        much like it, or with words of it.
        """
        edit = write.added
        assert edit is not None, "only writes of facts are watched"
        words = _content_words(write.text)
        for line in map(plain, self._between(edit.above, edit.below)):
            others = _content_words(line)
            common = len(words & others)
            is_alike = SequenceMatcher(None, line, write.text, autojunk=False).ratio() >= SIMILAR
            shares_words = common and SHARED * common >= min(len(words), len(others))
            if edit.below or shares_words or is_alike:
                return True
        return False

    def _between(self, above: Sequence[str], below: Sequence[str]) -> list[str]:
        """The few lines between the nearest of those with these digests that are still there."""
        digests = set(self._digests)
        first = next((digest for digest in above if digest in digests), "")
        last = next((digest for digest in below if digest in digests), "")
        if (above and not first) or (below and not last):
            return []
        start = self._digests.index(first) + 1 if first else 0
        is_after = last in self._digests[start:]
        stop = self._digests.index(last, start) if is_after else len(self.lines)
        lines = self.lines[start:stop]
        is_bounded = last or stop == len(self.lines)
        return lines if len(lines) <= MOST_LINES and is_bounded else []


def _content_words(text: str) -> set[str]:
    """The words of a text that tell it from others: not the short ones, nor numbers."""
    return {word for word in fold(text).split() if len(word) > 3 and not word.isdigit()}


def _lines(text: str) -> list[str]:
    return [line for match in LINES.findall(without_phrases(text)) if (line := match.strip())]


def fact_keys(text: str) -> set[str]:
    """The keys of what the blocks of a file say, struck out or not."""
    blocks = _BLOCK_ENDS.split(BREAKS.sub("\n", text))
    return set(chain.from_iterable(_block_keys(block.strip("\n")) for block in blocks))


@lru_cache(BLOCKS)
def _block_keys(block: str) -> tuple[str, ...]:
    """The keys of what a block says, and of the heading that it begins with."""
    parts = block.split("\n", 1) if _HEADING.match(block) else [block]
    return tuple(fact_key(plain(part)) for part in parts)


class ForgottenLines:
    """Recognises the forgotten lines of one workspace, in whichever of its files they come back."""

    def __init__(self, workspace: Workspace, journal: Journal) -> None:
        self._workspace = workspace
        self._journal = journal

    def digests(self, draft: Draft, passages: Sequence[Passage]) -> tuple[str, ...]:
        """The keyed digests of passages that were removed from a draft; none of a line that a file
        still has. Makes the key if there is none; raises StorageError."""
        if not self._key():
            storage.private_directory(self._workspace.private)
            storage.replace(self._workspace.forgotten_key, secrets.token_hex(32).encode())
        gone = {_words(passage.text.strip().split("\n")[0]) for passage in passages} - {""}
        for _, text in draft.texts():
            folded = text.casefold()
            if any(words in folded for words in gone):
                gone -= set(map(_words, text.splitlines()))
        key = self._key()
        return tuple(_digest(words, key) for words in sorted(gone))

    def returned(self) -> Iterator[Returned]:
        """The forgotten lines that are in memory's files again, unless a later write added them or
        the owner wants to keep them. Raises StorageError."""
        for source, text in Draft(self._workspace).texts() if self._journal.forgotten() else ():
            yield from self.returned_in(source, text)

    def returned_in(self, source: str, text: str) -> Iterator[Returned]:
        """The same of another text of a file."""
        records, key = self._journal.forgotten(), self._key()
        for number, line in enumerate(text.splitlines() if records else (), start=1):
            record = records.get(_digest(words, key)) if (words := _words(line)) else None
            if record and not self._is_written_since(words, record):
                shown = without_bullet(annotations.without(line))
                purged = not record.reversible
                yield Returned(record.write.id, source, number, shown, purged)

    def _is_written_since(self, words: str, record: Record) -> bool:
        """Whether a later write than this one added a line with these words."""
        later = takewhile(
            lambda other: other.line > record.line, reversed(list(self._journal.records.values()))
        )
        return any(other.adds and _words(other.item or "") == words for other in later)

    def _key(self) -> bytes:
        return storage.read_or_empty(self._workspace.forgotten_key)[:64]


def _words(line: str) -> str:
    """What a line says in small letters: without bullet, check box, full stop and comments."""
    return without_bullet(line.partition("<!--")[0]).casefold().rstrip(" \t.,;:!")


def _digest(words: str, key: bytes) -> str:
    return blake2b(words.encode("utf-8", "surrogatepass"), digest_size=12, key=key).hexdigest()
