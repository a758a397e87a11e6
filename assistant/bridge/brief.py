"""What a program should know as a task begins: the owner, procedures, what bears on it."""

from collections.abc import Callable

from assistant.agent.passages import FRAMING, entries, whole_procedures
from assistant.bridge.shelf import Shelf
from assistant.errors import UsageError
from assistant.memory.base import Query
from assistant.memory.protocol import Memory
from assistant.quoting import neutralised
from assistant.workspace.folder import PROCEDURES_FILE

PROFILE = "USER.md"


def brief(shelf: Shelf, memory: Callable[[], Memory], topic: str) -> str:
    """The owner's profile and procedures, and the passages that bear on a topic, if one is given.

    Raises WorkspaceError if the workspace is not trusted, MemoryFailure, StorageError.
    """
    shelf.check_open()
    parts = [f"# The owner\n\n{profile}" for profile in _file(shelf, PROFILE)]
    procedures = [whole_procedures(text) for text in _file(shelf, PROCEDURES_FILE)]
    parts += [f"# Their procedures\n\n{text}" for text in procedures if text]
    if topic.strip():
        without = (PROCEDURES_FILE,) if any(procedures) else ()
        found = shelf.shown(memory().recall(Query(topic, without=without)).passages)
        if found:
            parts.append(f"# What memory holds on this\n\n{FRAMING}\n\n{entries(found)}")
    return "\n\n".join(parts) or "Nothing is written down yet."


def _file(shelf: Shelf, name: str) -> list[str]:
    """A file's text, if it is there to be seen and says something."""
    from assistant.agent.passages import clean  # behind the first answer

    try:
        text = neutralised(clean(shelf.text(name)))
    except UsageError:
        return []
    return [text] if text else []
