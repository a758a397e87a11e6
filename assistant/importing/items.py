"""What an export holds, whoever made it: conversations, facts, documents, and what is wrong."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from assistant.memory.text.chunk import chunks_of
from assistant.memory.text.identity import digest

LONGEST = 2000
"""Characters of a fact; what is longer is no fact but a document."""
_HEADING_ALONE = re.compile(r"\*\*[^*]+\*\*:?")
_LINK_ALONE = re.compile(r"[-*+]\s*\[[^\]]*\]\([^)]*\.md\)")
"""An entry of a table of contents."""
TEXTS = ("text", "input_text", "output_text")
"""The types of the parts that are text."""
Node = Mapping[str, Any]
Speaker = Literal["user", "assistant"]


@dataclass(frozen=True, slots=True)
class Message:
    """What one of the two said, at a time (ISO 8601, UTC); empty if that is not known."""

    by: Speaker
    text: str
    time: str = ""


@dataclass(frozen=True, slots=True)
class ExportedConversation:
    """A conversation under the id that its maker gave it, in its order."""

    id: str
    title: str
    time: str
    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class ExportedFact:
    """Something that another memory knew, since a day (ISO); empty if that is not known."""

    text: str
    date: str = ""


@dataclass(frozen=True, slots=True)
class Document:
    """A markdown file, by its path in what is imported."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Something that was not taken, and why, in few words."""

    why: str


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that could not be read: where it is, and why. The rest was; unless it is `cut`."""

    where: str
    why: str
    cut: bool = False


class Odd(ValueError):
    """An item is not made as such items are; the text says how."""


Item = ExportedConversation | ExportedFact | Document | LeftOut | Problem
Items = Iterator[Item]


def instant(value: object) -> str:
    """A time as exports have it (seconds, milliseconds or ISO 8601) as ISO 8601, UTC; empty if it
    is none."""
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


def text_of(content: object) -> str:
    """What a message says, given as a text or in parts; without calls, results and pictures."""
    if isinstance(content, str):
        return content.strip()
    parts = content if isinstance(content, list) else []
    shown = [part for part in parts if isinstance(part, Mapping) and part.get("type") in TEXTS]
    return "\n\n".join(str(part.get("text") or "") for part in shown).strip()


def day(value: object) -> str:
    """The day (ISO) of a time as exports have it; empty if it is none."""
    return instant(value)[:10]


def named(id: object, content: object) -> str:
    """The id that a thing has, else one made of what it says: the same each time."""
    return id if isinstance(id, str) and id else digest(repr(content))[:16]


def in_words(error: Exception) -> str:
    """Why something could not be read, as its owner would say it."""
    match error:
        case Odd():
            return str(error)
        case UnicodeDecodeError():
            return f"byte {error.start} is no UTF-8"
        case KeyError():
            return f"it has no {error.args[0]!r}"
        case RecursionError():
            return "it is nested too deep"
        case _:
            return "it is not made as such items are"


def branch(
    nodes: Mapping[Any, Node], at: object, above: str, time: Callable[[Node], Any]
) -> list[Node]:
    """The nodes from the first to the one `at`; where that is none, to the latest leaf.

    `above` is the field that names the node before.
    """
    if at not in nodes:
        parents = {node.get(above) for node in nodes.values()}
        leaves = [name for name in nodes if name not in parents]
        at = max(leaves, key=lambda name: time(nodes[name]), default=None)
    found: list[Node] = []
    seen = set()
    while at in nodes and at not in seen:
        seen.add(at)
        found.append(nodes[at])
        at = nodes[at].get(above)
    return found[::-1]


def facts_in(text: str, name: str = "imported.md") -> Iterator[ExportedFact]:
    """The facts of a markdown text, in its order; what is struck out, and code, is none.

    A dated heading above a fact, or the file's name, says since when it was known.
    """
    for chunk in chunks_of(text, name):
        own = chunk.text.strip()
        if chunk.status != "current" or own.startswith(("```", "~~~")) or len(own) > LONGEST:
            continue
        if _LINK_ALONE.match(own) or _HEADING_ALONE.fullmatch(own):
            continue
        if fact := " ".join(chunk.plain.split()):
            yield ExportedFact(fact, day(chunk.date))
