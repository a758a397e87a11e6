"""What an index is made of: the memory files of a workspace, or text that lies elsewhere."""

from pathlib import Path
from typing import Protocol

from assistant.memory.text.conflict_marks import conflict_in, may_hold_one, without_marks
from assistant.workspace.folder import Survey

UNREADABLE = "\ufffd"
MOST_UNREADABLE = 0.25
"""A file of which more cannot be read is no text."""


class Corpus(Protocol):
    """A set of named files below a `root`, indexed at `index`; a workspace is one.

    `identity` tells it from any other on this machine: whose index it is, and whose vectors.
    """

    @property
    def root(self) -> Path:
        """The folder that names are relative to."""

    @property
    def private(self) -> Path:
        """The program's own folder, which holds the index."""

    @property
    def index(self) -> Path:
        """Where its index lies."""

    @property
    def identity(self) -> Path:
        """A path that no other corpus has."""

    def survey(self) -> Survey:
        """The files there are, and what stands among them and is none."""


def decoded(name: str, data: bytes) -> str:
    """The text of a file, with a stand-in for what cannot be read and without a conflict's marks.

    Raises ValueError that says where, if it is no text at all.
    """
    if b"\0" not in data and (text := _strictly(data)) is not None:
        return without_marks(text)
    doubtful = data.replace(b"\0", UNREADABLE.encode())
    text = doubtful.decode("utf-8", "replace")
    if text.count(UNREADABLE) > MOST_UNREADABLE * len(text):
        raise ValueError(_unreadable(data))
    return without_marks(text)


def _strictly(data: bytes) -> str | None:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None


def doubt(data: bytes) -> str:
    """What is wrong with a file that can be read all the same; "" if nothing is."""
    if why := _unreadable(data):
        seen = "what can be read of it is recalled, and nothing is written to it"
        return f"is not UTF-8 text ({why}); {seen}. Save it as UTF-8"
    if may_hold_one(data) and (line := conflict_in(data.decode())):
        return f"holds a conflict of a merge (line {line}). Settle it; nothing is written to it"
    return ""


def _unreadable(data: bytes) -> str:
    """Where a file is no text; "" if it is."""
    if (zero := data.find(b"\0")) >= 0:
        return f"a zero byte at {zero}"
    if data.isascii():
        return ""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        return f"byte {error.start}"
    return ""
