"""Which facts did an editor's stale save erase, and which did the owner delete?

An editor that loaded a file before our write and saves it afterwards takes our write back without
anybody wanting it. Each fact is watched until the first save by somebody else:

- the save holds the fact, or one written later: its editor had loaded our write, so the owner has
  seen the fact, and whatever is missing from before it was deleted on purpose;
- it holds a line that we struck out after this one, or lacks a fact that we forgot after it and
  that its editor would have loaded before: so it had loaded our write here too;
- it holds the dated heading that came with the fact, or puts a line much like the fact in its
  place: the owner edited our write;
- it is byte for byte what the file once was before a write of ours, and no heading of ours is gone,
  or with the fact's line put back it is what we left: the owner took the fact out and did nothing
  else. (An editor with nothing typed in it has no cause to save, and most reload such a buffer.)
- otherwise the editor had not loaded our write: the fact was erased, and is offered again.

What cannot be told apart from contents, a stale save with a line typed and a deletion with a line
typed in the same first save under an older heading, is taken for the former: an offer can be
dismissed, a loss cannot be noticed. A later save never erases a fact that the owner has seen.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher

from assistant.memory.text.identity import digest, fact_key
from assistant.memory.text.lines import LINES, line_digest, newline
from assistant.memory.text.words import plain
from assistant.memory.writing.finding import fact_keys
from assistant.memory.writing.markup.items import item_of
from assistant.memory.writing.record.journal import Journal
from assistant.memory.writing.record.writes import Edit, Verdict, Write

SIMILAR = 0.6
"""From this share of common characters on, a line is an edited form of another."""


@dataclass(frozen=True, slots=True)
class Removal:
    """A fact that we took out of a file after the first `after` of the watched writes.

    We had put it in after the first `since` of them; -1 if it was not ours.
    """

    text: str
    since: int
    after: int


@dataclass(slots=True)
class Traces:
    """What else our writes did to a file, by which a save shows what its editor had loaded.

    `strikes` are struck-out texts, each with the number of watched writes up to then. `states` are
    the digests of what the file was before each write, `left` that of what it was after the last.
    """

    left: str | None
    removals: list[Removal] = field(default_factory=list)
    strikes: list[tuple[str, int]] = field(default_factory=list)
    states: set[str] = field(default_factory=set)


def verdicts_on(text: str, state: str, source: str, journal: Journal) -> dict[str, Verdict]:
    """What became of the watched facts of a file, if somebody else saved this text of it.

    `state` is the text's digest.
    """
    if journal.saved(source) in {None, state}:
        return {}
    watched: list[Write] = []
    traces = Traces(journal.saved(source))
    since: dict[str, int] = {}
    for write in journal.acknowledged():
        edits = [edit for edit in write.edits if edit.source == source]
        traces.states.update(edit.before for edit in edits)
        if write.source != source or not journal.reversible(write):
            continue
        if write.action == "forget":
            gone = write.text.split("\n")
            traces.removals += [Removal(each, since.get(each, -1), len(watched)) for each in gone]
        elif write.added:
            since[write.text] = len(watched)
            if journal.verdict(write) is None:
                watched.append(write)
        if write.action == "supersede":
            traces.strikes += [(edit.inserted, len(watched)) for edit in edits if edit.removed]
    return judge(text, state, watched, traces) if watched else {}


def taken_out(text: str, source: str, journal: Journal) -> dict[str, Verdict]:
    """The verdicts on watched facts that a text which the owner approved no longer holds."""
    said = fact_keys(text)
    return {
        write.id: "deleted"
        for write in journal.acknowledged()
        if write.added and write.source == source and journal.verdict(write) is None
        if fact_key(write.text) not in said
    }


def judge(text: str, state: str, watched: Sequence[Write], traces: Traces) -> dict[str, Verdict]:
    """What became of watched writes (oldest first) in their file, which somebody else saved."""
    source = watched[0].source
    lines = [line.strip() for line in LINES.findall(text)]
    present = _present(text, lines, watched, source)
    loaded = -1  # the latest write that the save shows signs of
    for number, write in enumerate(watched):
        if write.id in present or _heading(_added(write, source)) in lines:
            loaded = number
    loaded = max([loaded, *(after - 1 for struck, after in traces.strikes if struck in text)])
    loaded = max(loaded, _loaded_before(text, traces.removals, loaded))
    verdicts: dict[str, Verdict] = {}
    missing: list[Write] = []
    for number, write in enumerate(watched):
        if write.id in present:
            verdicts[write.id] = "seen"
        elif number <= loaded or _edited(lines, write, _added(write, source)):
            verdicts[write.id] = "deleted"
        else:
            missing.append(write)
    added = [_added(write, source) for write in missing]
    as_before = state in traces.states and not any(map(_heading, added))
    taken_out = as_before or digest(_put_back(text, added)) == traces.left
    verdicts.update({write.id: "deleted" if taken_out else "erased" for write in missing})
    return verdicts


def _loaded_before(text: str, removals: Sequence[Removal], loaded: int) -> int:
    """The latest watched write before a removal of what the editor would have loaded else."""
    there = [each for each in removals if each.since <= loaded]
    said = fact_keys(text) if there else set()
    return max((each.after - 1 for each in there if fact_key(each.text) not in said), default=-1)


def _added(write: Write, source: str) -> Edit:
    """The edit that added the write's fact."""
    return next(edit for edit in write.edits if edit.source == source and not edit.removed)


def _present(text: str, lines: Sequence[str], watched: Sequence[Write], source: str) -> set[str]:
    there = set(lines)
    found = {write.id for write in watched if item_of(_added(write, source).inserted) in there}
    if len(found) < len(watched):
        said = fact_keys(text)
        found |= {write.id for write in watched if fact_key(write.text) in said}
    return found


def _put_back(text: str, added: Sequence[Edit]) -> str:
    """The text with the lines of these facts, oldest first, at the places that they had."""
    for edit in added:
        *_, line = LINES.finditer(edit.inserted)
        at = edit.at + line.start()
        end = newline(text) if at < len(text) else ""
        text = text[:at] + line[0] + end + text[at:]
    return text


def _heading(edit: Edit) -> str | None:
    """The heading that the edit made, if it made one."""
    first = str(LINES.findall(edit.inserted)[0]).strip()
    return first if first.startswith("## ") else None


def _edited(lines: Sequence[str], write: Write, edit: Edit) -> bool:
    """Whether a line much like the fact stands between the neighbours that the fact had."""
    digests = ["", *(line_digest(line) for line in lines), ""]
    above = edit.above[0] if edit.above else ""
    below = edit.below[0] if edit.below else ""
    for number, line in enumerate(lines, start=1):
        if digests[number - 1] == above and digests[number + 1] == below:
            ratio = SequenceMatcher(None, plain(line), write.text, autojunk=False).ratio()
            if ratio >= SIMILAR:
                return True
    return False
