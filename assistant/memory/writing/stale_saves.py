"""Distinguishes the facts that a stale save erased from those that the owner deleted.

A save may be based on a text from before our writes: an editor that loaded the file earlier, a
backup, `git stash`, another machine's copy. It removes facts that nobody wanted to lose. So the
facts in the journal are watched: each time somebody else saves a file, each of its facts gets a
verdict.

One rule: **a missing fact was erased by a stale save, unless the save shows that its author had the
fact in view.** A save shows that by anything as new as the fact: a fact written later, the heading
that came with it, a line struck out since, the gap left by what was forgotten since. A text that
the file never had also shows it by a line that rewrites the fact in its position, or by missing
just one fact that an earlier save had.

What a stale save erased is offered again: an offer can be dismissed, a loss goes unnoticed. No
verdict is final: a save that was cut short, or a copy that came back, is followed by another, and
what that contains has been seen again.

A save may also bring a forgotten fact back. It is recognised by a keyed digest of its first line,
which the journal keeps and a purge leaves. The key is `.assistant/forgotten.key`; without it a
digest confirms no guess.
"""

import re
import secrets
from collections.abc import Container, Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from functools import cached_property, lru_cache
from hashlib import blake2b
from itertools import chain, takewhile

from assistant.disk import storage
from assistant.memory import annotations
from assistant.memory.annotations import split_comments, without_phrases
from assistant.memory.base import Passage, Returned
from assistant.memory.text.identity import fact_key, fold, without_bullet
from assistant.memory.text.markdown import BREAKS, LINES, line_digest, plain
from assistant.memory.writing.draft import Draft
from assistant.memory.writing.journal import ABSENT, Journal, Record, Verdict, Write
from assistant.workspace.folder import Workspace

SIMILAR = 0.6
"""The minimum share of common characters at which a line is an edited form of another."""
SHARED = 3
"""A line that shares at least one in this many words of the shorter one is an edited form, too."""
BLOCKS = 1 << 14
"""The number of files' blocks that are cached parsed."""
MOST_LINES = 3
"""The maximum number of lines that may replace a fact, which may have been split."""
_BLOCK_ENDS = re.compile(
    r"\n[ \t]*\n|\n(?=[ \t]*(?:>|(?:[-+*]|\d{1,9}[.)]|#{1,6})(?:[ \t]|$)))", re.MULTILINE
)
"""A blank line, and a line ending before a list marker, a quote or a heading."""
_HEADING = re.compile(r"#{1,6}[ \t]")


class SavedText:
    """The current text of a file, after somebody else may have saved it."""

    def __init__(self, text: str, source: str, journal: Journal) -> None:
        self.text = text
        self._source = source
        self._journal = journal

    @cached_property
    def lines(self) -> list[str]:
        """Its non-blank lines, stripped, without `for:` comments."""
        return _lines(self.text)

    @cached_property
    def _line_set(self) -> frozenset[str]:
        return frozenset(self.lines)

    @cached_property
    def _digests(self) -> list[str]:
        return list(map(line_digest, self.lines))

    @cached_property
    def _pairs(self) -> set[tuple[str, ...]]:
        """The digests of each two consecutive lines."""
        return set(zip(self._digests, self._digests[1:], strict=False))

    def verdicts(self, state: str) -> dict[str, Verdict]:
        """Return the new verdicts on the file's facts, by write; `state` is its digest."""
        written = self._journal.written.get(self._source)
        if written is None:
            return {}
        return self.seen_again() | (self._judged(state) if written != state else {})

    def seen_again(self) -> dict[str, Verdict]:
        """Return the verdicts on facts that were gone from the file and are in it again."""
        return {
            record.write.id: "seen"
            for record in self._journal.of_file(self._source)
            if record.verdict in ABSENT and record.item in self._line_set and record.is_in_effect
        }

    def deleted(self) -> dict[str, Verdict]:
        """Return the verdicts on watched facts that this text, approved by the owner, lacks."""
        return {record.write.id: "deleted" for record in self._missing()}

    def comments(self) -> dict[str, str]:
        """Return the comments at the lines of watched facts, by write, where they have changed."""
        lines = (split_comments(line) for line in BREAKS.split(self.text) if "<!--" in line)
        typed = {words.strip(): comments for words, comments in lines}
        changed = {}
        for record in self._journal.watched(self._source):
            words = split_comments(record.item or "")[0]
            comments = typed.get(words, "" if words in self._line_set else record.comments)
            if comments != record.comments:
                changed[record.write.id] = comments
        return changed

    def lacks(
        self, records: Sequence[Record], ignored: frozenset[str] = frozenset()
    ) -> list[Record]:
        """Return those of these writes whose facts the text does not state, struck out or not.

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
        """Return the keys of the text's blocks without the lines `ignored`."""
        lines = BREAKS.split(self.text)
        kept = ("" if without_phrases(line).strip() in ignored else line for line in lines)
        return fact_keys("\n".join(kept))

    @cached_property
    def _struck(self) -> dict[str, list[tuple[int, list[str]]]]:
        """By the key of a fact that we struck out here: the journal's line, and the file's."""
        struck: dict[str, list[tuple[int, list[str]]]] = {}
        for record in self._journal.of_file(self._source):
            is_standing = record.is_in_effect and record.write.action == "supersede"
            for edit in record.write.edits if is_standing else ():
                if edit.source == self._source and edit.removed:
                    for key in fact_keys(edit.inserted):
                        struck.setdefault(key, []).append((record.line, _lines(edit.inserted)))
        return struck

    def _missing(self) -> list[Record]:
        """Return the watched writes whose facts the text lacks."""
        watched = self._journal.watched(self._source)
        items = frozenset(record.item for record in watched if record.item)
        gone = [record for record in watched if record.item not in self._line_set]
        return self.lacks(gone, items)

    def _judged(self, state: str) -> dict[str, Verdict]:
        """Return the new verdicts on watched facts, in a text that is not as we wrote it."""
        missing = self._missing()
        watched = self._journal.watched(self._source)
        verdicts: dict[Record, Verdict] = dict.fromkeys(watched, "seen")
        verdicts |= dict.fromkeys(missing, "deleted")
        is_old = self._journal.has_had(self._source, state)
        later = self._later(missing) if missing else []
        erased = [record for record in later if is_old or not self._rewrites(record.write)]
        is_alone = len(erased) == len(later) == 1 and erased[0].verdict == "seen"
        if not (is_alone and not is_old and self.text.strip()):  # else it was deleted by hand
            verdicts |= dict.fromkeys(erased, "erased")
        return {
            record.write.id: verdict
            for record, verdict in verdicts.items()
            if verdict != record.verdict
        }

    def _later(self, missing: Sequence[Record]) -> list[Record]:
        """Return those of the missing writes that are later than any that the text shows; the facts
        of one request reached the file together."""
        records = self._journal.of_file(self._source)
        first_with = {record.heading: record for record in reversed(records)}

        def has_added(record: Record) -> bool:
            """Return whether the text has what came with this write, and with none before it."""
            if record.heading in self._line_set and first_with[record.heading] is record:
                return True
            return record not in missing and not self._journal.has_written_before(record)

        for shown in reversed(records):
            if (shown.is_watched and has_added(shown)) or self._shows_edit(shown):
                request = shown.write.request
                later = [record for record in missing if record.line > shown.line]
                return [one for one in later if not request or one.write.request != request]
        return list(missing)

    def _shows_edit(self, record: Record) -> bool:
        """Return whether the text shows a standing write: by the line that it struck out, or the
        gap it left, where the lines formerly around it are adjacent."""
        edits = [edit for edit in record.write.edits if edit.source == self._source]
        match record.is_in_effect and record.write.action:
            case "supersede":
                return any(edit.removed and edit.inserted in self.text for edit in edits)
            case "forget":
                return any((*edit.above[:1], *edit.below[:1]) in self._pairs for edit in edits)
        return False

    def _rewrites(self, write: Write) -> bool:
        """Return whether a line in the fact's position rewrites it.

        At the end of a file, where the author of an older copy types as well, only a very similar
        line counts, or one that shares words with it.
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
        """Return the few lines between the nearest remaining ones with these digests."""
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
    """Return the distinctive words of a text: no short ones, and no numbers."""
    return {word for word in fold(text).split() if len(word) > 3 and not word.isdigit()}


def _lines(text: str) -> list[str]:
    return [line for match in LINES.findall(without_phrases(text)) if (line := match.strip())]


def fact_keys(text: str) -> set[str]:
    """Return the keys of the blocks of a file, struck out or not."""
    blocks = _BLOCK_ENDS.split(BREAKS.sub("\n", text))
    return set(chain.from_iterable(_block_keys(block.strip("\n")) for block in blocks))


@lru_cache(BLOCKS)
def _block_keys(block: str) -> tuple[str, ...]:
    """Return the keys of a block, and of a heading that it begins with."""
    parts = block.split("\n", 1) if _HEADING.match(block) else [block]
    return tuple(fact_key(plain(part)) for part in parts)


class ForgottenLines:
    """Recognises the forgotten lines of one workspace, in whichever of its files they return."""

    def __init__(self, workspace: Workspace, journal: Journal) -> None:
        self._workspace = workspace
        self._journal = journal

    def digests(self, draft: Draft, passages: Sequence[Passage]) -> tuple[str, ...]:
        """Return the keyed digests of passages that were removed from a draft, unless a file still
        has the line. Creates a missing key; raises StorageError."""
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

    def returned(self, texts: Iterable[tuple[str, str]]) -> Iterator[Returned]:
        """Yield the forgotten lines in these texts of files, unless a later write added them or the
        owner wants to keep them. Raises StorageError."""
        records, key = self._journal.forgotten(), self._key()
        for source, text in texts if records else ():
            for number, line in enumerate(text.splitlines(), start=1):
                record = records.get(_digest(words, key)) if (words := _words(line)) else None
                if record and not self._is_written_since(words, record):
                    shown = without_bullet(annotations.without(line))
                    purged = not record.reversible
                    yield Returned(record.write.id, source, number, shown, purged)

    def _is_written_since(self, words: str, record: Record) -> bool:
        """Return whether a later write than this one added a line with this text."""
        later = takewhile(
            lambda other: other.line > record.line, reversed(list(self._journal.records.values()))
        )
        return any(other.adds and _words(other.item or "") == words for other in later)

    def _key(self) -> bytes:
        return storage.read_or_empty(self._workspace.forgotten_key)[:64]


def _words(line: str) -> str:
    """Return a line in lower case, without bullet, check box, final punctuation and comments."""
    return without_bullet(line.partition("<!--")[0]).casefold().rstrip(" \t.,;:!")


def _digest(words: str, key: bytes) -> str:
    return blake2b(words.encode("utf-8", "surrogatepass"), digest_size=12, key=key).hexdigest()
