"""The values that memory takes and gives: what the rest of the program knows of it.

Imports nothing heavy: the command-line client lives on these, the protocol and the wire alone.
"""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeVar

from assistant.memory import annotations
from assistant.messages import estimate_tokens
from assistant.workspace.folder import PROCEDURE_FILES

Status = Literal["current", "superseded"]
FACTS = "memory"
SESSIONS = "sessions"
"""What a query is `within` that asks past conversations; such a passage has a session for its
`source`, and the number of a turn for its lines."""
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
    byte-order mark is not counted). `plain` is what it says without markup, or used to say if it is
    struck out. Lines are 1-based and inclusive. `date` (ISO) is when it was recorded; `mentions`
    are the ISO dates its text speaks of. `signals` holds each ranking signal's share of `score`.
    `origin` is who recorded it, as the journal knows.
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
        """`file:line`, the place to open in an editor."""
        return f"{self.source}:{self.start_line}"

    @property
    def shown(self) -> str:
        """The text as it is shown: without the comments that say something of it."""
        return annotations.without(self.text)

    @property
    def tokens(self) -> int:
        """What the passage costs of a budget."""
        return estimate_tokens(self.shown)


@dataclass(frozen=True, slots=True)
class Query:
    """What to recall. The tighter of `k` passages and `budget` tokens ends the list.

    None takes the setting. `as_of` (ISO date) answers from what was recorded by that day.
    `include_superseded` is `--all`. `why` asks for near misses below the cut. For a `turn` of a
    conversation only what bears on it is listed, and at least the nearest. `verbatim` is for the
    owner's own eyes: passages say secrets as their files do.

    A turn of a conversation also says what the owner said `before`, on which the text may lean;
    which source has so many places of its `own`, whatever else is found; and which sources to leave
    out since they are in the prompt already.

    `within` asks one thing in the place of all: the owner's facts (`FACTS`), past conversations
    (`SESSIONS`), or the notes of this name.
    """

    text: str
    k: int | None = None
    budget: int | None = None
    as_of: str | None = None
    include_superseded: bool = False
    why: bool = False
    turn: bool = False
    before: str = ""
    own: tuple[str, int] | None = None
    without: tuple[str, ...] = ()
    verbatim: bool = False
    within: str = ""


@dataclass(frozen=True, slots=True)
class Recall:
    """The passages found, best first, and their tokens together.

    `weak`: they are only the nearest; nothing stands out that bears on a turn. `notices` say what
    could not be looked at; `behind` are the files that were not looked at as they are now, since
    they are being indexed.
    """

    query: str
    tokens: int
    passages: tuple[Passage, ...]
    near_misses: tuple[Passage, ...] = ()
    weak: bool = False
    notices: tuple[str, ...] = ()
    behind: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[Passage]:
        return iter(self.passages)

    @property
    def caveat(self) -> str:
        """What a model has to know of what was found, or that nothing was."""
        return "Part of memory is still being indexed: there may be more." if self.behind else ""


@dataclass(frozen=True, slots=True)
class Located:
    """The facts that a target names, best first.

    `exact`: they have this id, stand on this line, or say just these words. Otherwise they only
    hold the words, or are like them, and nobody may take them away unasked.
    """

    passages: tuple[Passage, ...]
    exact: bool = False


@dataclass(frozen=True, slots=True)
class Origin:
    """Who a fact comes from: `kind` is an open set (owner, assistant, tool, mcp:NAME, …).

    A fact captured from a conversation cites its session and the entries it came from.
    """

    kind: str = "owner"
    session: str | None = None
    entries: tuple[str, ...] = ()


Secrets = Literal["tell", "ask", "keep"]
"""What becomes of a fact that holds secrets. `keep`: it is written as it is. `ask`: nothing is
written. `tell`: what only looks like a secret is written as it is and told of; what is certainly
one, since the owner registered it or the environment has it, keeps the fact from being written."""


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret in the text of a fact, from its first character to its end.

    `kind` says what it looks like; if it is `certain`, by which name it is known.
    """

    start: int
    end: int
    kind: str
    certain: bool = False


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact to be written as one list item under `## {section} -- {today}`.

    `replaces` names the fact it supersedes, as an id or `FILE:LINE`. What was written one after the
    other under one name of `together` is undone as one. One that `waits` is read by the owner
    before it is memory, whoever it comes from. One that was `recorded` elsewhere (ISO date) keeps
    that day. `under` is a heading of the owner's in MEMORY.md (`People › Lena`) to write it under
    instead, with its day in a comment; "" asks for the heading that fits. `matters_for` are the
    occasions that it is found for, kept in a comment; without any, those of what it replaces.
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


@dataclass(frozen=True, slots=True)
class Mark:
    """What the line of a fact shall say of it in comments (`annotations.py`); None leaves that as
    it is. `core` is "core", "not core" or "", `matters_for` the occasions that it is found for."""

    passage: Passage
    core: str | None = None
    matters_for: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Existing:
    """The facts nearest to some texts, those nearest to each first; and the owner's headings in
    MEMORY.md, each as its path: `People › Lena`."""

    passages: tuple[Passage, ...] = ()
    headings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Upkept:
    """How many facts a day's upkeep moved: into the archive, and to where they belong."""

    archived: int = 0
    sorted: int = 0


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
    `secret`: nothing was written because of the `secrets` in `text`, which is the fact as it was
    given; without `secret` they are what only looks like one, and stand in the file as given.
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
    """What was removed, and from where; `entry` is the journal entry that `undo` reverses.

    `cleared` are the stores that a purge took words out of, as `stores.py` names them; `left` is
    where the words still stand that are not its own to take, each with the command that removes it.
    """

    entry: str
    removed: tuple[Passage, ...]
    purged: bool = False
    cleared: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


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
class Due:
    """A day or a span (ISO, both included) that a current fact speaks of, and the fact.

    `time` is `18:40`, or empty. What comes round has an RRULE as `rule`, in words in `rhythm`, and
    `years` if a year is known that a yearly day is counted from.
    """

    start: str
    end: str
    passage: Passage
    time: str = ""
    rule: str = ""
    rhythm: str = ""
    years: int = 0


@dataclass(frozen=True, slots=True)
class Topic:
    """Facts that lie together, by the words that tell them from others; a disk on the plane."""

    name: str
    x: float
    y: float
    radius: float


@dataclass(frozen=True, slots=True)
class Charted:
    """A fact in its topic. `until` is the day it was struck
    out (ISO), `near` the places of the facts nearest to it in the chart, nearest first."""

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
    uptime_s: float


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """The Chroma server that is set: how many vectors it has not got, as far as can be known, and
    why it is not asked at present, if so."""

    url: str
    lacks: int
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class ServerCollection:
    """The vectors of one workspace by one model on a Chroma server."""

    name: str
    vectors: int


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
    server: ServerStatus | None = None
    notes: tuple[NotesStatus, ...] = ()

    @property
    def facts(self) -> int:
        """Its chunks but for procedures and tasks, as the map has them."""
        return sum(source.chunks for source in self.sources if source.source not in PROCEDURE_FILES)


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that a check of memory found wrong: in the journal, the index or a file.

    What is not `mended` is left to the owner.
    """

    part: Literal["journal", "index", "file"]
    what: str
    mended: bool


class Costing(Protocol):
    """What costs tokens of a budget."""

    @property
    def tokens(self) -> int: ...


_C = TypeVar("_C", bound=Costing)


def fill(found: Sequence[_C], k: int, budget: int) -> tuple[list[_C], list[_C]]:
    """The best that fit, at most `k`, and the others. What does not fit any more is passed over."""
    taken: list[_C] = []
    others: list[_C] = []
    left = budget
    for item in found:
        if len(taken) < k and item.tokens <= left:
            taken.append(item)
            left -= item.tokens
        else:
            others.append(item)
    return taken, others


# Whether the client still waits


class Abandoned(Exception):
    """The client has gone before its write began; nothing was written."""


_is_wanted: ContextVar[Callable[[], bool]] = ContextVar("is_wanted", default=lambda: True)


@contextlib.contextmanager
def wanted_by(is_wanted: Callable[[], bool]) -> Iterator[None]:
    """Do the block for a client; `is_wanted` tells whether it still waits.

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
    """Raise Abandoned if the client has gone: called just before a write begins."""
    if not _is_wanted.get()():
        raise Abandoned
