"""Finds the few passages that are relevant to a coding agent's prompt."""

from collections.abc import Mapping, Set
from pathlib import Path
from typing import Any

from assistant.agent.memory_text import framed
from assistant.integrations.visible import QUERY_LENGTH, VisibleFiles
from assistant.memory.base import Query
from assistant.memory.open import open_memory
from assistant.model.smalltalk import small_talk
from assistant.workspace.folder import Workspace

MOST_PASSAGES = 5
MOST_CHARACTERS = 10_000
"""Maximum characters of a hook's answer that programs accept."""


def relevant_passages(
    workspace: Workspace,
    raw: Mapping[str, Any],
    prompt: str,
    known: Set[str] = frozenset(),
    directory: Path | None = None,
) -> tuple[str, list[str]]:
    """Return the relevant passages, quoted, and their IDs; empty for small talk or a command.

    `known` are the IDs of passages that the conversation has already received; the program works in
    `directory`.
    """
    files = VisibleFiles(workspace, directory)
    query = prompt.strip()[:QUERY_LENGTH]
    if not query or query.startswith(("/", "!")) or small_talk(query) or not files.is_open:
        return "", []
    recall = open_memory(workspace, dict(raw)).recall(Query(query, turn=True, coding=True))
    passages = files.shown(recall.passages)[:MOST_PASSAGES]
    chosen = [passage for passage in passages if passage.id not in known]
    while chosen:
        text = framed(chosen)
        if len(text) <= MOST_CHARACTERS:
            return text, [passage.id for passage in chosen]
        chosen.pop()
    return "", []
