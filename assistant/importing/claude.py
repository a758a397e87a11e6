"""Reads Claude's export: conversations as lists or trees of messages, memories as prose,
projects."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from assistant.importing.items import (
    Document,
    ExportedFact,
    Item,
    Malformed,
    Problem,
    Skipped,
    branch,
    day,
    exported,
    facts_in,
    item_id,
    message,
    text_of,
)
from assistant.session.adopting import Message

NAME = "Claude"
PERSONAL = re.compile(
    r"(?:^|/)(?:users|login_history|light_metadata[^/]*)\.json$|(?:^|/)light_meta"
)
"""Files about the account and logins, which are never read."""


def conversation(item: Mapping[str, Any]) -> Iterator[Item]:
    """Yield a conversation: the branch that leads to its latest message. Raises Malformed."""
    if not isinstance(item["chat_messages"], list):
        raise Malformed("its messages are not a list")
    id = item_id(item.get("uuid"), item["chat_messages"])
    yield exported(
        id, item.get("name"), item.get("created_at"), map(_message, _shown_messages(item))
    )


def memory(item: Mapping[str, Any]) -> Iterator[Item]:
    """Yield Claude's memories; each paragraph or list item is a fact."""
    projects = item.get("project_memories")
    texts = [item.get("conversations_memory")]
    texts += projects.values() if isinstance(projects, Mapping) else []
    for text in texts:
        if isinstance(text, str):
            yield from facts_in(text)
        elif text is not None:
            yield Problem("memories", "one is not text")


def project(item: Mapping[str, Any]) -> Iterator[Item]:
    """Yield a project's description as a fact, and its documents; its instructions are skipped."""
    name, about = item.get("name"), item.get("description")
    if isinstance(name, str) and isinstance(about, str) and about.strip():
        yield ExportedFact(f"{name}: {' '.join(about.split())}", day(item.get("created_at")))
    if item.get("prompt_template"):
        yield Skipped("rules of another assistant")
    folder = name if isinstance(name, str) and name.strip() else "Project"
    for document in item.get("docs") or ():
        yield _document(folder, document)


def _document(project: str, document: Mapping[str, Any]) -> Document | Skipped:
    text, name = document.get("content"), document.get("filename")
    if not isinstance(text, str) or not text.strip():
        return Skipped("empty documents")
    title = name if isinstance(name, str) and name.strip() else "Document"
    return Document(f"{project.replace('/', '-')}/{title.replace('/', '-')}", text)


def _shown_messages(item: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the messages from the first to the current one; all of them if they form no tree."""
    messages = list(filter(None, item["chat_messages"]))
    by_id = {
        message["uuid"]: message for message in messages if isinstance(message.get("uuid"), str)
    }
    if not any(message.get("parent_message_uuid") in by_id for message in messages):
        return messages
    at = item.get("current_leaf_message_uuid")
    return branch(by_id, at, "parent_message_uuid", lambda message: str(message.get("created_at")))


def _message(item: Mapping[str, Any]) -> Message | None:
    text = text_of(item.get("content")) or str(item.get("text") or "").strip()
    files = [*(item.get("attachments") or ()), *(item.get("files") or ())]
    text = "\n".join(filter(None, [text, *(_attached(file) for file in files)]))
    return message(item.get("sender"), text, item.get("created_at"))


def _attached(file: object) -> str:
    name = file.get("file_name") if isinstance(file, Mapping) else None
    return f"[{name}]" if name else ""
