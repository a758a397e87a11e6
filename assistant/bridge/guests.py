"""Who writes from outside: a name that they gave themselves, and no right."""

import re
from datetime import date

from assistant.errors import UsageError
from assistant.memory.base import Fact, Origin
from assistant.quoting import one_line

NAME_LENGTH = 40
"""Characters of a name that are kept."""
NAMELESS = "unnamed"
FACT_LENGTH = 10_000
"""Characters of one fact; what is longer is a document, and belongs into a file of its own."""
QUERY_LENGTH = 20_000
"""Characters of a question; no model of meaning reads so many."""
_ODD = re.compile(r"[^\w.@+-]+")


def label(name: str) -> str:
    """The name that a program gives itself, as one short word that passes for nothing else."""
    word = _ODD.sub("-", one_line(name[: 4 * NAME_LENGTH])).strip("-.")
    return word[:NAME_LENGTH] or NAMELESS


def fact_of(text: str, name: str, *, replaces: str = "", waits: bool = True) -> Fact:
    """A fact that a program gives; one that holds a secret is not written."""
    check_length("fact", text, FACT_LENGTH)
    check_length("place in `replaces`", replaces, QUERY_LENGTH)
    origin = Origin(f"mcp:{label(name)}")
    return Fact(text, replaces=replaces or None, origin=origin, secrets="ask", waits=waits)


def check_date(text: str) -> None:
    """Raise UsageError for what is no ISO date, and not empty."""
    try:
        date.fromisoformat(text or "2000-01-01")
    except ValueError as error:
        raise UsageError(f"{text[:40]!r} is not a date", "Write it as 2026-05-08") from error


def check_query(query: str) -> None:
    """Raise UsageError for a question without words, or with more than anybody reads."""
    check_length("query", query, QUERY_LENGTH)
    if not query.strip():
        raise UsageError("the query is empty", "Say in words what to look for")


def check_length(what: str, text: str, most: int) -> None:
    """Raise UsageError for more than anybody reads."""
    if len(text) > most:
        raise UsageError(
            f"the {what} has {len(text):,} characters, and {most:,} is the most", "Say it in fewer"
        )
