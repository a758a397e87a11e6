"""The operations of long-term memory and their values: queries, passages, facts, status.

`Memory` contains what a conversation needs, `Keeper` also what the owner's commands and upkeep
need, either in this process or over the daemon's socket. The annotations are also the schema of the
daemon's protocol (`daemon/wire.py`). Imports nothing heavy, since a client of the daemon needs all
of it.

A `request` identifies a write: if the answer was lost and the same request is sent again, nothing
is written twice and the first answer is returned.
"""

import contextlib
import re
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol

from assistant.display import shortened
from assistant.errors import LedgerError
from assistant.memory import annotations
from assistant.messages import estimate_tokens
from assistant.secrets.stand_ins import Secret as Secret
from assistant.workspace.folder import PROCEDURE_FILES

Status = Literal["current", "superseded"]
FACTS = "memory"
SESSIONS = "sessions"
"""`within` of a query for past conversations. The `source` of such a passage is a session, and its
line is the number of a turn."""
Progress = Callable[[str, int, int], None]
"""Called as `progress(message, done, total)`; `total` is 0 while it is unknown."""

_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_CODE = re.compile(r"(?<!\\)`")
LONGEST_LINE = 100
"""The maximum length of a passage shown on one line, in characters."""


def no_progress(message: str, done: int, total: int) -> None:
    """Ignore progress."""


Notify = Callable[[str], None]
"""Called with a line for the owner, such as that the index was rebuilt."""


def no_notices(notice: str) -> None:
    """Ignore notices."""


def readable(text: str) -> str:
    """Return the markdown; a list item without its backslash escapes."""
    is_item = text.startswith("- ") and not _CODE.search(text)
    return _ESCAPED.sub(r"\1", text) if is_item else text


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a memory file, verbatim, with its position.

    `text` is the file's text from `start_char` to `end_char` (code points, end exclusive; a
    byte-order mark is not counted). `plain` is the text without markup; for a superseded passage,
    its text before it was superseded. Lines are 1-based and inclusive. `date` (ISO) is when it was
    recorded; `mentions` are the dates (ISO) in its text. `signals` has each ranking signal's share
    of `score`. `origin` is who recorded it, according to the journal.
    """

    id: str
    text: str
    plain: str
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
        """`file:line`, to open in an editor."""
        return f"{self.source}:{self.start_line}"

    @property
    def shown(self) -> str:
        """The text without annotations."""
        return annotations.without(self.text)

    @property
    def readable(self) -> str:
        """The shown text; a list item without its backslash escapes."""
        return readable(self.shown)

    @property
    def tokens(self) -> int:
        """The tokens that the passage takes of a budget."""
        return estimate_tokens(self.shown)


@dataclass(frozen=True, slots=True)
class Query:
    """What to recall: at most `k` passages and `budget` tokens; None means the setting.

    `as_of` (ISO date) recalls what was recorded by that day. `include_superseded` is `--all`. `why`
    asks for near misses below the cut. `verbatim` is for the owner only: secrets in passages are
    not masked.

    For a `turn` of a conversation, only relevant passages are returned, but at least the nearest;
    with a `coding` agent, only clearly relevant ones, and if the turn is only about software, only
    passages about software. `before` is the owner's previous message, to which the text may refer;
    `own` is a source and how many of its passages come first, whatever else matches; `without` are
    sources to leave out because they are in the prompt already, or past conversations, as
    `SESSIONS`.

    `within` searches one thing only: the owner's facts (`FACTS`), past conversations (`SESSIONS`),
    or the notes of this name.
    """

    text: str
    k: int | None = None
    budget: int | None = None
    as_of: str | None = None
    include_superseded: bool = False
    why: bool = False
    turn: bool = False
    coding: bool = False
    before: str = ""
    own: tuple[str, int] | None = None
    without: tuple[str, ...] = ()
    verbatim: bool = False
    within: str = ""


CLEAR, OF_BEST = 0.2, 0.5
"""The minimum score of a relevant passage, and its minimum share of the best score. Of 120
questions about a person's life, the right fact scored less in one; of 40 pieces of small talk, 31
had no passage that scored as much."""


def clear(passages: Sequence[Passage]) -> list[Passage]:
    """Return those of these passages, best first, that are clearly relevant."""
    least = max([CLEAR, *(OF_BEST * passage.score for passage in passages[:1])])
    return [passage for passage in passages if passage.score >= least]


@dataclass(frozen=True, slots=True)
class Recall:
    """The passages recalled, best first.

    `weak`: none is clearly relevant to the turn, these are only the nearest. `notices` report what
    could not be searched; `behind` are files of which an older version was searched because they
    are still being indexed.
    """

    query: str
    passages: tuple[Passage, ...]
    near_misses: tuple[Passage, ...] = ()
    weak: bool = False
    notices: tuple[str, ...] = ()
    behind: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[Passage]:
        return iter(self.passages)

    @property
    def tokens(self) -> int:
        """The tokens that the passages take of a budget."""
        return sum(passage.tokens for passage in self.passages)

    @property
    def caveat(self) -> str:
        """What a model must know about these results, or about the lack of any."""
        return "Part of memory is still being indexed: there may be more." if self.behind else ""


@dataclass(frozen=True, slots=True)
class Located:
    """The facts that a target names, best first.

    `exact`: they have this id, are on this line, or have exactly this text. Otherwise they only
    contain the text, or are similar, and must not be removed without asking.
    """

    passages: tuple[Passage, ...]
    exact: bool = False

    def one(self, target: str) -> Passage:
        """Return the only fact that the target names. Raises LedgerError with the closest
        matches."""
        if self.exact and len(self.passages) == 1:
            return self.passages[0]
        fault = f"{target!r} does not identify a single fact"
        lines = [f"{p.citation} {' '.join(p.readable.split())}" for p in self.passages]
        closest = "; ".join(shortened(line, LONGEST_LINE) for line in lines)
        raise LedgerError(
            f"{fault}; closest matches: {closest}" if closest else fault, "Name one by FILE:LINE"
        )


@dataclass(frozen=True, slots=True)
class Origin:
    """Who a fact comes from: `kind` is an open set (owner, assistant, tool, mcp:NAME, …).

    A fact captured from a conversation names its session and the entries that state it.
    """

    kind: str = "owner"
    session: str | None = None
    entries: tuple[str, ...] = ()


Secrets = Literal["tell", "ask", "keep"]
"""How to treat a fact that contains secrets. `keep`: write it as it is. `ask`: do not write it.
`tell`: write and report what only looks like a secret; do not write what certainly is one, because
the owner registered it or it is in the environment."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact to be written as one list item under `## {section} -- {today}`.

    `replaces` names the fact it supersedes, as an id or `FILE:LINE`. Consecutive writes with the
    same `together` are undone together. A fact that `waits` needs the owner's review before it is
    written, whatever its origin. One that was `recorded` elsewhere (ISO date) keeps that day.
    `under` is one of the owner's headings in MEMORY.md (`People › Lena`) to write it under instead,
    with its day in a comment; "" asks for the heading that fits. `matters_for` are the occasions
    it matters for, kept in a comment; if empty, those of the fact it replaces. `core` is its core
    mark. `replaced_text` are the words of the fact that one waiting for review replaces: its owner
    may move that fact meanwhile.
    """

    text: str
    section: str = "Remembered"
    replaces: str | None = None
    origin: Origin = Origin()
    together: str = ""
    secrets: Secrets = "tell"
    waits: bool = False
    recorded: str = ""
    under: str | None = None
    matters_for: tuple[str, ...] = ()
    core: Literal["core", "not core", ""] = ""
    replaced_text: str = ""

    @property
    def headings(self) -> tuple[str, ...]:
        """The headings that name the fact's project, if it is of one."""
        return (self.section, self.under or "")

    @property
    def as_line(self) -> "Fact":
        """The fact with the annotations at the end of its text parsed, as for a list item.

        A core mark counts only if it comes from the owner.
        """
        text, comments = annotations.split_comments(self.text)
        if not comments:
            return self
        return replace(
            self,
            text=text,
            recorded=self.recorded or annotations.recorded(comments) or "",
            matters_for=self.matters_for or annotations.matters_for(comments),
            core=annotations.core_mark(comments) if self.origin == Origin() else self.core,
        )


@dataclass(frozen=True, slots=True)
class Mark:
    """Annotations to write at the end of a fact's line; None leaves one as it is.

    `core` is "core", "not core" or ""; `matters_for` are the occasions the fact matters for.
    """

    passage: Passage
    core: Literal["core", "not core", ""] | None = None
    matters_for: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Existing:
    """The facts nearest to some texts, the nearest to each first; and the paths of the owner's
    headings in MEMORY.md: `People › Lena`."""

    passages: tuple[Passage, ...] = ()
    headings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Upkept:
    """How many facts the daily upkeep moved: into the archive, and to the headings they fit."""

    archived: int = 0
    sorted: int = 0


@dataclass(frozen=True, slots=True)
class Held:
    """A fact that waits for the owner's review. Its id is a digest of what the owner sees: its
    text, what it replaces and its origin."""

    id: str
    time: str
    fact: Fact


@dataclass(frozen=True, slots=True)
class Pair:
    """Two similar current facts; `later` was recorded after `earlier`."""

    earlier: Passage
    later: Passage
    cosine: float


@dataclass(frozen=True, slots=True)
class Remembered:
    """The location of a fact. `similar` are facts that it may supersede.

    `exists`: the same fact was there already (equal when folded), so nothing was written.
    `waiting`: it is in quarantine until the owner reviews it; `source` and `line` are empty.
    `secret`: nothing was written because of the `secrets`. With another status they only look like
    secrets, and were written. If there are any, `text` is the unchanged fact that contains them.
    """

    status: Literal["stored", "exists", "superseded", "waiting", "secret"]
    id: str
    source: str
    line: int
    text: str
    similar: tuple[Passage, ...] = ()
    secrets: tuple[Secret, ...] = ()


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What was removed; `entry` is the journal entry that `undo` reverses.

    `cleared` are the names of the stores (`stores.py`) that a purge removed text from; `left` lists
    where the text remains because a purge must not touch it, each with the command that removes it.
    """

    entry: str
    removed: tuple[Passage, ...]
    purged: bool = False
    cleared: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Returned:
    """A forgotten line that is in a file again; `id` is the journal entry that forgot it."""

    id: str
    source: str
    line: int
    text: str
    purged: bool

    @property
    def address(self) -> str:
        """`FILE:LINE`."""
        return f"{self.source}:{self.line}"

    @property
    def cure(self) -> str:
        """The command that forgets it again."""
        return f"assistant forget {'--purge ' if self.purged else ''}{self.address}"


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One acknowledged write, as `memory log` shows it. `time` is ISO 8601 with offset.

    `waits_again`: its fact waits for review again because the write was undone. `gone`: its line
    was already gone when the write was undone with others. `stays`: another write states its fact
    too, so the undone one only struck out what it superseded. `passed`: it cannot be undone, so an
    earlier one was.
    """

    id: str
    time: str
    action: str
    source: str
    text: str
    origin: Origin
    undone: bool = False
    waits_again: bool = False
    gone: bool = False
    stays: bool = False
    passed: bool = False


AGENDA_DAYS = 30
"""Default number of days to look ahead."""


@dataclass(frozen=True, slots=True)
class Due:
    """A day or a span of days (ISO, inclusive) that a current fact mentions, and the fact.

    `time` is `18:40`, or empty. A recurring date has an RRULE as `rule`, described by `rhythm`; a
    yearly one has `years` if its first year is known. Day and time are those of the local clock;
    `zone` is the time zone of the text, in which it recurs.
    """

    start: str
    end: str
    passage: Passage
    time: str = ""
    rule: str = ""
    rhythm: str = ""
    years: int = 0
    zone: str = ""


@dataclass(frozen=True, slots=True)
class Topic:
    """A cluster of similar facts, named by its distinguishing words; a disk on the chart."""

    name: str
    x: float
    y: float
    radius: float


@dataclass(frozen=True, slots=True)
class Charted:
    """A fact at its position in a topic. `until` is the day it was superseded (ISO), `near` the
    indices in the chart of the most similar facts, nearest first."""

    passage: Passage
    topic: int
    x: float
    y: float
    near: tuple[int, ...] = ()
    until: str | None = None


@dataclass(frozen=True, slots=True)
class Chart:
    """All facts, in the order of the files, and their topics, the largest first."""

    facts: tuple[Charted, ...] = ()
    topics: tuple[Topic, ...] = ()


@dataclass(frozen=True, slots=True)
class SourceStatus:
    """One indexed file."""

    source: str
    chunks: int
    indexed_at: str


@dataclass(frozen=True, slots=True)
class NotesStatus:
    """The notes of a source: how many are indexed, in how many chunks, and how many are `left`."""

    name: str
    path: str
    notes: int
    chunks: int
    left: int


@dataclass(frozen=True, slots=True)
class DaemonStatus:
    """The resident process that owns the index."""

    pid: int
    version: str
    rss_bytes: int


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """The configured Chroma server: how many vectors it `lacks`, as far as known, and why it is not
    in use, if so."""

    url: str
    lacks: int
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class ServerCollection:
    """The vectors of one workspace and one model on a Chroma server."""

    name: str
    vectors: int


@dataclass(frozen=True, slots=True)
class MemoryStatus:
    """The state of memory.

    `embedded_total` counts the texts embedded since the index was created, without queries.
    `notices` are lines for the owner, such as that the index was rebuilt or that an editor's stale
    save erased a fact.
    """

    chunks: int
    sources: tuple[SourceStatus, ...]
    embedded_total: int
    embedder: str
    index_bytes: int
    waiting_for_review: int = 0
    notices: tuple[str, ...] = ()
    daemon: DaemonStatus | None = None
    server: ServerStatus | None = None
    notes: tuple[NotesStatus, ...] = ()

    @property
    def facts(self) -> int:
        """The number of chunks outside procedures and tasks."""
        return sum(source.chunks for source in self.sources if source.source not in PROCEDURE_FILES)


@dataclass(frozen=True, slots=True)
class Finding:
    """A fault that a check of memory found in the journal, the index or a file.

    If it was not `mended`, the owner has to fix it.
    """

    part: Literal["journal", "index", "file"]
    what: str
    mended: bool


def fill(passages: Sequence[Passage], k: int, budget: int) -> tuple[list[Passage], list[Passage]]:
    """Choose the first `k` passages that fit the budget; return them and the others."""
    chosen: list[Passage] = []
    others: list[Passage] = []
    remaining = budget
    for passage in passages:
        if len(chosen) < k and passage.tokens <= remaining:
            chosen.append(passage)
            remaining -= passage.tokens
        else:
            others.append(passage)
    return chosen, others


# The operations


class Memory(Protocol):
    """The operations that a conversation needs."""

    def recall(self, query: Query) -> Recall:
        """Return the best passages for a query, from the files' current contents."""

    def core(self, tokens: int) -> tuple[Passage, ...]:
        """Return the current facts that should shape any answer, most important first, as many as
        fit into so many tokens; no procedures and tasks."""

    def existing(self, texts: Sequence[str], k: int) -> Existing:
        """Return the `k` current facts nearest to each text, those that share a rare word with it,
        and the headings that a fact may be written under; no procedures and tasks."""

    def remember(
        self, facts: Sequence[Fact], *, request: str | None = None
    ) -> tuple[Remembered, ...]:
        """Write facts, in order; they can be recalled when this returns.

        Raises LedgerError if a `replaces` names no fact or more than one.
        """


class Keeper(Memory, Protocol):
    """All operations, including those of the owner's commands and of upkeep."""

    def waiting(self) -> tuple[Held, ...]:
        """Return the facts that wait for the owner's review, oldest first."""

    def erased(self) -> tuple[JournalEntry, ...]:
        """Return the writes whose facts an editor's stale save erased, until the owner decides."""

    def returned(self) -> tuple[Returned, ...]:
        """Return the forgotten facts that a save brought back, until the owner decides."""

    def close(self) -> None:
        """Close the index or the connection."""

    def locate(self, target: str) -> Located:
        """Return the facts that an id, `FILE:LINE` or a text names.

        A text names the facts with exactly this text, else those that contain it, else the most
        likely ones. A wrong id or line names none.
        """

    def forget(self, passages: Sequence[Passage], *, request: str | None = None) -> Forgotten:
        """Remove exactly these passages from their files and every derived store.

        Raises LedgerError if a file no longer contains the bytes of a passage.
        """

    def purge(
        self,
        passages: Sequence[Passage],
        *,
        past: Sequence[str] = (),
        sessions: bool = False,
        request: str | None = None,
    ) -> Forgotten:
        """Remove these passages and their text from every store; it cannot be undone.

        `past` are texts of facts that no file contains any more. `sessions` includes past
        conversations and the prompt history. Raises LedgerError if a file no longer contains the
        bytes of a passage, or still contains a past fact; SessionError if a session that must
        change is open.
        """

    def undo(
        self, ids: Sequence[str] = (), *, skip: bool = False, request: str | None = None
    ) -> tuple[JournalEntry, ...]:
        """Reverse these writes, or the latest one not yet undone and those that belong to it;
        return what was reversed, newest first.

        If `skip`, it is the latest one that can be undone; the later ones are returned first, as
        `passed`.

        Raises LedgerError if the owner has since changed the lines, or nothing is left to undo.
        """

    def mark(self, marks: Sequence[Mark], *, request: str | None = None) -> int:
        """Write these annotations at the end of facts' lines, as one write; return how many
        changed.

        A fact that has changed since it was shown, or whose line cannot take a comment, is skipped.
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
        """Write a waiting fact, or `text` in its place; or drop it, and return None.

        Consecutive decisions with the same `together` are undone together. Raises LedgerError if no
        waiting fact has this id, which is a digest of the text that was shown.
        """

    def restore(
        self, ids: Sequence[str], *, dismiss: bool = False, request: str | None = None
    ) -> tuple[Remembered, ...]:
        """Write erased facts again; or never offer these erased or returned facts again.

        Raises LedgerError for other ids.
        """

    def status(self) -> MemoryStatus:
        """Return the state of memory, from the files' current contents."""

    def log(self, limit: int = 20) -> tuple[JournalEntry, ...]:
        """Return the latest acknowledged writes, newest first."""

    def pairs(self, limit: int = 200) -> tuple[Pair, ...]:
        """Return the most similar pairs of current facts, nearest first, for `memory tidy`."""

    def due(self, first: str, last: str) -> tuple[Due, ...]:
        """Return what current facts say about the days from `first` to `last` (ISO, inclusive), in
        order."""

    def chart(self) -> Chart:
        """Return a chart of all facts, including superseded ones, laid out by meaning."""

    def upkeep(self) -> Upkept:
        """Move what MEMORY.md no longer needs: superseded facts, past appointments, duplicates,
        facts under the heading of a day long ago. One write, which `undo` reverses."""

    def check(self) -> tuple[Finding, ...]:
        """Return the faults of the journal, the index and the files, mended if possible."""

    def rebuild(self) -> MemoryStatus:
        """Drop the derived index and build it again from cached vectors."""

    def unowned(self, *, remove: bool = False) -> tuple[ServerCollection, ...]:
        """Return this program's collections on the Chroma server whose workspace or model is gone;
        `remove` deletes them.

        Raises MemoryFailure if no server is set, or it does not answer.
        """


# Whether the client still waits


class Abandoned(Exception):
    """The client has gone before its write began; nothing was written."""


_is_wanted: ContextVar[Callable[[], bool]] = ContextVar("is_wanted", default=lambda: True)


@contextlib.contextmanager
def wanted_by(is_wanted: Callable[[], bool]) -> Iterator[None]:
    """Run the block for a client; `is_wanted` returns whether the client still waits.

    A client that gives up while its write waits for a lock must not find it written later; a write
    that has begun is completed. Raises Abandoned at once if the client has gone already.
    """
    token = _is_wanted.set(is_wanted)
    try:
        check_wanted()
        yield
    finally:
        _is_wanted.reset(token)


def check_wanted() -> None:
    """Raise Abandoned if the client has gone; called just before a write begins."""
    if not _is_wanted.get()():
        raise Abandoned
