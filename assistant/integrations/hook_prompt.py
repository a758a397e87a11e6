"""Finds the few passages that are relevant to a coding agent's prompt."""

from collections.abc import Set

from assistant import config
from assistant.agent.memory_text import framed
from assistant.integrations.hook_event import HookEvent
from assistant.integrations.visible import QUERY_LENGTH, VisibleFiles
from assistant.memory.base import Query
from assistant.memory.open import open_memory
from assistant.model.smalltalk import small_talk
from assistant.workspace.folder import Workspace

MOST_PASSAGES = 5
MOST_CHARACTERS = 10_000
"""Maximum characters of a hook's answer that programs accept."""


def relevant_passages(
    workspace: Workspace, hook: HookEvent, known: Set[str]
) -> tuple[str, list[str]]:
    """Return the passages that are relevant to a prompt, quoted, and their IDs; empty for small
    talk or a command.

    `known` are the IDs of passages that the conversation has already received.
    """
    files = VisibleFiles(workspace, hook.directory)
    query = hook.prompt.strip()[:QUERY_LENGTH]
    if not query or query.startswith(("/", "!")) or small_talk(query) or not files.is_open:
        return "", []
    recall = open_memory(workspace, config.load()).recall(Query(query, turn=True, coding=True))
    passages = files.shown(recall.passages)[:MOST_PASSAGES]
    chosen = [passage for passage in passages if passage.id not in known]
    while chosen:
        text = framed(chosen)
        if len(text) <= MOST_CHARACTERS:
            return text, [passage.id for passage in chosen]
        chosen.pop()
    return "", []
