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
"""

from bisect import bisect
from collections.abc import Collection, Container, Sequence
from difflib import SequenceMatcher
from functools import cached_property

from assistant.memory.text.identity import fact_key, fold
from assistant.memory.text.markdown import BREAKS, LINES, line_digest, plain
from assistant.memory.writing.entries import Edit, Verdict, Write
from assistant.memory.writing.finding import fact_keys
from assistant.memory.writing.journal import Journal, Row

SIMILAR = 0.6
"""From this share of common characters on, a line is an edited form of another."""
SHARED = 3
"""One word in so many of the shorter one in common does as well."""
IN_PLACE = 3
"""So many lines at the most may stand in the place of a fact: it may have been split."""


class Save:
    """The text that somebody else saved, by its lines."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def lines(self) -> list[str]:
        """Its lines that are not blank, without the white space around them."""
        return [line for each in LINES.findall(self.text) if (line := each.strip())]

    @cached_property
    def hashes(self) -> set[int]:
        """The hash of each of its lines, as the journal has them of its own."""
        return set(map(hash, self.lines))

    def said_beside(self, known: Container[int], wanted: Collection[str]) -> set[str]:
        """The keys of all that its blocks say, but for the lines with these hashes. Others than
        those of the facts that are `wanted` may be left out."""
        lines = BREAKS.split(self.text)
        text = "\n".join("" if hash(line.strip()) in known else line for line in lines)
        return fact_keys(text, wanted)

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


class Saying:
    """Whether a text of a file says facts that are `wanted`, struck out or not.

    Lines with the hashes `beside` do not count, nor does one that we had struck out before a fact
    was written.
    """

    def __init__(
        self,
        save: Save,
        source: str,
        journal: Journal,
        wanted: Collection[str],
        beside: frozenset[int] = frozenset(),
    ) -> None:
        self._save = save
        self._source = source
        self._journal = journal
        self._wanted = wanted
        self._beside = beside

    def tells(self, write: Write) -> bool:
        """Whether it says the fact of a write."""
        key = fact_key(write.text)
        if key not in self._said:
            return False
        position = self._journal.position(write.id)
        struck = [lines for at, lines in self._struck.get(key, ()) if at < position]
        beside = self._beside.union(*struck)
        return not struck or key in self._save.said_beside(beside, [write.text])

    @cached_property
    def _said(self) -> set[str]:
        return self._save.said_beside(self._beside, self._wanted)

    @cached_property
    def _struck(self) -> dict[str, list[tuple[int, set[int]]]]:
        """By the key of a fact that we struck out: when that was, and the hashes of its lines."""
        found: dict[str, list[tuple[int, set[int]]]] = {}
        for write in self._journal.writes(self._journal.standing(self._source, "supersede")):
            for edit in write.edits:
                if edit.source == self._source and edit.removed:
                    lines = {
                        hash(line) for each in edit.inserted.split("\n") if (line := each.strip())
                    }
                    for key in fact_keys(edit.inserted):
                        found.setdefault(key, []).append((self._journal.position(write.id), lines))
        return found


def verdicts_on(text: str, state: str, source: str, journal: Journal) -> dict[str, Verdict]:
    """What became of the facts of a file, if somebody else saved this text of it.

    `state` is the text's digest.
    """
    if journal.left(source) in {None, state}:
        return {}
    save = Save(text)
    watched = journal.watched(source)
    judged = _judged(save, state, source, watched, journal)
    known = {row.id: row.verdict for row in watched}
    changed = {name: verdict for name, verdict in judged.items() if known[name] != verdict}
    return _back(save, source, journal) | changed


def back_in(text: str, source: str, journal: Journal) -> dict[str, Verdict]:
    """The verdicts on facts that had gone from a file, which is now as our last write left it."""
    return _back(Save(text), source, journal)


def taken_out(text: str, source: str, journal: Journal) -> dict[str, Verdict]:
    """The verdicts on watched facts that a text which the owner approved no longer holds."""
    absent = _absent(Save(text), source, journal.watched(source), journal)
    return dict.fromkeys(absent, "deleted")


def _back(save: Save, source: str, journal: Journal) -> dict[str, Verdict]:
    """The facts that had gone from a file and stand in it again."""
    return dict.fromkeys(journal.back(source, save.hashes), "seen")


def _judged(
    save: Save, state: str, source: str, watched: Sequence[Row], journal: Journal
) -> dict[str, Verdict]:
    """What became of watched writes (oldest first) in their file, which somebody else saved."""
    absent = _absent(save, source, watched, journal)
    verdicts: dict[str, Verdict] = {row.id: "seen" for row in watched if row.id not in absent}
    if not absent:
        return verdicts
    loaded = _loaded(save, source, watched, absent, journal)
    older = journal.was(source, state)
    later = [row for number, row in enumerate(watched) if number >= loaded and row.id in absent]
    rewritten = [row for row in later if not older and _rewritten(save, absent[row.id])]
    missing = [row for row in later if row not in rewritten]
    verdicts |= {name: "deleted" for name in absent}
    alone = len(missing) == 1 and not rewritten and missing[0].verdict == "seen"
    by_hand = alone and not older and bool(save.text.strip())
    return verdicts | {row.id: "deleted" if by_hand else "erased" for row in missing}


def _absent(save: Save, source: str, watched: Sequence[Row], journal: Journal) -> dict[str, Write]:
    """The watched writes whose facts a save does not hold, by id."""
    known = frozenset(row.item for row in watched if row.item is not None)
    lost = journal.writes(row for row in watched if row.item not in save.hashes)
    saying = Saying(save, source, journal, [write.text for write in lost], known)
    return {write.id: write for write in lost if not saying.tells(write)}


def _loaded(
    save: Save, source: str, watched: Sequence[Row], absent: Container[str], journal: Journal
) -> int:
    """How many of the watched writes, from the first on, the save's maker had before them."""
    headings = journal.first_headings(source)

    def shows(row: Row) -> bool:
        """Whether the save holds what came with this write, and with none before it."""
        own = row.heading is not None and headings.get(row.heading) is row
        return (own and row.heading in save.hashes) or (
            row.id not in absent and not journal.again(row)
        )

    loaded = len(watched)
    while loaded and not shows(watched[loaded - 1]):
        loaded -= 1
    while 0 < loaded < len(watched) and watched[loaded - 1].request == watched[loaded].request:
        if watched[loaded].request is None:
            break
        loaded += 1  # parts of one request came into the file together
    lines = [row.line for row in watched]
    for row in reversed(journal.standing(source, "forget", "supersede")):
        since = bisect(lines, row.line)
        if since <= loaded:
            break
        edits = [edit for edit in journal.writes([row])[0].edits if edit.source == source]
        if any(_shows_edit(save, edit, row.action) for edit in edits):
            return since
    return loaded


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
