"""Which facts did somebody's save erase, and which did the owner delete?

A save may rest on a text from before our writes: an editor that loaded the file earlier, a backup,
`git stash`, another machine's copy. It takes our facts back without anybody wanting it. So every
fact is watched, at each save by somebody else, for as long as it is in our record.

One rule: **a fact is missing because of an older copy unless the save shows that its maker had the
fact before them.** It shows that by anything as new as the fact (a fact first written later, the
heading that came with it, a line struck out since, the gap left by what was forgotten since). A
text that the file never was shows it as well by a line in the fact's place, which rewrites it, or
by missing one fact alone that an earlier save had held.

What an older copy took away is offered again: an offer can be dismissed, a loss cannot be noticed.
No verdict is the last: a save that was cut short, or a copy that came back, is followed by another,
and what that holds has been seen again.

A save may also bring a forgotten fact back. It is known again by a keyed digest of its first line,
which the journal keeps and a purge leaves. The key is `.assistant/forgotten.key`; without it a
digest confirms no guess.
"""

import re
import secrets
from bisect import bisect
from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from hashlib import blake2b

from assistant.disk import storage
from assistant.memory.annotations import without_phrases
from assistant.memory.base import Passage
from assistant.memory.text.identity import fact_key, fold
from assistant.memory.text.markdown import BREAKS, LINES, line_digest, plain
from assistant.memory.writing.draft import Draft
from assistant.memory.writing.edits import words_of
from assistant.memory.writing.journal import GONE, Edit, Journal, Record, Verdict, Write
from assistant.workspace.folder import Workspace

SIMILAR = 0.6
"""From this share of common characters on, a line is an edited form of another."""
SHARED = 3
"""One word in so many of the shorter one in common does as well."""
IN_PLACE = 3
"""So many lines at the most may stand in the place of a fact: it may have been split."""
FEW = 64
"""Words that are looked for at once; the keys of more facts are made of all blocks."""
_BLOCK_ENDS = re.compile(
    r"\n[ \t]*\n|\n(?=[ \t]*(?:>|(?:[-+*]|\d{1,9}[.)]|#{1,6})(?:[ \t]|$)))", re.MULTILINE
)
"""A blank line, and the end of one before a list marker, a quote or a heading."""
_HEADING = re.compile(r"#{1,6}[ \t]")


class Save:
    """A text of a file that somebody else saved, by its lines."""

    def __init__(self, text: str, source: str, journal: Journal) -> None:
        self.text = text
        self._source = source
        self._journal = journal

    @cached_property
    def lines(self) -> list[str]:
        """Its lines that are not blank, without the white space around them."""
        return _lines(self.text)

    @cached_property
    def known(self) -> frozenset[str]:
        """The same, to be looked up."""
        return frozenset(self.lines)

    @cached_property
    def digests(self) -> list[str]:
        """The digest of each of its lines."""
        return list(map(line_digest, self.lines))

    @cached_property
    def gaps(self) -> set[tuple[str, str]]:
        """The digests of each two lines that stand one after the other."""
        return set(zip(self.digests, self.digests[1:], strict=False))

    def between(self, above: Sequence[str], below: Sequence[str]) -> list[str]:
        """The few lines that stand where those with these digests were the nearest."""
        known = set(self.digests)
        first = next((each for each in above if each in known), "")
        last = next((each for each in below if each in known), "")
        if (above and not first) or (below and not last):
            return []
        start = self.digests.index(first) + 1 if first else 0
        stop = self.digests.index(last, start) if last in self.digests[start:] else len(self.lines)
        lines = self.lines[start:stop]
        return lines if len(lines) <= IN_PLACE and (last or stop == len(self.lines)) else []

    def lacks(
        self, records: Sequence[Record], beside: frozenset[str] = frozenset()
    ) -> list[Record]:
        """Those of these writes whose facts it does not say, struck out or not.

        The lines `beside` do not count, nor does one that we had struck out before a fact was
        written.
        """
        said = self._keys(beside, [record.write.text for record in records])

        def is_said(record: Record) -> bool:
            key = fact_key(record.write.text)
            if key not in said:
                return False
            struck = [lines for at, lines in self._struck.get(key, ()) if at < record.line]
            return not struck or key in self._keys(beside.union(*struck), [record.write.text])

        return [record for record in records if not is_said(record)]

    def _keys(self, beside: Container[str], wanted: Collection[str]) -> set[str]:
        """The keys of what its blocks say, but for the lines `beside`. Others than those of the
        facts that are `wanted` may be left out."""
        lines = ("" if line.strip() in beside else line for line in BREAKS.split(self.text))
        return fact_keys("\n".join(lines), wanted)

    @cached_property
    def _struck(self) -> dict[str, list[tuple[int, list[str]]]]:
        """By the key of a fact that we struck out here: when that was, and the lines of it."""
        found: dict[str, list[tuple[int, list[str]]]] = {}
        for record in _standing(self._journal, self._source, "supersede"):
            for edit in record.write.edits:
                if edit.source == self._source and edit.removed:
                    for key in fact_keys(edit.inserted):
                        found.setdefault(key, []).append((record.line, _lines(edit.inserted)))
        return found


def verdicts_on(text: str, state: str, source: str, journal: Journal) -> dict[str, Verdict]:
    """What became of the facts of a file, if somebody else saved this text of it.

    `state` is the text's digest.
    """
    if journal.left(source) in {None, state}:
        return {}
    save = Save(text, source, journal)
    watched = journal.watched(source)
    judged = _judged(save, state, source, watched, journal)
    known = {record.write.id: record.verdict for record in watched}
    changed = {name: verdict for name, verdict in judged.items() if known[name] != verdict}
    return _back(save, source, journal) | changed


def back_in(text: str, source: str, journal: Journal) -> dict[str, Verdict]:
    """The verdicts on facts that had gone from a file, which is now as our last write left it."""
    return _back(Save(text, source, journal), source, journal)


def taken_out(text: str, source: str, journal: Journal) -> dict[str, Verdict]:
    """The verdicts on watched facts that a text which the owner approved no longer holds."""
    absent = _absent(Save(text, source, journal), journal.watched(source))
    return {record.write.id: "deleted" for record in absent}


def _back(save: Save, source: str, journal: Journal) -> dict[str, Verdict]:
    """The facts that had gone from a file and stand in it again."""
    return {
        record.write.id: "seen"
        for record in journal.of_file(source)
        if record.verdict in GONE and record.item in save.known and record.stands
    }


def _judged(
    save: Save, state: str, source: str, watched: Sequence[Record], journal: Journal
) -> dict[str, Verdict]:
    """What became of watched writes (oldest first) in their file, which somebody else saved."""
    absent = _absent(save, watched)
    verdicts: dict[str, Verdict] = {record.write.id: "seen" for record in watched}
    verdicts |= {record.write.id: "deleted" for record in absent}
    if not absent:
        return verdicts
    loaded = _loaded(save, source, watched, absent, journal)
    older = journal.was(source, state)
    later = [record for record in watched[loaded:] if record in absent]
    missing = [record for record in later if older or not _rewritten(save, record.write)]
    alone = len(missing) == len(later) == 1 and missing[0].verdict == "seen"
    if not (alone and not older and save.text.strip()):  # or it was deleted by hand
        verdicts |= {record.write.id: "erased" for record in missing}
    return verdicts


def _absent(save: Save, watched: Sequence[Record]) -> list[Record]:
    """The watched writes whose facts a save does not hold."""
    items = frozenset(record.item for record in watched if record.item)
    return save.lacks([record for record in watched if record.item not in save.known], items)


def _loaded(
    save: Save,
    source: str,
    watched: Sequence[Record],
    absent: Container[Record],
    journal: Journal,
) -> int:
    """How many of the watched writes, from the first on, the save's maker had before them."""
    headings: dict[str | None, Record] = {}
    for record in journal.of_file(source):
        headings.setdefault(record.heading, record)

    def shows(record: Record) -> bool:
        """Whether the save holds what came with this write, and with none before it."""
        own = record.heading is not None and headings[record.heading] is record
        return (own and record.heading in save.known) or (
            record not in absent and not journal.again(record)
        )

    loaded = len(watched)
    while loaded and not shows(watched[loaded - 1]):
        loaded -= 1
    request = watched[loaded - 1].write.request if loaded else None
    while request and loaded < len(watched) and watched[loaded].write.request == request:
        loaded += 1  # parts of one request came into the file together
    lines = [record.line for record in watched]
    for record in reversed(_standing(journal, source, "forget", "supersede")):
        since = bisect(lines, record.line)
        if since <= loaded:
            break
        edits = [edit for edit in record.write.edits if edit.source == source]
        if any(_shows_edit(save, edit, record.write.action) for edit in edits):
            return since
    return loaded


def _standing(journal: Journal, source: str, *actions: str) -> list[Record]:
    """The writes of a file that stand, of these actions; oldest first."""
    records = (record for record in journal.of_file(source) if record.stands)
    return [record for record in records if record.write.action in actions]


def _shows_edit(save: Save, edit: Edit, action: str) -> bool:
    """Whether a save shows what an edit did: a line that it struck out, or the gap it left, where
    the lines that were around it stand one after the other."""
    if action == "supersede":
        return bool(edit.removed) and edit.inserted in save.text
    return bool(edit.above and edit.below) and (edit.above[0], edit.below[0]) in save.gaps


def _rewritten(save: Save, write: Write) -> bool:
    """Whether a line in the fact's place took it: at the end of a file, where whoever has an older
    copy types as well, only one that is much like it or has words of it."""
    edit = write.added
    assert edit is not None, "only writes of facts are watched"
    words = _content(write.text)
    for line in save.between(edit.above, edit.below):
        said = plain(line)
        other = _content(said)
        shared = words & other and SHARED * len(words & other) >= min(len(words), len(other))
        alike = SequenceMatcher(None, said, write.text, autojunk=False).ratio() >= SIMILAR
        if edit.below or shared or alike:
            return True
    return False


def _content(text: str) -> set[str]:
    """The words of a text that tell it from others: not the short ones, nor numbers."""
    return {word for word in fold(text).split() if len(word) > 3 and not word.isdigit()}


def _lines(text: str) -> list[str]:
    return [line for each in LINES.findall(text) if (line := each.strip())]


# What the blocks of a text say


def fact_keys(text: str, wanted: Collection[str] | None = None) -> set[str]:
    """The keys of all that the blocks of a file say, struck out or not; if only some facts are
    `wanted`, blocks that do not hold a word of them may be left out."""
    telling = _telling(wanted) if wanted is not None else None
    found: set[str] = set()
    for block in _BLOCK_ENDS.split(BREAKS.sub("\n", text)):
        block = block.strip("\n")
        parts = block.split("\n", 1) if _HEADING.match(block) else [block]
        for part in parts:
            if telling is None or telling.search(part.lower()):
                found.add(fact_key(plain(part)))
    return found


def _telling(facts: Collection[str]) -> "re.Pattern[str] | None":
    """Matches one word of each of these facts; None if they are many, or one has no such word."""
    words = {max(words_of(fact), key=len, default="") for fact in facts}
    if "" in words or len(words) > FEW:
        return None
    return re.compile("|".join(map(re.escape, words)) or r"(?!)")


_BYTES = 12


@dataclass(frozen=True, slots=True)
class Returned:
    """A line that stands in a file again; `entry` is the journal's id of what forgot it."""

    entry: str
    source: str
    line: int
    text: str
    purged: bool


class Gone:
    """The forgotten lines of one workspace."""

    def __init__(self, workspace: Workspace, journal: Journal) -> None:
        self._workspace = workspace
        self._journal = journal

    def digests(self, draft: Draft, passages: Sequence[Passage]) -> tuple[str, ...]:
        """What is kept of passages that were taken out of a draft: none of a line that still
        stands there a second time. Makes the key if there is none; raises StorageError."""
        if not self._key():
            storage.private_directory(self._workspace.private)
            storage.replace(self._workspace.forgotten_key, secrets.token_hex(32).encode())
        found: list[str] = []
        for source in dict.fromkeys(passage.source for passage in passages):
            own = [each.text.strip() for each in passages if each.source == source]
            gone = {_bare(text.split("\n")[0]) for text in own}
            left = set(map(_bare, draft.text(source).splitlines()))
            found += [digest for _, _, digest in self._digested(source, gone - left)]
        return tuple(found)

    def returned(self) -> Iterator[Returned]:
        """The forgotten lines that stand in their files again, and that nobody wrote since or
        wants to keep. Raises StorageError."""
        draft = Draft(self._workspace)
        for source, records in self._journal.forgotten().items():
            if not draft.is_text(source):
                continue
            later = {record.item: record.line for record in self._journal.watched(source)}
            lines = draft.text(source).splitlines()
            for number, line, digest in self._digested(source, map(_bare, lines)):
                record = records.get(digest)
                if record and later.get(lines[number - 1].strip(), 0) <= record.line:
                    yield Returned(record.write.id, source, number, line, not record.reversible)

    def _key(self) -> bytes:
        return storage.held(self._workspace.forgotten_key)[:64]

    def _digested(self, source: str, lines: Iterable[str]) -> Iterator[tuple[int, str, str]]:
        """Each line that is not blank: its number, what it says and its digest."""
        begun = blake2b(f"{source}\n".encode(), digest_size=_BYTES, key=self._key())
        for number, line in enumerate(lines, start=1):
            if line:
                whole = begun.copy()
                whole.update(line.encode("utf-8", "surrogatepass"))
                yield number, line, whole.hexdigest()


def _bare(line: str) -> str:
    """A line without its bullet and what it matters for."""
    return without_phrases(line).strip().lstrip("-*+ \t")
