"""An event from outside: a JSON object from a named source. Pure.

Its content is untrusted data. The owner's instructions for a source are a section of AGENTS.md
whose heading is its name: `Mail`, `Events: mail`.
"""

import json
import re
from dataclasses import dataclass
from typing import Any

from assistant.errors import UsageError
from assistant.quoting import neutralised
from assistant.session.listing import title
from assistant.tables import table_of

MOST_BYTES = 1_000_000
"""Maximum size of an event."""
MOST_SHOWN = 50_000
"""Maximum characters of an event that the model reads."""
_data = table_of(__file__)
SOURCE = re.compile(r"[\w.-]{1,64}")
_HEADING = re.compile(r"^(?P<level>#{1,6})\s+(?P<title>.*)$", re.M)
_FORGED = re.compile(r"\[(\s*/?\s*instructions)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Incoming:
    """An event: its source and its data."""

    source: str
    data: dict[str, Any]

    def message(self, instructions: str) -> str:
        """Return the message of the turn, which contains none of the event's own text."""
        guidance: str = _data["instructed" if instructions else "uninstructed"]
        message: str = _data["message"]
        return message.format(
            source=self.source, guidance=guidance.format(instructions=instructions)
        )

    @property
    def title(self) -> str:
        """The title of its session."""
        text = _title_text(self.data) or json.dumps(self.data, ensure_ascii=False)
        return title(f"{self.source}: {neutralised(text)}")

    @property
    def shown(self) -> str:
        """The event's data as the model reads it."""
        text = json.dumps(self.data, ensure_ascii=False, indent=1)
        text = _FORGED.sub(r"(\1", neutralised(text))
        if len(text) <= MOST_SHOWN:
            return text
        return f"{text[:MOST_SHOWN]}\n[Cut: the first {MOST_SHOWN:,} of {len(text):,} characters.]"


def incoming(source: str, data: bytes) -> Incoming:
    """Parse an event. Raises UsageError."""
    if not SOURCE.fullmatch(source):
        raise UsageError(
            f"{source!r} is not a valid name of a source", "Use letters, digits, dots and hyphens"
        )
    if len(data) > MOST_BYTES:
        raise UsageError(
            f"the event has more than {MOST_BYTES:,} bytes, so it was refused",
            "Send only what matters, with a link to the rest",
        )
    if not data.strip():
        raise UsageError("there is no event on standard input", "Pipe a JSON object into it")
    try:
        value = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"the event is not JSON: {error}", "Send one JSON object") from error
    if not isinstance(value, dict):
        raise UsageError("the event is not a JSON object", 'Send one such as {"text": …}')
    return Incoming(source, value)


def instructions(procedures: str, source: str) -> str:
    """Return the instructions in AGENTS.md for events of a source; empty if there are none."""
    named = re.compile(rf"(?:events?(?:\s+from|:)?\s+)?{re.escape(source)}\W*", re.IGNORECASE)
    for heading in _HEADING.finditer(procedures):
        if not named.fullmatch(heading["title"]):
            continue
        level = len(heading["level"])
        after = (
            h for h in _HEADING.finditer(procedures, heading.end()) if len(h["level"]) <= level
        )
        end = next((heading.start() for heading in after), len(procedures))
        return procedures[heading.end() : end].strip()
    return ""


def _title_text(data: dict[str, Any]) -> str:
    """Return the text of the preferred field in an object or nested ones; empty if there is
    none."""
    objects = [data, *(item for item in data.values() if isinstance(item, dict))]
    texts = (
        item[name]
        for name in _data["title_fields"]
        for item in objects
        if isinstance(item.get(name), str)
    )
    return next(filter(str.strip, texts), "")
