"""Markdown to chunks. Pure: text in, values out."""

from dataclasses import dataclass

from assistant.memory.base import Status


@dataclass(frozen=True, slots=True)
class Chunk:
    """The unit of recall: a list item with what is nested in it, a paragraph, table, fence, quote.

    `id` is a hash of source, heading path, text and occurrence: it survives anything that happens
    elsewhere in the file. `text` is the file's own between `start_char` and `end_char`;
    `plain` is what is embedded and matched: without markup, heading or struck-out words.
    Lines are 1-based, inclusive; characters are code points after any byte-order mark, end
    exclusive. `ordinal` counts the chunks of the file from 0.
    """

    id: str
    source: str
    ordinal: int
    text: str
    plain: str
    heading: tuple[str, ...]
    start_line: int
    end_line: int
    start_char: int
    end_char: int
    date: str | None = None
    mentions: tuple[str, ...] = ()
    status: Status = "current"
