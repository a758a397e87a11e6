"""Find the files and facts that a turn changed, and undo them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from assistant.errors import AssistantError, UsageError
from assistant.memory.base import Held, JournalEntry, Origin
from assistant.memory.protocol import Keeper
from assistant.session.entries import Entry
from assistant.session.history import Turn, group
from assistant.workspace import checkpoints
from assistant.workspace.checkpoints import Checkpoint
from assistant.workspace.folder import Workspace

LATEST = 500
"""Latest writes to memory that are searched for those of a turn."""


@dataclass(frozen=True, slots=True)
class Changed:
    """The changes of one turn that can be undone.

    `facts` are its writes, newest first, and `waiting` its facts that wait for review.
    """

    turn: Turn
    checkpoint: Checkpoint
    facts: tuple[JournalEntry, ...]
    waiting: tuple[Held, ...]

    @property
    def files(self) -> list[str]:
        """The paths of files that differ from before the turn."""
        return [change.path for change in self.checkpoint.changed() if change.is_file]


@dataclass(frozen=True, slots=True)
class TakenBack:
    """What was undone; `dropped` are facts that waited for review, and `left` says what was not
    undone, and why."""

    files: tuple[str, ...]
    removed: tuple[str, ...]
    writes: tuple[JournalEntry, ...]
    dropped: tuple[str, ...]
    left: tuple[str, ...]


def changed_by(
    workspace: Workspace, memory: Keeper, session: str, entries: Sequence[Entry]
) -> Iterator[Changed]:
    """The turns of a session with changes that can still be undone, newest first."""
    writes = [write for write in memory.log(LATEST) if write.action != "undo" and not write.undone]
    pending = memory.waiting()
    turns = group(entries)
    for turn in reversed(turns):
        checkpoint = checkpoints.load(workspace.checkpoints, session, turn.asked.id)
        facts = tuple(w for w in writes if _turn_of(w.origin, w.time, turns, session) is turn)
        waiting = tuple(
            h for h in pending if _turn_of(h.fact.origin, h.time, turns, session) is turn
        )
        if facts or waiting or checkpoint.changed():
            yield Changed(turn, checkpoint, facts, waiting)


def last_change(
    workspace: Workspace, memory: Keeper, session: str, entries: Sequence[Entry]
) -> Changed:
    """The newest turn of a session that can be undone. Raises UsageError if there is none."""
    last = next(changed_by(workspace, memory, session, entries), None)
    if last is None:
        raise UsageError(
            "the chat has changed nothing that can be undone",
            "`assistant memory undo` undoes the latest write to memory, whoever made it",
        )
    return last


def take_back(workspace: Workspace, memory: Keeper, changed: Changed) -> TakenBack:
    """Restore the files of a turn, undo its writes to memory, newest first, and drop its facts that
    wait for review.

    Whatever has been changed since is left as it is.
    """
    files = {
        change.path: change.before.kind for change in changed.checkpoint.changed() if change.is_file
    }
    restored, conflicts = changed.checkpoint.restore()
    unchanged = [f"{_relative(workspace, path)}: changed since" for path in conflicts]
    undone: list[JournalEntry] = []
    for write in changed.facts:
        try:
            undone += memory.undo([write.id])
        except AssistantError as error:
            unchanged.append(f"“{write.text}”: {error.message}")
    for held in changed.waiting:
        memory.review(held.id, accept=False)
    new = [path for path in restored if files.get(path) == "nothing"]
    old = [path for path in restored if path in files and path not in new]
    files_back, removed = (
        tuple(_relative(workspace, path) for path in paths) for paths in (old, new)
    )
    dropped = tuple(held.fact.text for held in changed.waiting)
    return TakenBack(files_back, removed, tuple(undone), dropped, tuple(unchanged))


def _turn_of(origin: Origin, time: str, turns: Sequence[Turn], session: str) -> Turn | None:
    """The turn of a session that a fact is from: that of the first entry that states it, whenever
    it was written; of a fact that names no entries, the turn in which it was written."""

    def is_from(turn: Turn) -> bool:
        if origin.session == session and origin.entries:
            return any(entry.id in origin.entries for entry in turn.entries)
        first, last = (_time(turn.entries[index].time) for index in (0, -1))
        is_from_session = origin.session == session or (
            origin.session is None and origin.kind == "assistant"
        )
        return is_from_session and first <= _time(time) <= last

    return next(filter(is_from, turns), None)


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _relative(workspace: Workspace, path: str) -> str:
    return path.removeprefix(f"{workspace.root}/")
