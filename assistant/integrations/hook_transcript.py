"""Imports another program's conversation as a session, from that program's transcript.

Most programs write a line per message, Codex a line per event, and Gemini CLI a further line for a
change to a message; its older versions write one document. Only the messages of the user and the
model are imported: no tool output, and no text that the program inserted.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from assistant import config
from assistant.agent.capture import ended
from assistant.importing.items import message, text_of
from assistant.integrations.hook_event import HookEvent
from assistant.integrations.visible import label
from assistant.secrets.registered import redactor
from assistant.session.adopting import Message, adopt
from assistant.tables import patterns, table_of
from assistant.workspace import trust
from assistant.workspace.folder import Workspace

_data = table_of(__file__)
ROLES: Mapping[str, str] = _data["roles"]
_RE = patterns(_data["patterns"])
INSERTED = ("isMeta", "isSidechain", "isCompactSummary", "isVisibleInTranscriptOnly")
"""Marks of lines that the user did not write."""
SYNTHETIC = "<synthetic>"
"""The model that Claude Code names for an answer written by the program."""
MOST_BYTES = 200 << 20
"""Maximum size of a transcript."""


def messages_in(lines: Iterable[Mapping[str, Any]]) -> list[Message]:
    """Return the messages of a conversation, in order."""
    latest = {line.get("id") or number: line for number, line in enumerate(lines)}
    return [message for message in map(_message, latest.values()) if message is not None]


def json_objects(data: bytes) -> Iterator[Mapping[str, Any]]:
    """Yield the objects in JSON lines, or in the `messages` of one document; skip the rest."""
    document = _json(data)
    messages = document.get("messages") if isinstance(document, dict) else None
    values = messages if isinstance(messages, list) else map(_json, data.splitlines())
    yield from (value for value in values if isinstance(value, dict))


def _json(data: bytes) -> object:
    """Return the JSON value in this text; None if it is not JSON."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _message(line: Mapping[str, Any]) -> Message | None:
    """Return the message in a line that the line's own type or role marks as one.

    A nested message may be one that a request to the model repeated or inserted.
    """
    if any(line.get(mark) for mark in INSERTED):
        return None
    item: Any = line
    if line.get("type") == "event_msg":
        item = line.get("payload")
        if isinstance(item, dict) and item.get("type") == "item_completed":
            item = item.get("item")
        if not isinstance(item, dict):
            return None
    role = ROLES.get(str(item.get("role") or item.get("type")))
    inner = item.get("message", item)
    if isinstance(inner, dict) and inner.get("model") == SYNTHETIC:
        return None
    if isinstance(inner, dict):
        inner = inner.get("content", inner.get("parts", inner.get("text")))
    text = text_of(inner)
    if role == "user":
        text = _RE["wrapped"].sub("", _RE["reminder"].sub("", text)).strip()
        if _RE["not_said"].match(text):
            return None
    return message(role, text, line.get("timestamp") or line.get("time"))


def import_conversation(workspace: Workspace, hook: HookEvent) -> None:
    """Import the messages of an event, or else its transcript, if the workspace is trusted.

    When the conversation is over, a process extracts facts from it. Raises StorageError,
    SessionError.
    """
    if not trust.is_trusted(workspace):
        return
    record = hook.transcript
    entries = messages_in(item for item in hook.messages if isinstance(item, dict))
    if not entries and record and record.is_file() and record.stat().st_size <= MOST_BYTES:
        entries = messages_in(json_objects(record.read_bytes()))
    redact = redactor().redact
    clean: list[Message] = [replace(entry, text=redact(entry.text)) for entry in entries]
    name = hook.conversation or str(record or "")
    new = adopt(workspace.sessions, label(hook.program), name, clean)
    if new and hook.event != "stop" and _is_read(config.load()):
        ended.begin(workspace)


def _is_read(raw: Mapping[str, Any]) -> bool:
    """Return whether facts are extracted from sessions: a model is configured, and capture is
    on."""
    model, memory = raw.get("model") or {}, raw.get("memory") or {}
    has_model = raw.get("profiles") or (isinstance(model, dict) and model.get("name"))
    return bool(has_model) and memory.get("capture", "always") == "always"
