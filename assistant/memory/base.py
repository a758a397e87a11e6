"""The `Memory` protocol and its values: what the rest of the program knows of memory.

Imports nothing heavy: the command-line client lives on this module and the wire alone.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from assistant.messages import estimate_tokens

Status = Literal["current", "superseded"]
Progress = Callable[[str, int, int], None]
"""Called as `progress(what, done, total)`; `total` is 0 while it is unknown."""


def no_progress(what: str, done: int, total: int) -> None:
    """Report to nobody."""


Notify = Callable[[str], None]
"""Called with one line that the owner should know, such as that the index was made anew."""


def no_notices(notice: str) -> None:
    """Tell nobody."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a memory file, verbatim, with where it stands.

    `text` is the file's own between `start_char` and `end_char` (code points, end exclusive; a
    byte-order mark is not counted). Lines are 1-based and inclusive. `date` (ISO) is when it was
    recorded; `mentions` are the ISO dates its text speaks of. `signals` holds each ranking
    signal's share of `score`. `origin` is who recorded it, as the journal knows.
    """

    id: str
    text: str
    source: str
    start_line: int
    end_line: int
    start_char: int
    end_char: int
    heading: tuple[str, ...] = ()
    date: str | None = None
    mentions: tuple[str, ...] = ()
    score: float = 0.0
    status: Status = "current"
    signals: dict[str, float] = field(default_factory=dict)
    origin: str | None = None

    @property
    def citation(self) -> str:
        """`file:line`, the place to open in an editor."""
        return f"{self.source}:{self.start_line}"

    @property
    def tokens(self) -> int:
        """What the passage costs of a budget."""
        return estimate_tokens(self.text)


@dataclass(frozen=True, slots=True)
class Query:
    """What to recall. The tighter of `k` passages and `budget` tokens ends the list.

    None takes the setting. `as_of` (ISO date) answers from what was recorded by that day.
    `include_superseded` is `--all`. `why` asks for near misses below the cut.
    """

    text: str
    k: int | None = None
    budget: int | None = None
    as_of: str | None = None
    include_superseded: bool = False
    why: bool = False


@dataclass(frozen=True, slots=True)
class Recall:
    """The passages found, best first, and their tokens together.

    `abstained` means that what matched was too weak to be worth its tokens.
    """

    query: str
    tokens: int
    passages: tuple[Passage, ...]
    near_misses: tuple[Passage, ...] = ()
    abstained: bool = False


@dataclass(frozen=True, slots=True)
class Origin:
    """Who a fact comes from: `kind` is an open set (owner, assistant, tool, …).

    A fact captured from a conversation cites its session and the entries it came from.
    """

    kind: str = "owner"
    session: str | None = None
    entries: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact to be written as one list item under `## {section} -- {today}`.

    `replaces` names the fact it supersedes, as an id or `FILE:LINE`.
    """

    text: str
    section: str = "Remembered"
    replaces: str | None = None
    origin: Origin = Origin()


@dataclass(frozen=True, slots=True)
class Held:
    """A fact that waits for the owner. Its id is a digest of what is shown of it: its words, what
    it replaces and its origin."""

    id: str
    time: str
    fact: Fact


@dataclass(frozen=True, slots=True)
class Pair:
    """Two current facts that are near one another; `later` was recorded after `earlier`."""

    earlier: Passage
    later: Passage
    cosine: float


@dataclass(frozen=True, slots=True)
class Remembered:
    """Where a fact now stands. `similar` are candidates to supersede, never a refusal.

    `exists`: the same fact (folded-equal) stood there already and nothing was written.
    `waiting`: it is in quarantine until the owner reviews it; `source` and `line` are empty.
    """

    status: Literal["stored", "exists", "superseded", "waiting"]
    id: str
    source: str
    line: int
    text: str
    similar: tuple[Passage, ...] = ()


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What was removed, and from where; `entry` is the journal entry that `undo` reverses."""

    entry: str
    removed: tuple[Passage, ...]
    purged: bool = False


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One acknowledged write, as `memory log` shows it. `time` is ISO 8601 with offset."""

    id: str
    time: str
    action: str
    source: str
    text: str
    origin: Origin
    undone: bool = False


@dataclass(frozen=True, slots=True)
class SourceStatus:
    """One indexed file."""

    source: str
    chunks: int
    indexed_at: str


@dataclass(frozen=True, slots=True)
class DaemonStatus:
    """The resident process that owns the index."""

    pid: int
    version: str
    rss_bytes: int
    uptime_s: float


@dataclass(frozen=True, slots=True)
class MemoryStatus:
    """The state of memory.

    `embedded_total` counts the document texts embedded since the index was made, over all
    daemons, queries not included. `notices` are one-line things the owner should know, such as
    an index that was rebuilt or a fact that an editor's stale save erased.
    """

    chunks: int
    sources: tuple[SourceStatus, ...]
    embedded_total: int
    embedder: str
    index_bytes: int
    waiting_for_review: int = 0
    notices: tuple[str, ...] = ()
    daemon: DaemonStatus | None = None


def fill(found: Sequence[Passage], k: int, budget: int) -> tuple[list[Passage], list[Passage]]:
    """The best that fit, at most `k`, and the others. What does not fit any more is passed over."""
    taken: list[Passage] = []
    others: list[Passage] = []
    left = budget
    for each in found:
        if len(taken) < k and each.tokens <= left:
            taken.append(each)
            left -= each.tokens
        else:
            others.append(each)
    return taken, others


class Memory(Protocol):
    """The one door to long-term memory, in this process or over the daemon's socket."""

    def recall(self, query: Query) -> Recall:
        """The best passages for a query; fresh with the files as they are now."""

    def remember(self, facts: Sequence[Fact]) -> tuple[Remembered, ...]:
        """Write facts, in order; each can be recalled when this returns.

        Raises LedgerError if a `replaces` names no fact or more than one.
        """

    def locate(self, target: str) -> tuple[Passage, ...]:
        """The facts that an id, `FILE:LINE` or words name, best first.

        Words name the facts that say just this, else those that hold them, else the likeliest. A
        wrong id or line names none.
        """

    def forget(self, passages: Sequence[Passage], *, purge: bool = False) -> Forgotten:
        """Remove exactly these passages from their files and every derived store.

        Raises LedgerError if a file no longer holds the bytes of a passage.
        """

    def status(self) -> MemoryStatus:
        """The state of memory, fresh with the files."""

    def log(self, limit: int = 20) -> tuple[JournalEntry, ...]:
        """The latest acknowledged writes, newest first."""

    def undo(self) -> JournalEntry:
        """Reverse the latest write that still stands; returns what was reversed.

        Raises LedgerError if the owner has since changed its lines, or nothing is left to undo.
        """

    def waiting(self) -> tuple[Held, ...]:
        """The facts that wait for the owner's review, oldest first."""

    def review(self, id: str, *, accept: bool, text: str | None = None) -> Remembered | None:
        """Write a fact that waits, or `text` in its place; or drop it, and return None.

        Raises LedgerError if nothing waits under this id: it names the very words that were shown.
        """

    def erased(self) -> tuple[JournalEntry, ...]:
        """The writes whose facts an editor's stale save took away, until the owner decides."""

    def restore(self, ids: Sequence[str], *, dismiss: bool = False) -> tuple[Remembered, ...]:
        """Write erased facts again, or never offer them again. Raises LedgerError for other ids."""

    def pairs(self, limit: int = 200) -> tuple[Pair, ...]:
        """The nearest pairs of current facts, nearest first: what `memory tidy` looks at."""

    def rebuild(self) -> MemoryStatus:
        """Drop the derived index and make it again; cached vectors are used."""

    def close(self) -> None:
        """Let go of the index or the connection."""
