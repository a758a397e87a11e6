"""The operations of long-term memory, in this process or over the daemon's socket.

`Memory` is what a conversation needs, `Keeper` what the owner's commands and upkeep need as well.
The annotations are also the schema of the daemon's protocol (`daemon/wire.py`).

A `request` names a write: if the answer was lost and the same request is sent again, nothing is
written twice and the answer is what was done the first time.
"""

from collections.abc import Sequence
from typing import Protocol

from assistant.memory.base import (
    Chart,
    Due,
    Existing,
    Fact,
    Finding,
    Forgotten,
    Held,
    JournalEntry,
    Located,
    Mark,
    MemoryStatus,
    Pair,
    Passage,
    Query,
    Recall,
    Remembered,
    ServerCollection,
    Upkept,
)


class Memory(Protocol):
    """The operations that a conversation needs."""

    def recall(self, query: Query) -> Recall:
        """The best passages for a query, from the files as they are now."""

    def core(self, tokens: int) -> tuple[Passage, ...]:
        """The current facts that should shape any answer, most important first, as many as fit so
        many tokens; no procedures and tasks."""

    def existing(self, texts: Sequence[str], k: int) -> Existing:
        """The `k` current facts nearest to each text, and those that share a rare word with it; no
        procedures and tasks. Also the headings that a fact may be written under."""

    def remember(
        self, facts: Sequence[Fact], *, request: str | None = None
    ) -> tuple[Remembered, ...]:
        """Write facts, in order; they can be recalled when this returns.

        Raises LedgerError if a `replaces` names no fact or more than one.
        """


class Keeper(Memory, Protocol):
    """All operations: also those of the owner's commands and of upkeep."""

    def waiting(self) -> tuple[Held, ...]:
        """The facts that wait for the owner's review, oldest first."""

    def erased(self) -> tuple[JournalEntry, ...]:
        """The writes whose facts an editor's stale save erased, until the owner decides on them."""

    def close(self) -> None:
        """Close the index or the connection."""

    def locate(self, target: str) -> Located:
        """The facts that an id, `FILE:LINE` or words name.

        Words name the facts that say just this, else those that contain them, else the likeliest.
        A wrong id or line names none.
        """

    def forget(self, passages: Sequence[Passage], *, request: str | None = None) -> Forgotten:
        """Remove exactly these passages from their files and every derived store.

        Raises LedgerError if a file no longer holds the bytes of a passage.
        """

    def purge(
        self,
        passages: Sequence[Passage],
        *,
        past: Sequence[str] = (),
        sessions: bool = False,
        request: str | None = None,
    ) -> Forgotten:
        """Remove these passages and take their words out of every store; it cannot be undone.

        `past` are facts, in their own words, that no file holds any more. `sessions`: past
        conversations and the prompt's history are covered as well. Raises LedgerError if a file no
        longer holds the bytes of a passage, or still holds a past fact; SessionError if a session
        that must change is open.
        """

    def undo(
        self, ids: Sequence[str] = (), *, request: str | None = None
    ) -> tuple[JournalEntry, ...]:
        """Reverse these writes, or the latest that still stands with those that belong to it;
        return what was reversed, newest first.

        Raises LedgerError if the owner has since changed its lines, or nothing is left to undo.
        """

    def mark(self, marks: Sequence[Mark], *, request: str | None = None) -> int:
        """Write these comments at the ends of facts' lines, as one write; return how many changed.

        A fact that has changed since it was shown, or whose line can hold no comment, is skipped.
        Raises LedgerError if that leaves none.
        """

    def review(
        self,
        id: str,
        *,
        accept: bool,
        text: str | None = None,
        together: str = "",
        request: str | None = None,
    ) -> Remembered | None:
        """Write a fact that waits, or `text` in its place; or drop it, and return None.

        Facts accepted one after another with the same `together` are undone together. Raises
        LedgerError if nothing waits under this id, which names the very words that were shown.
        """

    def restore(
        self, ids: Sequence[str], *, dismiss: bool = False, request: str | None = None
    ) -> tuple[Remembered, ...]:
        """Write erased facts again, or never offer them again. Raises LedgerError for other ids."""

    def status(self) -> MemoryStatus:
        """The state of memory, from the files as they are now."""

    def log(self, limit: int = 20) -> tuple[JournalEntry, ...]:
        """The latest acknowledged writes, newest first."""

    def pairs(self, limit: int = 200) -> tuple[Pair, ...]:
        """The most similar pairs of current facts, nearest first: the input of `memory tidy`."""

    def due(self, first: str, last: str) -> tuple[Due, ...]:
        """What current facts say of the days from `first` to `last` (ISO, inclusive), in order."""

    def chart(self) -> Chart:
        """All facts, superseded ones too, laid out by their meanings."""

    def upkeep(self) -> Upkept:
        """Move what is no longer needed in MEMORY.md: superseded facts, past appointments,
        duplicates, facts under the heading of a day long ago. One write, which `undo` reverses."""

    def check(self) -> tuple[Finding, ...]:
        """The faults of the journal, the index and the files, mended where that is possible."""

    def rebuild(self) -> MemoryStatus:
        """Drop the derived index and make it again, with cached vectors."""

    def unowned(self, *, remove: bool = False) -> tuple[ServerCollection, ...]:
        """This program's collections on the Chroma server whose workspace or model is gone;
        `remove` deletes them.

        Raises MemoryFailure if no server is set, or it does not answer.
        """
