"""Reads ChatGPT's export: conversations as trees of messages, of which one branch is shown.

Memories are messages to the tool `bio`, and the context at the start of later conversations.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from assistant.importing.items import (
    ExportedFact,
    Item,
    Malformed,
    Skipped,
    branch,
    day,
    exported,
    item_id,
    message,
)
from assistant.session.adopting import Message

NAME = "ChatGPT"
_MARK = re.compile("\ue200[^\ue201]*\ue201|[\ue000-\uf8ff]")
"""Citations, in private-use characters."""
_KNOWN = re.compile(r"^\s*\d+\.\s*\[(\d{4}-\d\d-\d\d)\]\.?\s*", re.MULTILINE)
_SHOWN = ("text", "multimodal_text", "code")


def conversation(item: Mapping[str, Any]) -> Iterator[Item]:
    """Yield the shown branch, and the memories saved in any branch.

    Raises Malformed, KeyError and similar errors for a malformed item.
    """
    if item.get("is_do_not_remember"):
        yield Skipped("marked “do not remember”", str(item.get("title") or ""))
        return
    if not isinstance(item["mapping"], Mapping):
        raise Malformed("its messages are not a tree")
    mapping = {name: node for name, node in item["mapping"].items() if node}
    for node in mapping.values():
        yield from _saved(node.get("message") or {})
    id = item_id(item.get("conversation_id") or item.get("id"), mapping)
    nodes = branch(mapping, item.get("current_node"), "parent", _time)
    yield exported(id, item.get("title"), item.get("create_time"), map(_message, nodes))


def _time(node: Mapping[str, Any]) -> float:
    time = (node.get("message") or {}).get("create_time")
    return float(time) if isinstance(time, int | float) else 0.0


def _message(node: Mapping[str, Any]) -> Message | None:
    """Return the visible text of a message; None if there is none."""
    item = node.get("message") or {}
    hidden = (item.get("metadata") or {}).get("is_visually_hidden_from_conversation")
    content = _content(item)
    shown = content.get("content_type", "text") in _SHOWN
    if hidden or not shown or item.get("recipient") not in (None, "all"):
        return None
    role = (item.get("author") or {}).get("role")
    return message(role, _text(content), item.get("create_time"))


def _content(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the content of a message; bare text is wrapped in the usual form."""
    content = message.get("content") or {}
    return {"parts": [content]} if isinstance(content, str) else content


def _text(content: Mapping[str, Any]) -> str:
    parts = content.get("parts") or content.get("text") or content.get("result") or ""
    parts = [parts] if isinstance(parts, str) else parts
    texts = (part if isinstance(part, str) else _part(part) for part in parts)
    text = "\n".join(filter(None, texts)).strip()
    return text if text.isascii() else _MARK.sub("", text).strip()


def _part(part: object) -> str:
    """Return the text of a part, or its kind in brackets."""
    if not isinstance(part, Mapping):
        return ""
    text = part.get("text")
    if isinstance(text, str):
        return text
    kind = str(part.get("content_type", "")).removesuffix("_asset_pointer").replace("_", " ")
    return f"[{kind}]" if kind else ""


def _saved(message: Mapping[str, Any]) -> Iterator[ExportedFact]:
    """Yield the facts that a message saves to memory, or lists from it."""
    content = _content(message)
    route = (message.get("author") or {}).get("role"), message.get("recipient")
    if route == ("assistant", "bio") and (saved := _text(content)):
        yield ExportedFact(saved, day(message.get("create_time")))
    snapshot = content.get("model_set_context")
    if isinstance(snapshot, str):
        before, *numbered = _KNOWN.split(snapshot)
        for date, fact in [("", before), *zip(numbered[::2], numbered[1::2], strict=True)]:
            if fact.strip():
                yield ExportedFact(" ".join(fact.split()), day(date))
    context = content.get("user_context_message_data") or {}
    profile = context.get("about_user_message") if isinstance(context, Mapping) else None
    for text in (profile, content.get("user_profile")):
        if isinstance(text, str):
            lines = (line.strip(" \t-*") for line in text.splitlines())
            yield from map(ExportedFact, filter(None, lines))
