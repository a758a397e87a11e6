"""Finds the files and facts that a turn changed, and undoes the changes."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from assistant.display import exactly
from assistant.errors import AssistantError, UsageError
from assistant.memory.base import Held, JournalEntry, Keeper, Origin
from assistant.quoting import one_line
from assistant.session import listing, transcript
from assistant.session.entries import Entry, HeaderEntry, RewindEntry
from assistant.session.history import Turn, group
from assistant.session.listing import title_of
from assistant.workspace import checkpoints
from assistant.workspace.checkpoints import Checkpoint
from assistant.workspace.folder import Workspace

UNATTENDED = ("event", "heartbeat")
"""Kinds of sessions that the owner does not begin."""
LATEST = 500
"""Number of latest writes to memory that are searched for those of a turn."""


@dataclass(frozen=True, slots=True)
class Changed:
    """The changes of one turn that can be undone.

    `name` is its message, or the title of the session if the program began it. `facts` are its
    writes, newest first, and `waiting` its facts that wait for review.
    """

    name: str
    turn: Turn
    checkpoint: Checkpoint
    facts: tuple[JournalEntry, ...]
    waiting: tuple[Held, ...]

    @property
    def files(self) -> list[str]:
        """The paths of files that differ from before the turn."""
        return [change.path for change in self.checkpoint.changed() if change.is_file]

    def listed(self, workspace: Workspace) -> list[str]:
        """Return what an undo reverts, a line each: the files, the facts, and those that wait."""
        return [
            *(_relative(workspace, path) for path in self.files),
            *(one_line(write.text) for write in self.facts),
            *(f"{one_line(held.fact.text)} (waits for review)" for held in self.waiting),
        ]

    @property
    def ended(self) -> str:
        """When the turn ended."""
        return self.turn.entries[-1].time

    @property
    def is_undoable(self) -> bool:
        """Whether any change is still in effect."""
        as_left = any(change.is_as_left for change in self.checkpoint.changed())
        return bool(self.facts or self.waiting or as_left)


@dataclass(frozen=True, slots=True)
class TakenBack:
    """The result of an undo; `dropped` are facts that waited for review, and `left` lists what was
    not undone, and why."""

    files: tuple[str, ...]
    removed: tuple[str, ...]
    writes: tuple[JournalEntry, ...]
    dropped: tuple[str, ...]
    left: tuple[str, ...]


def changed_by(
    workspace: Workspace, memory: Keeper, session: str, entries: Sequence[Entry]
) -> Iterator[Changed]:
    """Yield the turns of a session with changes that are still in effect, newest first.

    `entries` are all of its entries: a rewind of the conversation leaves its changes in effect.
    """
    writes = [write for write in memory.log(LATEST) if write.action != "undo" and not write.undone]
    pending = memory.waiting()
    turns = group(entry for entry in entries if not isinstance(entry, RewindEntry))
    title = title_of(entries) if _origin(entries) in UNATTENDED else ""
    facts: dict[str, list[JournalEntry]] = {}
    waiting: dict[str, list[Held]] = {}
    turn_of = _turn_finder(turns, session)
    for write in writes:
        facts.setdefault(turn_of(write.origin, write.time), []).append(write)
    for held in pending:
        waiting.setdefault(turn_of(held.fact.origin, held.time), []).append(held)
    for turn in reversed(turns):
        id = turn.asked.id
        checkpoint = checkpoints.load(workspace.checkpoints, session, id)
        if id in facts or id in waiting or checkpoint.changed():
            yield Changed(
                one_line(title or turn.request),
                turn,
                checkpoint,
                tuple(facts.get(id, ())),
                tuple(waiting.get(id, ())),
            )


def latest_session(workspace: Workspace, memory: Keeper) -> str:
    """Return the session of the latest turn that changed anything, in a chat or unattended;
    otherwise the latest chat, empty if there is no session."""
    origins = [write.origin for write in memory.log(LATEST)]
    origins += [held.fact.origin for held in memory.waiting()]
    changing = {path.name.partition(".")[0] for path in workspace.checkpoints.glob("*.*")}
    changing |= {origin.session for origin in origins if origin.session}
    chat = listing.latest(workspace.sessions) or ""
    times = listing.written(workspace.sessions)
    latest, found = "", chat
    for session in sorted({chat, *changing} & times.keys(), key=times.__getitem__, reverse=True):
        if latest and times[session] < _time(latest).timestamp():
            break
        entries = transcript.read_all(workspace.sessions, session)
        if _origin(entries) not in ("", *UNATTENDED):
            continue
        turns = changed_by(workspace, memory, session, entries)
        time = next((changed.ended for changed in turns), "")
        if time > latest:
            latest, found = time, session
    return found


def _origin(entries: Sequence[Entry]) -> str:
    header = next(iter(entries), None)
    return header.origin if isinstance(header, HeaderEntry) else ""


def undoable(workspace: Workspace, changed: Changed | None) -> Changed:
    """Return the last turn that changed something, if any of its changes can be undone.

    Raises UsageError with the reason otherwise: no earlier turn is undone instead.
    """
    if changed is None:
        raise UsageError(
            "the chat has changed nothing that can be undone",
            "`assistant memory undo` undoes the latest write to memory, whoever made it",
        )
    if not changed.is_undoable:
        paths = ", ".join(_relative(workspace, path) for path in changed.files)
        raise UsageError(
            f"nothing was undone of “{changed.name}”: {paths}: changed since the chat wrote it",
            "Change it by hand, or go back further with `/rewind` in the chat",
        )
    return changed


def take_back(workspace: Workspace, memory: Keeper, changed: Changed) -> TakenBack:
    """Restore the files of a turn, undo its writes to memory, newest first, and drop its facts that
    wait for review.

    Anything that has been changed since is left as it is.
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
    dropped: list[str] = []
    for held in changed.waiting:
        try:
            memory.review(held.id, accept=False)
        except AssistantError as error:  # reviewed elsewhere since
            unchanged.append(f"“{held.fact.text}”: {error.message}")
        else:
            dropped.append(held.fact.text)
    new = [path for path in restored if files.get(path) == "nothing"]
    old = [path for path in restored if path in files and path not in new]
    files_back, removed = (
        tuple(_relative(workspace, path) for path in paths) for paths in (old, new)
    )
    return TakenBack(files_back, removed, tuple(undone), tuple(dropped), tuple(unchanged))


def _turn_finder(turns: Sequence[Turn], session: str) -> Callable[[Origin, str], str]:
    """Return a function that finds the turn that a fact is from, by the ID of its request, or "".

    That is the turn of the first entry that states the fact, whenever the fact was written; for a
    fact that names no entries, the shortest turn in which it was written: the clock may have been
    set during one.
    """
    order = {entry.id: number for number, turn in enumerate(turns) for entry in turn.entries}
    times = [[_time(entry.time) for entry in turn.entries] for turn in turns]
    spans = [(min(each), max(each)) for each in times]

    def turn_of(origin: Origin, time: str) -> str:
        is_from_session = origin.session == session
        if not is_from_session and (origin.session is not None or origin.kind != "assistant"):
            return ""
        if is_from_session and origin.entries:
            numbers = [order[entry] for entry in origin.entries if entry in order]
        else:
            written = _time(time)
            during = [n for n, (first, last) in enumerate(spans) if first <= written <= last]
            numbers = sorted(during, key=lambda n: spans[n][1] - spans[n][0])[:1]
        return turns[min(numbers)].asked.id if numbers else ""

    return turn_of


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _relative(workspace: Workspace, path: str) -> str:
    return exactly(path.removeprefix(f"{workspace.root}/"))
