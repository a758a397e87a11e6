"""Which facts did somebody's save erase, and which did the owner delete?

A save may rest on a text from before our writes: an editor that loaded the file earlier, a backup,
`git stash`, another machine's copy. It takes our facts back without anybody wanting it. So every
fact is watched, at each save by somebody else, for as long as it is in our record. What is missing
from a save was deleted only if the save shows that whoever made it had the fact before them:

- something newer than the fact stands in it: a fact first written later, the heading that came with
  the fact, a line that we struck out since, the gap left by what we forgot since;
- a line much like the fact stands in its place: the owner edited it;
- an earlier save had held the fact, and it alone is missing from a text that the file never was.

Otherwise it was erased, and is offered again: an offer can be dismissed, a loss cannot be noticed.
No verdict is the last: a save that was cut short, or a copy that came back, is followed by another,
and what that holds has been seen again.
"""

from bisect import bisect
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property

from assistant.memory.text.identity import fact_key
from assistant.memory.text.markdown import BREAKS, LINES, line_digest, plain
from assistant.memory.writing.finding import fact_keys
from assistant.memory.writing.record.checkpoint import mark
from assistant.memory.writing.record.marks import Marks
from assistant.memory.writing.record.saves import Saves, Watched
from assistant.memory.writing.record.writes import Edit, Verdict, Write

SIMILAR = 0.6
"""From this share of common characters on, a line is an edited form of another."""


@dataclass(frozen=True, slots=True)
class Traces:
    """What else our writes did to a file, by which a save shows what its maker had before them.

    `removals` are edits that took facts out, `strikes` struck-out texts, each with the number of
    watched writes up to then.
    """

    removals: Sequence[tuple[Edit, int]] = ()
    strikes: Sequence[tuple[str, int]] = ()


_MARKS = Marks()


class Save:
    """The text that somebody else saved, by its lines."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def lines(self) -> list[str]:
        """Its lines, without the white space around them."""
        return [line.strip() for line in LINES.findall(self.text)]

    @cached_property
    def marks(self) -> Sequence[int]:
        """The mark of each of its lines."""
        text = (
            self.text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in self.text else self.text
        )
        return _MARKS.of(text)

    def holds(self, marks: Iterable[int]) -> set[int]:
        """Those of these marks that are of one of its lines."""
        return set(marks).intersection(self.marks)

    def said_beside(self, known: Container[int]) -> set[str]:
        """The keys of all that its blocks say, but for the lines with these marks."""
        lines = BREAKS.split(self.text)
        return fact_keys("\n".join("" if mark(line.strip()) in known else line for line in lines))

    @cached_property
    def gaps(self) -> set[tuple[str, str]]:
        """The digests of each two lines that stand one after the other."""
        return set(zip(self._digests, self._digests[1:], strict=False))

    @cached_property
    def between(self) -> dict[tuple[str, str], list[str]]:
        """The lines that stand between two others, by the digests of those."""
        digests = ["", *self._digests, ""]
        found: dict[tuple[str, str], list[str]] = {}
        for above, line, below in zip(digests, filter(None, self.lines), digests[2:], strict=False):
            found.setdefault((above, below), []).append(line)
        return found

    @cached_property
    def _digests(self) -> list[str]:
        return [line_digest(line) for line in self.lines if line]


class Saying:
    """Which facts a text of a file says, struck out or not, in lines but those that have the marks
    `beside`; a line that we had struck out before a fact was written says nothing of it."""

    def __init__(
        self, save: Save, source: str, saves: Saves, beside: frozenset[int] = frozenset()
    ) -> None:
        self._save = save
        self._source = source
        self._saves = saves
        self._beside = beside

    def tells(self, write: Write) -> bool:
        """Whether it says the fact of a write."""
        key = fact_key(write.text)
        if key not in self._said:
            return False
        before = self._saves.place(write.id) if key in self._struck else 0
        struck = [lines for place, lines in self._struck.get(key, ()) if place < before]
        return not struck or key in self._save.said_beside(self._beside.union(*struck))

    @cached_property
    def _said(self) -> set[str]:
        return self._save.said_beside(self._beside)

    @cached_property
    def _struck(self) -> dict[str, list[tuple[int, set[int]]]]:
        """By the key of a fact that we struck out, the marks of its lines, and when that was."""
        found: dict[str, list[tuple[int, set[int]]]] = {}
        for place, write in self._saves.of_source(self._source, "supersede"):
            for edit in write.edits:
                if edit.source == self._source and edit.removed:
                    lines = {
                        mark(line) for each in edit.inserted.split("\n") if (line := each.strip())
                    }
                    for key in fact_keys(edit.inserted):
                        found.setdefault(key, []).append((place, lines))
        return found


def verdicts_on(text: str, state: str, source: str, saves: Saves) -> dict[str, Verdict]:
    """What became of the facts of a file, if somebody else saved this text of it.

    `state` is the text's digest.
    """
    if saves.ours(source) in {None, state}:
        return {}
    save = Save(text)
    watched = saves.watched(source)
    verdicts = _back(save, source, saves)
    known: dict[str, Verdict] = {each.id: "seen" for each in watched if each.seen}
    judged = _judged(save, state, source, watched, saves)
    return verdicts | {name: each for name, each in judged.items() if known.get(name) != each}


def back_in(text: str, source: str, saves: Saves) -> dict[str, Verdict]:
    """The verdicts on facts that had gone from a file, which is now as our last write left it."""
    return _back(Save(text), source, saves)


def taken_out(text: str, source: str, saves: Saves) -> dict[str, Verdict]:
    """The verdicts on watched facts that a text which the owner approved no longer holds."""
    save = Save(text)
    return {write.id: "deleted" for _, write in _absent(save, source, saves.watched(source), saves)}


def _judged(
    save: Save, state: str, source: str, watched: Sequence[Watched], saves: Saves
) -> dict[str, Verdict]:
    """What became of watched writes (oldest first) in their file, which somebody else saved."""
    absent = dict(_absent(save, source, watched, saves))
    verdicts: dict[str, Verdict] = {each.id: "seen" for each in watched if each.id not in absent}
    if not absent:
        return verdicts
    loaded = _loaded(save, watched, absent, _traces(source, watched, saves), saves)
    missing: list[Watched] = []
    for number, each in enumerate(watched):
        if each.id in absent:
            if number < loaded or _edited(save, absent[each.id]):
                verdicts[each.id] = "deleted"
            else:
                missing.append(each)
    one = len(missing) == 1 and missing[0].seen and bool(save.text.strip())
    by_hand = one and not saves.was(source, state)
    return verdicts | {each.id: "deleted" if by_hand else "erased" for each in missing}


def _absent(
    save: Save, source: str, watched: Sequence[Watched], saves: Saves
) -> Iterator[tuple[str, Write]]:
    """The watched writes whose facts a save does not hold, by id."""
    known = {each.item for each in watched}
    there = save.holds(known)
    lost = [each for each in watched if each.item not in there]
    saying = Saying(save, source, saves, frozenset(known))
    for write in saves.told(lost):
        if not saying.tells(write):
            yield write.id, write


def _traces(source: str, watched: Sequence[Watched], saves: Saves) -> Traces:
    lines = [each.line for each in watched]
    removals, strikes = [], []
    for line, write in saves.of_source(source, "forget", "supersede"):
        edits = [edit for edit in write.edits if edit.source == source]
        if write.action == "forget":
            removals += [(edit, bisect(lines, line)) for edit in edits]
        else:
            strikes += [(edit.inserted, bisect(lines, line)) for edit in edits if edit.removed]
    return Traces(removals, strikes)


def _loaded(
    save: Save, watched: Sequence[Watched], absent: Container[str], traces: Traces, saves: Saves
) -> int:
    """How many of the watched writes, from the first on, the save's maker had before them."""
    there = save.holds(each.heading for each in watched if each.heading is not None)
    loaded = len(watched)
    while loaded and not _shows(watched[loaded - 1], there, absent, saves):
        loaded -= 1
    while loaded and _at_once(watched[loaded - 1 : loaded + 1]):
        loaded += 1
    gaps = [after for edit, after in traces.removals if _left_a_gap(edit, save)]
    return max([loaded, *gaps, *(after for struck, after in traces.strikes if struck in save.text)])


def _shows(write: Watched, there: Container[int], absent: Container[str], saves: Saves) -> bool:
    """Whether a save holds what came with this write, and with none before it."""
    return write.heading in there or (write.id not in absent and not saves.again(write))


def _at_once(writes: Sequence[Watched]) -> bool:
    """Whether two writes came into the file together, as parts of one request."""
    return len(writes) == 2 and writes[0].request == writes[1].request is not None


def _left_a_gap(edit: Edit, save: Save) -> bool:
    """Whether the lines that were around what we forgot stand one after the other."""
    return bool(edit.above and edit.below) and (edit.above[0], edit.below[0]) in save.gaps


def _back(save: Save, source: str, saves: Saves) -> dict[str, Verdict]:
    """The facts that had gone from a file and stand in it again."""
    return dict.fromkeys(saves.back(source, save.marks), "seen")


def _edited(save: Save, write: Write) -> bool:
    """Whether a line much like the fact stands between the neighbours that the fact had."""
    edit = write.added
    assert edit is not None, "only writes of facts are watched"
    above, below = (each[0] if each else "" for each in (edit.above, edit.below))
    return any(
        SequenceMatcher(None, plain(line), write.text, autojunk=False).ratio() >= SIMILAR
        for line in save.between.get((above, below), ())
    )
