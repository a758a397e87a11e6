"""How memory stands: what is indexed, by whom, on which server, and what is wrong with it."""

from dataclasses import dataclass
from typing import Literal

from assistant.workspace.folder import PROCEDURE_FILES


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
    """The vectors of one workspace by one model on a Chroma server.

    `owner` is whose they are, as far as can be told from here: `this` memory's, another workspace's
    (`theirs`), `nobody` has that workspace or model any more, or it is `unknown`.
    """

    name: str
    workspace: str
    vectors: int
    owner: Literal["this", "theirs", "nobody", "unknown"]


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
        return sum(each.chunks for each in self.sources if each.source not in PROCEDURE_FILES)


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that a check of memory found wrong: in the journal, the index or a file.

    What is not `mended` is left to the owner.
    """

    part: Literal["journal", "index", "file"]
    what: str
    mended: bool
