"""At the end of a conversation, or before it is summarised: it becomes a session here."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from assistant.agent.capture import ended
from assistant.bridge.hooks.events import Event, Happened
from assistant.bridge.hooks.transcripts import objects, said
from assistant.bridge.shelf import label
from assistant.secrets.current import redactor
from assistant.session.adopting import Adopted, Said, adopt
from assistant.workspace import trust
from assistant.workspace.folder import Workspace

MOST_BYTES = 200 << 20
"""A longer record is no conversation."""


def take_over(place: Workspace, raw: Mapping[str, Any], at: Happened) -> Adopted | None:
    """Take over what was said; what reads it for facts, if a model is configured, is on its own.

    None if there is nothing, or the workspace is not trusted. Raises StorageError, SessionError.
    """
    if not trust.is_trusted(place):
        return None
    found = said(each for each in at.messages if isinstance(each, dict)) or _recorded(at)
    redact = redactor().redact
    clean: list[Said] = [replace(each, text=redact(each.text)) for each in found]
    taken = adopt(place.sessions, label(at.program), at.conversation or at.transcript, clean)
    if taken and taken.new and at.event is not Event.STOP and _is_read(raw):
        ended.begin(place)
    return taken


def _recorded(at: Happened) -> list[Said]:
    """What the program's own record says, if there is one."""
    path = Path(at.transcript).expanduser()
    if not at.transcript or not path.is_file() or path.stat().st_size > MOST_BYTES:
        return []
    return said(objects(path.read_bytes()))


def _is_read(raw: Mapping[str, Any]) -> bool:
    """Whether sessions are read for facts: a model is configured, and reading is not off."""
    model, memory = raw.get("model") or {}, raw.get("memory") or {}
    asked = raw.get("profiles") or (isinstance(model, dict) and model.get("name"))
    return bool(asked) and memory.get("capture", "always") == "always"
