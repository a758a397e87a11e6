"""The events of coding agents, in the form that each program sends, and the answers to them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from assistant.disk import storage

CURSOR, CLAUDE = "cursor", "claude-code"
Event = Literal["prompt", "stop", "compact", "session-end", "session-start"]
"""An event of the other program: its user has sent a prompt, it has answered, it is about to
summarise the conversation, or the conversation ends or starts."""
NAMES: Mapping[Event, str] = {
    "prompt": "prompt userpromptsubmit beforesubmitprompt beforeagent chatmessage",
    "stop": "stop sessionidle",
    "compact": "compact precompact sessioncompacting",
    "session-end": "sessionend",
    "session-start": "sessionstart",
}
"""The programs' names of each event, in lower case and without punctuation."""


@dataclass(frozen=True, slots=True)
class HookEvent:
    """An event as the program describes it.

    `transcript` is a file in JSON lines; `messages` come from a program without one. The program
    works in `directory`.
    """

    event: Event
    program: str
    conversation: str = ""
    prompt: str = ""
    transcript: Path | None = None
    messages: tuple[Any, ...] = ()
    name: str = ""
    directory: Path | None = None


def event_named(name: str) -> Event | None:
    """Return the event of this name, in any program's spelling."""
    plain = "".join(char for char in name.lower() if char.isalnum())
    return next((event for event, names in NAMES.items() if plain in names.split()), None)


def parsed_event(event: str, data: bytes, program: str = "") -> HookEvent | None:
    """Parse a program's event; return None if it is unknown or not a JSON object."""
    kind = event_named(event)
    try:
        fields = json.loads(data)
    except (ValueError, RecursionError):
        return None
    if kind is None or not isinstance(fields, dict):
        return None
    messages, roots = fields.get("messages"), fields.get("workspace_roots")
    root = roots[0] if isinstance(roots, list) and roots and isinstance(roots[0], str) else ""
    directory = _text(fields, "cwd") or root
    transcript = _text(fields, "transcript_path", "agent_transcript_path")
    return HookEvent(
        kind,
        program or (CURSOR if "cursor_version" in fields else CLAUDE),
        _text(fields, "session_id", "conversation_id", "sessionID", "thread_id"),
        _text(fields, "prompt", "user_prompt", "message"),
        storage.expanded(transcript) if transcript else None,
        tuple(messages) if isinstance(messages, list) else (),
        _text(fields, "hook_event_name"),
        Path(directory) if directory else None,
    )


def _text(fields: Mapping[str, Any], *names: str) -> str:
    return next((fields[name] for name in names if isinstance(fields.get(name), str)), "")


def answer(hook: HookEvent, text: str) -> str:
    """Return a text for the model, in the form that the program expects."""
    if hook.program == CURSOR:
        return json.dumps({"continue": True, "additional_context": text}, ensure_ascii=False)
    if hook.name:
        output = {"hookEventName": hook.name, "additionalContext": text}
        return json.dumps({"hookSpecificOutput": output}, ensure_ascii=False)
    return text
