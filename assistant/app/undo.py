"""What a turn changed, files and facts, and taking it back."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from assistant.errors import AssistantError
from assistant.memory.base import JournalEntry
from assistant.memory.protocol import Keeper
from assistant.session.entries import Entry
from assistant.session.history import Turn, group
from assistant.workspace import checkpoints
from assistant.workspace.checkpoints import Checkpoint
from assistant.workspace.folder import Workspace

LATEST = 500
"""Writes to memory among which those of a turn are looked for."""


@dataclass(frozen=True, slots=True)
class Changed:
    """What one turn changed that can be taken back; `facts` are the writes, newest first."""

    turn: Turn
    checkpoint: Checkpoint
    facts: tuple[JournalEntry, ...]

    @property
    def files(self) -> list[str]:
        """The paths of files that are otherwise than before it."""
        return [change.path for change in self.checkpoint.changed() if change.is_file]


@dataclass(frozen=True, slots=True)
class TakenBack:
    """Files as they were, those that are gone again, facts, and what stays as it is, with why."""

    files: tuple[str, ...]
    removed: tuple[str, ...]
    facts: tuple[str, ...]
    left: tuple[str, ...]


def changed_by(
    workspace: Workspace, memory: Keeper, session: str, entries: Sequence[Entry]
) -> Iterator[Changed]:
    """The turns of a session that changed something that stands, newest first."""
    writes = [write for write in memory.log(LATEST) if write.action != "undo" and not write.undone]
    for turn in reversed(group(entries)):
        checkpoint = checkpoints.load(workspace.checkpoints, session, turn.asked.id)
        facts = tuple(write for write in writes if _is_of(write, turn, session))
        if facts or checkpoint.changed():
            yield Changed(turn, checkpoint, facts)


def take_back(workspace: Workspace, memory: Keeper, changed: Changed) -> TakenBack:
    """Put back the files of a turn, and undo its writes to memory, the latest first.

    What somebody has changed since is left as it is.
    """
    files = {
        change.path: change.before.kind for change in changed.checkpoint.changed() if change.is_file
    }
    restored, kept = changed.checkpoint.restore()
    left = [f"{_shown(workspace, path)}: somebody has changed it since" for path in kept]
    undone = []
    for write in changed.facts:
        try:
            undone.append(memory.undo([write.id]).text)
        except AssistantError as error:
            left.append(f"“{write.text}”: {error.message}")
    new = [each for each in restored if files.get(each) == "nothing"]
    old = [each for each in restored if each in files and each not in new]
    files_back, gone = (tuple(_shown(workspace, path) for path in paths) for paths in (old, new))
    return TakenBack(files_back, gone, tuple(undone), tuple(left))


def _is_of(write: JournalEntry, turn: Turn, session: str) -> bool:
    """Whether a turn made a write: by its session, or, for a file that was edited, by its time."""
    first, last = (_time(turn.entries[at].time) for at in (0, -1))
    origin = write.origin
    mine = origin.session == session or (origin.session is None and origin.kind == "assistant")
    return mine and first <= _time(write.time) <= last


def _time(said: str) -> datetime:
    return datetime.fromisoformat(said)


def _shown(workspace: Workspace, path: str) -> str:
    return path.removeprefix(f"{workspace.root}/")
