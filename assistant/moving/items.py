"""What an export holds, whoever made it: conversations, facts, documents, and what is wrong."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from assistant.memory.text.identity import digest

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
    """A time as exports have it (seconds, or ISO 8601) as ISO 8601, UTC; empty if it is none."""
    try:
        if isinstance(value, bool) or value in (None, ""):
            return ""
        if isinstance(value, int | float):
            return _iso(datetime.fromtimestamp(value, UTC))
        known = datetime.fromisoformat(str(value))
        return _iso(known if known.tzinfo else known.replace(tzinfo=UTC))
    except (ValueError, OverflowError, OSError):
        return ""


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


def _iso(time: datetime) -> str:
    return time.astimezone(UTC).isoformat(timespec="milliseconds")
