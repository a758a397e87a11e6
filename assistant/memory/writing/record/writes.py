"""What is kept of a write to memory."""

import secrets
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from assistant.memory.base import Origin, Passage
from assistant.memory.text.identity import digest

Verdict = Literal["seen", "deleted", "erased", "dismissed", "restored"]
OWNER = Origin()
ADDING = frozenset({"remember", "supersede", "restore"})


@dataclass(frozen=True, slots=True)
class Edit:
    """One change of one file. What it removed is the image `removed` in the history, or "".

    `at` counts characters of the file as it was just before. `before` and `after` are the digests
    of the whole text; `above` and `below` digests of the lines that were nearest, nearest first.
    """

    source: str
    at: int
    removed: str
    inserted: str
    before: str
    after: str
    above: tuple[str, ...] = ()
    below: tuple[str, ...] = ()

    @property
    def makes(self) -> bool:
        """Whether there was no text before."""
        return self.before == digest("")


@dataclass(frozen=True, slots=True)
class Write:
    """One write: `action` is remember, supersede, forget, undo, restore or amend.

    `request` and `part` name the client's request and the place in its batch; `undoes` the write
    that this one reversed. A purged one has lost its words and cannot be reversed.
    """

    id: str
    time: str
    action: str
    text: str = ""
    origin: Origin = OWNER
    edits: tuple[Edit, ...] = ()
    request: str | None = None
    part: int = 0
    undoes: str | None = None
    purged: bool = False
    together: str = ""

    @property
    def source(self) -> str:
        """The file that the write is filed under: the one it added a fact to, if any."""
        added = self.added
        return added.source if added else next((edit.source for edit in self.edits), "")

    @property
    def added(self) -> Edit | None:
        """The edit that added the fact, if the write added one."""
        if self.action not in ADDING:
            return None
        return next((edit for edit in self.edits if edit.inserted and not edit.removed), None)


@dataclass(frozen=True, slots=True)
class Purging:
    """A purge that has begun. It stands in the journal until it is done, and no longer.

    `facts` are the facts in every wording that is known of them, `passages` what goes from the
    files, `cited` the entries that the facts were taken from, by session. `sessions`: past
    conversations and the prompt's history are gone through as well.
    """

    id: str
    time: str
    facts: tuple[str, ...]
    passages: tuple[Passage, ...]
    cited: dict[str, tuple[str, ...]]
    sessions: bool = False


def new_id() -> str:
    """A fresh id of 12 hex digits."""
    return secrets.token_hex(6)


def now() -> str:
    """The local time, ISO 8601 with offset."""
    return datetime.now().astimezone().isoformat(timespec="milliseconds")


def scrubbed(write: Write) -> Write:
    """The write without its words: that something happened, and when."""
    return replace(write, text="", origin=Origin(write.origin.kind), edits=(), purged=True)
