"""Which sessions are to be read for facts now: those that have ended, or have rested for long."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from assistant.session.ids import SUFFIX, is_open, session_ids
from assistant.session.reading.book import OLD, Book, Known

IDLE = timedelta(minutes=10)
"""An open session in which nothing was said for so long is read as if it had ended."""


@dataclass(frozen=True, slots=True)
class Due:
    """A session with something unread; it is not to be read yet while a chat has it `open`."""

    session: str
    size: int
    open: bool


def due(directory: Path, book: Book, now: datetime) -> Iterator[Due]:
    """The sessions whose turn it is, oldest first, and those that will come to it by themselves."""
    begun = datetime.fromisoformat(book.since) if book.since else now
    for session in session_ids(directory):
        try:
            status = (directory / f"{session}{SUFFIX}").stat()
        except FileNotFoundError:
            continue
        written = datetime.fromtimestamp(status.st_mtime, UTC)
        known = book.sessions.get(session, Known())
        if known.size == status.st_size or (session not in book.sessions and written < begun - OLD):
            continue
        if known.after and datetime.fromisoformat(known.after) > now:
            continue
        held = is_open(directory, session)
        yield Due(session, status.st_size, held and now - written < IDLE)
