"""At a prompt: the passages that are worth their tokens, cited; nothing if none is."""

from collections.abc import Mapping
from typing import Any

from assistant.agent.passages import FRAMING, entries
from assistant.bridge.shelf import QUERY_LENGTH, Shelf
from assistant.memory.base import Query
from assistant.memory.door import open_memory
from assistant.workspace.folder import Workspace

MOST_CHARACTERS = 10_000
"""What a program takes in of a hook's answer."""


def worth_knowing(place: Workspace, raw: Mapping[str, Any], prompt: str) -> str:
    """What memory holds on a prompt, quoted; empty for small talk, a command, or nothing."""
    from assistant.model.offline.smalltalk import small_talk

    shelf = Shelf(place)
    asked = prompt.strip()[:QUERY_LENGTH]
    if not asked or asked.startswith(("/", "!")) or small_talk(asked) or not shelf.is_open:
        return ""
    memory = open_memory(place, dict(raw))
    found = shelf.shown(memory.recall(Query(asked, turn=True)).passages)
    if not found:
        return ""
    told = f"{FRAMING}\n\n{entries(found)}"
    while len(told) > MOST_CHARACTERS and len(found) > 1:
        found = found[:-1]
        told = f"{FRAMING}\n\n{entries(found)}"
    return told if len(told) <= MOST_CHARACTERS else ""
