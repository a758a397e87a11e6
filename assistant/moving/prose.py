"""Markdown that another memory keeps, as facts: a list item or a paragraph each."""

import re
from collections.abc import Iterator

from assistant.memory.text.chunk import chunks_of
from assistant.moving.items import ExportedFact, day

LONGEST = 2000
"""Characters of a fact; what is longer is no fact but a document."""
_HEADING_ALONE = re.compile(r"\*\*[^*]+\*\*:?")
_LINK_ALONE = re.compile(r"[-*+]\s*\[[^\]]*\]\([^)]*\.md\)")
"""An entry of a table of contents."""


def facts_in(text: str, name: str = "imported.md") -> Iterator[ExportedFact]:
    """The facts of a markdown text, in its order; what is struck out, and code, is none.

    A dated heading above a fact, or the file's name, says since when it was known.
    """
    for each in chunks_of(text, name):
        own = each.text.strip()
        if each.status != "current" or own.startswith(("```", "~~~")) or len(own) > LONGEST:
            continue
        if _LINK_ALONE.match(own) or _HEADING_ALONE.fullmatch(own):
            continue
        if fact := " ".join(each.plain.split()):
            yield ExportedFact(fact, day(each.date))
