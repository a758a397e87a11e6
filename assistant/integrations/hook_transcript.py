"""What was said in a conversation of another program, from its own record of it, as a session.

Claude Code and Cursor write a line a message, Codex a line an event. Only what its user and its
model said to one another is taken: no tool's output, nothing that the program put in.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from assistant.agent.capture import ended
from assistant.importing.items import iso_time, text_of
from assistant.integrations.shelf import label
from assistant.secrets.current import redactor
from assistant.session.adopting import Adopted, Said, adopt
from assistant.session.entries import AssistantEntry, UserEntry
from assistant.workspace import trust
from assistant.workspace.folder import Workspace

PUT_IN = ("isMeta", "isSidechain", "isCompactSummary", "isVisibleInTranscriptOnly")
"""Marks of lines that its user did not write."""
_REMINDER = re.compile(
    r"<(system-reminder|environment_context|user_instructions|additional_context|timestamp)>"
    r".*?</\1>",
    re.DOTALL,
)
_WRAPPED = re.compile(r"</?user_query>")
_NOT_SAID = re.compile(r"<(command-|local-command|bash-)|Caveat: |\[Request interrupted")
MOST_BYTES = 200 << 20
"""A longer record is no conversation."""


def said(lines: Iterable[Mapping[str, Any]]) -> list[Said]:
    """The messages of a conversation, in order."""
    every = list(lines)
    events = (line for line in every if line.get("type") == "event_msg")
    shown = [message for message in map(_event, events) if message is not None]
    return shown or [message for message in map(_message, every) if message is not None]


def objects(data: bytes) -> Iterator[Mapping[str, Any]]:
    """The objects in JSON lines; what is no object, or torn, is passed over."""
    for line in data.splitlines():
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            yield found


def _event(line: Mapping[str, Any]) -> Said | None:
    """A message in Codex's record of what was shown."""
    payload = line.get("payload")
    if not isinstance(payload, dict):
        return None
    role = {"user_message": "user", "agent_message": "assistant"}.get(str(payload.get("type")))
    return _said(role, payload.get("message"), line.get("timestamp"))


def _message(line: Mapping[str, Any]) -> Said | None:
    """A message in a line of its own, however deep it lies."""
    if any(line.get(mark) for mark in PUT_IN):
        return None
    inner = line.get("message", line.get("payload"))
    message = inner if isinstance(inner, dict) else line
    role = message.get("role") or line.get("role") or line.get("type")
    content = message.get("content", message.get("text", inner))
    return _said(role, content, line.get("timestamp") or line.get("time"))


def _said(role: Any, content: Any, time: Any) -> Said | None:
    text = text_of(content)
    if role == "user":
        text = _WRAPPED.sub("", _REMINDER.sub("", text)).strip()
        return None if not text or _NOT_SAID.match(text) else UserEntry(text, time=iso_time(time))
    if role == "assistant" and text:
        return AssistantEntry(text, time=iso_time(time))
    return None


def take_over(
    workspace: Workspace,
    raw: Mapping[str, Any],
    program: str,
    conversation: str,
    *,
    record: Path | None,
    messages: Sequence[Any] = (),
    is_over: bool = True,
) -> Adopted | None:
    """Take over what was said: the messages, else what the program's own record says.

    What reads it for facts, if a model is configured, is on its own. None if there is nothing, or
    the workspace is not trusted. Raises StorageError, SessionError.
    """
    if not trust.is_trusted(workspace):
        return None
    found = said(message for message in messages if isinstance(message, dict))
    if not found and record and record.is_file() and record.stat().st_size <= MOST_BYTES:
        found = said(objects(record.read_bytes()))
    redact = redactor().redact
    clean: list[Said] = [replace(message, text=redact(message.text)) for message in found]
    taken = adopt(workspace.sessions, label(program), conversation or str(record or ""), clean)
    if taken and taken.new and is_over and _is_read(raw):
        ended.begin(workspace)
    return taken


def _is_read(raw: Mapping[str, Any]) -> bool:
    """Whether sessions are read for facts: a model is configured, and reading is not off."""
    model, memory = raw.get("model") or {}, raw.get("memory") or {}
    asked = raw.get("profiles") or (isinstance(model, dict) and model.get("name"))
    return bool(asked) and memory.get("capture", "always") == "always"
