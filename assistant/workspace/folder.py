"""A workspace: the folder of markdown files that is the assistant's mind, and its paths."""

import os
from dataclasses import dataclass
from pathlib import Path

from assistant import config
from assistant.disk import storage
from assistant.errors import StorageError, WorkspaceError
from assistant.workspace import machine
from assistant.workspace.survey import Survey, copies, original_of, survey

ALWAYS_FILES = ("IDENTITY.md", "SOUL.md", "USER.md")
"""In the prompt whole, every turn."""
MEMORY_FILE = "MEMORY.md"
PROCEDURES_FILE = "AGENTS.md"
HEARTBEAT_FILE = "HEARTBEAT.md"
INDEXED_FILES = (MEMORY_FILE, PROCEDURES_FILE, HEARTBEAT_FILE)
"""Chunked and recalled; `memory/**/*.md` as well."""
PROCEDURE_FILES = (PROCEDURES_FILE, HEARTBEAT_FILE)
"""The ones of these that say what is to be done, and hold no facts."""
ARCHIVE = "memory/archive/"
"""The facts that were superseded or whose day has passed, a file a year."""


@dataclass(frozen=True, slots=True)
class Workspace:
    """The paths of a workspace. `root` is absolute, symbolic links resolved."""

    root: Path

    @property
    def private(self) -> Path:
        """`.assistant/`, mode 0700: what the program keeps about this workspace."""
        return self.root / storage.PRIVATE

    @property
    def identity(self) -> Path:
        """What the index belongs to, of all that is indexed on this machine."""
        return self.root

    @property
    def index(self) -> Path:
        """The derived index, of this machine alone. Deleting it loses nothing."""
        if machine.is_synced(self.root) or not machine.lives_here(self.private):
            return machine.own(config.cache_dir(), "index", self.root)
        return self.private / "index"

    @property
    def locks(self) -> Path:
        """Where this machine's processes keep one another out."""
        if machine.is_synced(self.root):
            return machine.own(config.state_dir(), "locks", self.root)
        return self.private

    @property
    def sessions_index(self) -> Path:
        """The derived index of past conversations; there once they were searched."""
        return self.index / "sessions"

    @property
    def sessions(self) -> Path:
        """One JSON-lines file a session."""
        return self.private / "sessions"

    @property
    def journal(self) -> Path:
        """Every memory write that this machine acknowledged, one a line."""
        return machine.journal(self.private)

    def journals_elsewhere(self) -> list[Path]:
        """The journals of other machines."""
        every = sorted(self.private.glob("journal*.jsonl"))
        return [path for path in every if path != self.journal and not original_of(path.name)]

    @property
    def ledger_lock(self) -> Path:
        """Held by whoever changes a memory file; an editor knows nothing of it."""
        return self.locks / "ledger.lock"

    @property
    def history(self) -> Path:
        """Images of what destructive writes removed."""
        return self.private / "history"

    @property
    def forgotten_key(self) -> Path:
        """The key of the digests by which forgotten lines are known again."""
        return self.private / "forgotten.key"

    @property
    def merged(self) -> Path:
        """Conflict copies whose facts were taken in."""
        return self.private / "merged"

    @property
    def checkpoints(self) -> Path:
        """What turns changed, as it was before."""
        return self.private / "checkpoints"

    @property
    def imported(self) -> Path:
        """Digests of what was imported, so that it is once."""
        return self.private / "imported.json"

    @property
    def new(self) -> Path:
        """Stands from `init` until the first chat."""
        return self.private / "new"

    @property
    def day(self) -> Path:
        """The day whose agenda a chat has mentioned."""
        return self.private / "day"

    @property
    def findings(self) -> Path:
        """What `doctor` found wrong, until the next chat has mentioned it."""
        return self.private / "findings"

    @property
    def recipe(self) -> Path:
        """The workspace's own settings of the prompt; optional."""
        return self.root / "assistant.toml"

    @property
    def skills(self) -> Path:
        """One folder a skill."""
        return self.root / "skills"

    def sources(self) -> list[str]:
        """The memory files there are, relative to the root in POSIX form, sorted."""
        return self.survey().sources

    def survey(self) -> Survey:
        """The memory files there are, and what else stands among them."""
        return survey(self.root, INDEXED_FILES)

    def copies(self) -> dict[str, str]:
        """The copies that syncing left of memory files: their names, and whose copies they are."""
        return copies(self.root, INDEXED_FILES)


def default_root() -> Path:
    """`ASSISTANT_WORKSPACE`, or `~/.assistant/workspace`."""
    chosen = os.environ.get(config.WORKSPACE)
    return Path(chosen).expanduser() if chosen else Path.home() / ".assistant" / "workspace"


def find(directory: Path | None = None) -> Workspace:
    """The workspace at `directory`, else the default one. Raises WorkspaceError."""
    root = directory or default_root()
    if not root.is_dir():
        raise WorkspaceError(f"there is no workspace at {root}", f"Run `assistant init {root}`")
    if not any((root / name).exists() for name in (*ALWAYS_FILES, *INDEXED_FILES)):
        raise WorkspaceError(
            f"{root} holds none of a workspace's files", f"Run `assistant init {root}`"
        )
    return Workspace(root.resolve())


def read_text(path: Path) -> str:
    """The text of a markdown file, a byte-order mark dropped, line ends as they are.

    Raises StorageError that says where it is no UTF-8 text; FileNotFoundError if it is missing.
    """
    data = storage.read(path)
    cure = "Save it as UTF-8 text, or move it out of the workspace"
    if (zero := data.find(b"\0")) >= 0:
        raise StorageError(f"{path} is not a text file: a zero byte at {zero}", cure)
    try:
        return data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise StorageError(f"{path} is not UTF-8 text: byte {error.start}", cure) from error


class Anchor:
    """Holds on to the folder at `root`, by what tells it from any other."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._identity = _identity(root)

    def check(self) -> None:
        """Raise StorageError if another folder stands there, or none."""
        if _identity(self._root) != self._identity:
            raise StorageError(
                f"{self._root} is another folder than the one that was opened",
                "Begin anew; if it was moved, name its new place with -w",
            )


def _identity(path: Path) -> tuple[int, int]:
    """Zeros if there is none."""
    try:
        status = path.stat()
    except OSError:
        return 0, 0
    return status.st_dev, status.st_ino
