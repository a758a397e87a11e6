"""The events of coding agents under one name each, what they tell, and the form of an answer."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Event(StrEnum):
    """What has happened in the other program."""

    PROMPT = "prompt"  # its user has asked something
    STOP = "stop"  # it has answered
    COMPACT = "compact"  # it is about to summarise what was said
    END = "session-end"
    START = "session-start"


NAMES = {
    "prompt": Event.PROMPT,
    "userpromptsubmit": Event.PROMPT,
    "beforesubmitprompt": Event.PROMPT,
    "chatmessage": Event.PROMPT,
    "stop": Event.STOP,
    "sessionidle": Event.STOP,
    "compact": Event.COMPACT,
    "precompact": Event.COMPACT,
    "sessioncompacting": Event.COMPACT,
    "sessionend": Event.END,
    "sessionstart": Event.START,
}
"""Every program's name of an event, in lower case and without its joints."""
CURSOR, CLAUDE = "cursor", "claude-code"


@dataclass(frozen=True, slots=True)
class Happened:
    """An event as the program tells it: in whose conversation, what was asked, what was said.

    `transcript` is a file of JSON lines; `messages` are those of a program that keeps none.
    """

    event: Event
    program: str
    conversation: str = ""
    prompt: str = ""
    transcript: str = ""
    messages: tuple[Any, ...] = ()
    name: str = ""


def named(event: str) -> Event | None:
    """The event of this name, in whichever program's spelling."""
    return NAMES.get("".join(char for char in event.lower() if char.isalnum()))


def happened(event: str, data: bytes, program: str = "") -> Happened | None:
    """What a program says on standard input; None for an event or a text that says nothing."""
    known = named(event)
    told = _object(data)
    if known is None or told is None:
        return None
    messages = told.get("messages")
    return Happened(
        known,
        program or (CURSOR if "cursor_version" in told else CLAUDE),
        _text(told, "session_id", "conversation_id", "sessionID", "thread_id"),
        _text(told, "prompt", "user_prompt", "message"),
        _text(told, "transcript_path", "agent_transcript_path"),
        tuple(messages) if isinstance(messages, list) else (),
        _text(told, "hook_event_name"),
    )


def answer(at: Happened, text: str) -> str:
    """Something to know, in the form that the program takes it in."""
    if at.program == CURSOR:
        return json.dumps({"continue": True, "additional_context": text}, ensure_ascii=False)
    if at.name:
        told = {"hookEventName": at.name, "additionalContext": text}
        return json.dumps({"hookSpecificOutput": told}, ensure_ascii=False)
    return text


def _object(data: bytes) -> Mapping[str, Any] | None:
    try:
        told = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return told if isinstance(told, dict) else None


def _text(told: Mapping[str, Any], *names: str) -> str:
    return next((told[name] for name in names if isinstance(told.get(name), str)), "")
