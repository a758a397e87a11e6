"""What can be asked of long-term memory, in this process or over the daemon's socket.

Two groups ask: a conversation, which recalls and remembers, and whoever looks after memory. These
annotations are the schema of the daemon's wire, too (`daemon/wire.py`).

A `request` names a write: whoever asks the same again under the same name, because the answer was
lost, is told what was done the first time, and nothing is written twice.
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
    """Memory as a conversation needs it."""

    def recall(self, query: Query) -> Recall:
        """The best passages for a query; fresh with the files as they are now."""

    def core(self, tokens: int) -> tuple[Passage, ...]:
        """The current facts that should shape any answer, the most telling first, as many as fit
        so many tokens; no procedures and tasks."""

    def existing(self, texts: Sequence[str], k: int) -> Existing:
        """The `k` current facts nearest to each of these texts, and those that share a word with it
        that few hold; no procedures and tasks. And the headings a fact may be written under."""

    def remember(
        self, facts: Sequence[Fact], *, request: str | None = None
    ) -> tuple[Remembered, ...]:
        """Write facts, in order; each can be recalled when this returns.

        Raises LedgerError if a `replaces` names no fact or more than one.
        """

    def waiting(self) -> tuple[Held, ...]:
        """The facts that wait for the owner's review, oldest first."""

    def erased(self) -> tuple[JournalEntry, ...]:
        """The writes whose facts an editor's stale save took away, until the owner decides."""

    def close(self) -> None:
        """Let go of the index or the connection."""


class Keeper(Memory, Protocol):
    """Memory as those need it who look after it: its owner's commands, and upkeep."""

    def locate(self, target: str) -> Located:
        """The facts that an id, `FILE:LINE` or words name, and whether exactly those.

        Words name the facts that say just this, else those that hold them, else the likeliest. A
        wrong id or line names none.
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

        So too `past` facts, in their own words, that no file holds any more. `sessions`: out of
        past conversations and the prompt's history as well. Raises LedgerError if a file no longer
        holds the bytes of a passage, or holds a past fact; SessionError if a session that must
        change is open.
        """

    def undo(self, ids: Sequence[str] = (), *, request: str | None = None) -> JournalEntry:
        """Reverse these writes, or the latest that still stands; returns what was reversed.

        Raises LedgerError if the owner has since changed its lines, or nothing is left to undo.
        """

    def mark(self, marks: Sequence[Mark], *, request: str | None = None) -> int:
        """Have the lines of these facts say it, in one write; returns how many have changed.

        A fact that has changed since it was shown, or whose line can hold no comment, is passed
        over. Raises LedgerError if that leaves none.
        """

    def review(
        self, id: str, *, accept: bool, text: str | None = None, request: str | None = None
    ) -> Remembered | None:
        """Write a fact that waits, or `text` in its place; or drop it, and return None.

        Raises LedgerError if nothing waits under this id: it names the very words that were shown.
        """

    def restore(
        self, ids: Sequence[str], *, dismiss: bool = False, request: str | None = None
    ) -> tuple[Remembered, ...]:
        """Write erased facts again, or never offer them again. Raises LedgerError for other ids."""

    def status(self) -> MemoryStatus:
        """The state of memory, fresh with the files."""

    def log(self, limit: int = 20) -> tuple[JournalEntry, ...]:
        """The latest acknowledged writes, newest first."""

    def pairs(self, limit: int = 200) -> tuple[Pair, ...]:
        """The nearest pairs of current facts, nearest first: what `memory tidy` looks at."""

    def due(self, first: str, last: str) -> tuple[Due, ...]:
        """What current facts say of these days (ISO, both included), the earliest first."""

    def chart(self) -> Chart:
        """All facts, those that were struck out too, laid out by their meanings."""

    def upkeep(self) -> Upkept:
        """Move what need not stand in MEMORY.md any longer: superseded facts, passed
        appointments, what stands twice or under the heading of a day long ago. One write, which
        `undo` takes back."""

    def check(self) -> tuple[Finding, ...]:
        """What is wrong with the journal, the index and the files, mended where that can be."""

    def rebuild(self) -> MemoryStatus:
        """Drop the derived index and make it again; cached vectors are used."""

    def unowned(self, *, remove: bool = False) -> tuple[ServerCollection, ...]:
        """The collections on the Chroma server, of this program, whose workspace or model is gone;
        removed, if so asked.

        Raises MemoryFailure if no server is set, or it does not answer.
        """
