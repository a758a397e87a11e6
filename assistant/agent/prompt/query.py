"""What memory is asked with a message of the owner."""

from collections.abc import Iterable

from assistant.agent.prompt.context import read_clean
from assistant.agent.prompt.procedures import PLACES, whole
from assistant.agent.prompt.selfcontained import is_self_contained
from assistant.memory.base import Query, Recall
from assistant.memory.protocol import Memory
from assistant.model.offline.smalltalk import small_talk
from assistant.session.entries import Entry, UserEntry
from assistant.workspace.folder import PROCEDURES_FILE, Workspace


def recalled(
    memory: Memory, place: Workspace, entries: Iterable[Entry], text: str, *, carried: bool = True
) -> Recall:
    """What bears on a message; small talk, and what holds its own answer, cost no passages.

    `carried`: the prompt has the owner's procedures while they are short.

    Raises MemoryFailure, StorageError.
    """
    if small_talk(text) or is_self_contained(text):
        return Recall(text, 0, ())  # nothing was asked, and so nothing is missing
    return memory.recall(query(place, entries, text, carried=carried))


def query(place: Workspace, entries: Iterable[Entry], text: str, *, carried: bool = True) -> Query:
    """The query for a message, which may lean on the one before."""
    said = [each.text for each in entries if isinstance(each, UserEntry) and each.text != text]
    before = said[-1] if said else ""
    if carried and whole(read_clean(place, PROCEDURES_FILE)):
        return Query(text, before=before, without=(PROCEDURES_FILE,))
    return Query(text, before=before, own=(PROCEDURES_FILE, PLACES))
