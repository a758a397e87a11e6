"""Which facts did somebody's save erase, and which did the owner delete?

A save may rest on a text from before our writes: an editor that loaded the file earlier, a backup,
`git stash`, another machine's copy. It takes our facts back without anybody wanting it. So every
fact is watched, at each save by somebody else, for as long as it is in our record. What is missing
from a save was deleted only if the save shows that whoever made it had the fact before them:

- something newer than the fact stands in it: a fact written later, the dated heading that came with
  the fact, a line that we struck out since, the gap left by what we forgot since;
- a line much like the fact stands in its place: the owner edited it;
- an earlier save had held the fact, and it alone is missing from a text that the file never was.

Otherwise it was erased, and is offered again: an offer can be dismissed, a loss cannot be noticed.
No verdict is the last: a save that was cut short, or a copy that came back, is followed by another,
and what that holds has been seen again.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import cached_property

from assistant.memory.text.identity import fact_key
from assistant.memory.text.markdown.lines import LINES, line_digest
from assistant.memory.text.markdown.words import plain
from assistant.memory.writing.finding import fact_keys
from assistant.memory.writing.markup.items import item_of
from assistant.memory.writing.record.journal import Journal
from assistant.memory.writing.record.writes import Edit, Verdict, Write

SIMILAR = 0.6
"""From this share of common characters on, a line is an edited form of another."""
WATCHED: frozenset[Verdict | None] = frozenset({None, "seen"})
"""The verdicts on facts that stand, as far as is known."""


@dataclass(slots=True)
class Traces:
    """What else our writes did to a file, by which a save shows what its maker had before them.

    `removals` are edits that took facts out, `strikes` struck-out texts, each with the number of
    watched writes up to then; `states` the digests of what the file was before and after a write.
    """

    removals: list[tuple[Edit, int]] = field(default_factory=list)
    strikes: list[tuple[str, int]] = field(default_factory=list)
    states: set[str] = field(default_factory=set)


class Save:
    """The text that somebody else saved, by its lines."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = [line.strip() for line in LINES.findall(text)]
        self.there = set(self.lines)

    @cached_property
    def said(self) -> set[str]:
        """The keys of all that its blocks say."""
        return fact_keys(self.text)

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


def verdicts_on(text: str, state: str, source: str, journal: Journal) -> dict[str, Verdict]:
    """What became of the facts of a file, if somebody else saved this text of it.

    `state` is the text's digest.
    """
    if journal.saved(source) in {None, state}:
        return {}
    save = Save(text)
    watched: list[Write] = []
    traces = Traces()
    for write in journal.acknowledged():
        edits = [edit for edit in write.edits if edit.source == source]
        traces.states.update(digest for edit in edits for digest in (edit.before, edit.after))
        if write.source != source or not journal.reversible(write):
            continue
        if write.action == "forget":
            traces.removals += [(edit, len(watched)) for edit in edits]
        elif write.added and journal.verdict(write.id) in WATCHED:
            watched.append(write)
        if write.action == "supersede":
            traces.strikes += [(edit.inserted, len(watched)) for edit in edits if edit.removed]
    seen = {write.id for write in watched if journal.verdict(write.id) == "seen"}
    verdicts = _back(save, source, journal) | judge(save, state, watched, seen, traces)
    return {name: each for name, each in verdicts.items() if journal.verdict(name) != each}


def back_in(text: str, source: str, journal: Journal) -> dict[str, Verdict]:
    """The verdicts on facts that had gone from a file, which is now as our last write left it."""
    return _back(Save(text), source, journal) if journal.gone() else {}


def taken_out(text: str, source: str, journal: Journal) -> dict[str, Verdict]:
    """The verdicts on watched facts that a text which the owner approved no longer holds."""
    said = fact_keys(text)
    return {
        write.id: "deleted"
        for write in journal.acknowledged()
        if write.added and write.source == source and journal.verdict(write.id) in WATCHED
        if fact_key(write.text) not in said
    }


def judge(
    save: Save,
    state: str,
    watched: Sequence[Write],
    seen: set[str],
    traces: Traces,
) -> dict[str, Verdict]:
    """What became of watched writes (oldest first) in their file, which somebody else saved.

    An earlier save had held those that were `seen`.
    """
    present = _present(save, watched)
    loaded = _loaded(save, watched, present, traces)
    verdicts: dict[str, Verdict] = {}
    missing: list[Write] = []
    for number, write in enumerate(watched):
        if write.id in present:
            verdicts[write.id] = "seen"
        elif number < loaded or _edited(save, write):
            verdicts[write.id] = "deleted"
        else:
            missing.append(write)
    one = len(missing) == 1 and missing[0].id in seen
    by_hand = one and bool(save.there) and state not in traces.states
    return verdicts | {write.id: "deleted" if by_hand else "erased" for write in missing}


def _loaded(save: Save, watched: Sequence[Write], present: set[str], traces: Traces) -> int:
    """How many of the watched writes, from the first on, the save's maker had before them."""
    headings: dict[str, int] = {}
    loaded = 0
    for number, write in enumerate(watched, start=1):
        heading = _heading(_added(write))
        made = headings.setdefault(heading, number) if heading else 0
        at_once = loaded == number - 1 and _at_once(watched[loaded - 1 : number])
        if write.id in present or (heading in save.there and made == number) or at_once:
            loaded = number
    gaps = [after for edit, after in traces.removals if _left_a_gap(edit, save)]
    return max([loaded, *gaps, *(after for struck, after in traces.strikes if struck in save.text)])


def _at_once(writes: Sequence[Write]) -> bool:
    """Whether two writes came into the file together, as parts of one request."""
    return len(writes) == 2 and writes[0].request == writes[1].request is not None


def _left_a_gap(edit: Edit, save: Save) -> bool:
    """Whether the lines that were around what we forgot stand one after the other."""
    return bool(edit.above and edit.below) and (edit.above[0], edit.below[0]) in save.gaps


def _back(save: Save, source: str, journal: Journal) -> dict[str, Verdict]:
    """The facts that had gone from a file and stand in it again."""
    gone = [write for write in journal.gone() if write.added and write.source == source]
    return {write.id: "seen" for write in gone if _line(write) in save.there}


def _added(write: Write) -> Edit:
    """The edit that added the write's fact."""
    assert write.added is not None, "only writes of facts are watched"
    return write.added


def _line(write: Write) -> str:
    """The line of the write's fact, as it was added."""
    return item_of(_added(write).inserted)


def _present(save: Save, watched: Sequence[Write]) -> set[str]:
    found = {write.id for write in watched if _line(write) in save.there}
    if len(found) < len(watched):
        found |= {write.id for write in watched if fact_key(write.text) in save.said}
    return found


def _heading(edit: Edit) -> str:
    """The heading that the edit made; "" if it made none."""
    first = str(LINES.findall(edit.inserted)[0]).strip()
    return first if first.startswith("## ") else ""


def _edited(save: Save, write: Write) -> bool:
    """Whether a line much like the fact stands between the neighbours that the fact had."""
    edit = _added(write)
    above, below = (each[0] if each else "" for each in (edit.above, edit.below))
    return any(
        SequenceMatcher(None, plain(line), write.text, autojunk=False).ratio() >= SIMILAR
        for line in save.between.get((above, below), ())
    )
