"""The items of an export, whichever program made it."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from assistant.errors import ImportFailure
from assistant.memory.text.chunk import chunks_of
from assistant.memory.text.identity import digest
from assistant.session.adopting import Message
from assistant.session.entries import AssistantEntry, UserEntry

LONGEST = 2000
"""Maximum characters of a fact; longer texts are skipped."""
_HEADING_ALONE = re.compile(r"\*\*[^*]+\*\*:?")
_LINK_ALONE = re.compile(r"[-*+]\s*\[[^\]]*\]\([^)]*\.md\)")
"""An entry of a table of contents."""
TEXTS = ("text", "Text", "input_text", "output_text")
"""The types of message parts that are text."""
Node = Mapping[str, Any]
ROLES = {"user": UserEntry, "human": UserEntry, "assistant": AssistantEntry}
"""The kinds of messages, by the programs' names for their roles."""


@dataclass(frozen=True, slots=True)
class ExportedConversation:
    """A conversation, with the ID that the other program gave it."""

    id: str
    title: str
    time: str
    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class ExportedFact:
    """A fact of another program's memory; `date` is an ISO day, and empty if unknown."""

    text: str
    date: str = ""


@dataclass(frozen=True, slots=True)
class Document:
    """A markdown file; `name` is its path in the export."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Skipped:
    """An item that is not imported, the reason, and its name if it has one."""

    why: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that could not be read, and the reason. `cut`: the export is truncated there."""

    where: str
    why: str
    cut: bool = False


class Malformed(ValueError):
    """An item does not have the expected form."""


Item = ExportedConversation | ExportedFact | Document | Skipped | Problem
Items = Iterator[Item]


def iso_time(value: object) -> str:
    """Return a time in seconds, milliseconds or ISO 8601 as ISO 8601 in UTC; empty if it is
    none."""
    try:
        if isinstance(value, bool) or value in (None, ""):
            return ""
        if isinstance(value, int | float):
            time = datetime.fromtimestamp(value / 1000 if value > 1e11 else value, UTC)
        else:
            time = datetime.fromisoformat(str(value))
        time = time if time.tzinfo else time.replace(tzinfo=UTC)
        return time.astimezone(UTC).isoformat(timespec="milliseconds")
    except (ValueError, OverflowError, OSError):
        return ""


def message(role: object, text: str, time: object) -> Message | None:
    """Return a message of the user or the model; None for others, and without a text."""
    kind = ROLES.get(str(role))
    return kind(text, time=iso_time(time)) if kind and text else None


def text_of(content: object) -> str:
    """Return the text of a message that is a string or a list of parts."""
    if isinstance(content, str):
        return content.strip()
    parts = content if isinstance(content, list) else []
    text_parts = [
        part
        for part in parts
        if isinstance(part, Mapping)
        and part.get("type", "text") in TEXTS
        and not part.get("thought")
    ]
    return "\n\n".join(str(part.get("text") or "") for part in text_parts).strip()


def day(value: object) -> str:
    """Return the ISO day of a time that `iso_time` can read; empty if it is none."""
    return iso_time(value)[:10]


def exported(
    id: str, title: object, time: object, messages: Iterable[Message | None]
) -> ExportedConversation | Skipped:
    """Return a conversation that began at a time, by default at that of its first message.

    One without a message of the owner is skipped.
    """
    present = tuple(message for message in messages if message)
    name = title if isinstance(title, str) else ""
    if not any(isinstance(message, UserEntry) for message in present):
        return Skipped("nothing said by you" if present else "nothing said", name or id)
    began = iso_time(time) or next(filter(None, (message.time for message in present)), "")
    return ExportedConversation(id, name, began, present)


def item_id(id: object, content: object) -> str:
    """Return the ID of an item; without one, a digest of its content."""
    return id if isinstance(id, str) and id else digest(repr(content))[:16]


def described(error: Exception) -> str:
    """Describe to the owner why something could not be read."""
    match error:
        case ImportFailure():
            return error.message
        case Malformed():
            return str(error)
        case UnicodeDecodeError():
            return f"byte {error.start} is not UTF-8"
        case KeyError():
            return f"it has no {error.args[0]!r}"
        case RecursionError():
            return "it is nested too deep"
        case _:
            return "it does not have the expected form"


UNREADABLE = (ImportFailure, LookupError, TypeError, ValueError, AttributeError, RecursionError)
"""Errors that reading an item may raise."""


def guarded(where: str, read: Callable[[], Items]) -> Items:
    """Yield the items that `read` returns; a problem if they cannot be read."""
    try:
        yield from list(read())
    except UNREADABLE as error:
        yield Problem(where, described(error))


def branch(
    nodes: Mapping[Any, Node], at: object, above: str, time: Callable[[Node], Any]
) -> list[Node]:
    """Return the nodes from the root to the node `at`, or to the latest leaf if there is no such
    node.

    `above` is the field that names a node's parent.
    """
    if at not in nodes:
        parents = {node.get(above) for node in nodes.values()}
        leaves = [name for name in nodes if name not in parents]
        at = max(leaves, key=lambda name: time(nodes[name]), default=None)
    path: list[Node] = []
    seen = set()
    while at in nodes and at not in seen:
        seen.add(at)
        path.append(nodes[at])
        at = nodes[at].get(above)
    return path[::-1]


def facts_in(text: str, name: str = "imported.md") -> Iterator[ExportedFact]:
    """Yield the facts of a markdown text in order, without struck-out text and code.

    The date of a fact is in a heading above it, or in the file's name.
    """
    for chunk in chunks_of(text, name):
        content = chunk.text.strip()
        if (
            chunk.status != "current"
            or content.startswith(("```", "~~~"))
            or len(content) > LONGEST
        ):
            continue
        if _LINK_ALONE.match(content) or _HEADING_ALONE.fullmatch(content):
            continue
        if fact := " ".join(chunk.plain.split()):
            yield ExportedFact(fact, day(chunk.date))
