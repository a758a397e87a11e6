"""A workspace: the folder of the assistant's markdown files, and its paths."""

import os
from dataclasses import dataclass
from pathlib import Path

from assistant import config
from assistant.disk import storage
from assistant.errors import StorageError, WorkspaceError
from assistant.workspace import machine
from assistant.workspace.survey import Survey, copies, original_of, survey

ALWAYS_FILES = ("IDENTITY.md", "SOUL.md", "USER.md")
"""Files that are in every prompt as a whole."""
MEMORY_FILE = "MEMORY.md"
PROCEDURES_FILE = "AGENTS.md"
HEARTBEAT_FILE = "HEARTBEAT.md"
APPENDING = ".append"
"""The lock in the folder of sessions under which anything is added to one."""
INDEXED_FILES = (MEMORY_FILE, PROCEDURES_FILE, HEARTBEAT_FILE)
"""Files that are chunked and recalled, along with `memory/**/*.md`."""
PROCEDURE_FILES = (PROCEDURES_FILE, HEARTBEAT_FILE)
"""Those of these files that hold instructions, not facts."""
ARCHIVE = "memory/archive/"
"""Superseded and outdated facts, one file a year."""


@dataclass(frozen=True, slots=True)
class Workspace:
    """The paths of a workspace. `root` is absolute, symbolic links resolved."""

    root: Path

    @property
    def private(self) -> Path:
        """`.assistant/`, mode 0700: the program's data about this workspace."""
        return self.root / storage.PRIVATE

    @property
    def identity(self) -> Path:
        """The key of this workspace's index among all indexes on this machine."""
        return self.root

    @property
    def index(self) -> Path:
        """The derived index of this machine, which can be rebuilt."""
        if machine.is_synced(self.root) or not machine.lives_here(self.private):
            return machine.own(config.cache_dir(), "index", self.root)
        return self.private / "index"

    @property
    def locks(self) -> Path:
        """The folder of locks between this machine's processes."""
        if machine.is_synced(self.root):
            return machine.own(config.state_dir(), "locks", self.root)
        return self.private

    @property
    def sessions_index(self) -> Path:
        """The derived index of past conversations, created by the first search."""
        return self.index / "sessions"

    @property
    def sessions(self) -> Path:
        """One JSON-lines file per session."""
        return self.private / "sessions"

    @property
    def journal(self) -> Path:
        """Every memory write that this machine acknowledged, one per line."""
        return machine.journal(self.private)

    def journals_elsewhere(self) -> list[Path]:
        """Return the journals of other machines."""
        every = sorted(self.private.glob("journal*.jsonl"))
        return [path for path in every if path != self.journal and not original_of(path.name)]

    @property
    def ledger_lock(self) -> Path:
        """The lock for changing a memory file; editors do not know it."""
        return self.locks / "ledger.lock"

    @property
    def history(self) -> Path:
        """Copies of what destructive writes removed."""
        return self.private / "history"

    @property
    def forgotten_key(self) -> Path:
        """The key of the digests that identify forgotten lines."""
        return self.private / "forgotten.key"

    @property
    def merged(self) -> Path:
        """Conflict copies whose facts were merged."""
        return self.private / "merged"

    @property
    def checkpoints(self) -> Path:
        """Files as they were before turns changed them."""
        return self.private / "checkpoints"

    @property
    def imported(self) -> Path:
        """Digests of imported items, so that each is imported once."""
        return self.private / "imported.json"

    @property
    def new(self) -> Path:
        """A marker that exists from `init` until the first chat."""
        return self.private / "new"

    @property
    def day(self) -> Path:
        """The day whose agenda a chat has already mentioned."""
        return self.private / "day"

    @property
    def findings(self) -> Path:
        """Problems found by `doctor`, until the next chat has mentioned them."""
        return self.private / "findings"

    @property
    def recipe(self) -> Path:
        """The workspace's own prompt settings; optional."""
        return self.root / "assistant.toml"

    @property
    def skills(self) -> Path:
        """One folder per skill."""
        return self.root / "skills"

    def sources(self) -> list[str]:
        """Return the existing memory files, relative to the root in POSIX form, sorted."""
        return self.survey().sources

    def survey(self) -> Survey:
        """Survey the memory files and the other entries among them."""
        return survey(self.root, INDEXED_FILES)

    def copies(self) -> dict[str, str]:
        """Return the sync conflict copies of memory files, each with its original."""
        return copies(self.root, INDEXED_FILES)


def default_root() -> Path:
    """Return `ASSISTANT_WORKSPACE`, or `~/.assistant/workspace`."""
    chosen = os.environ.get(config.WORKSPACE)
    return Path(chosen).expanduser() if chosen else Path.home() / ".assistant" / "workspace"


def find(directory: Path | None = None) -> Workspace:
    """Return the workspace at `directory`, else the default one. Raises WorkspaceError."""
    root = directory or default_root()
    if not root.is_dir():
        raise WorkspaceError(f"there is no workspace at {root}", f"Run `assistant init {root}`")
    if not any((root / name).exists() for name in (*ALWAYS_FILES, *INDEXED_FILES)):
        raise WorkspaceError(
            f"{root} holds none of a workspace's files", f"Run `assistant init {root}`"
        )
    return Workspace(root.resolve())


def read_text(path: Path) -> str:
    """Return the text of a markdown file without a byte-order mark, keeping its line ends.

    Raises StorageError if it is not UTF-8 text, and FileNotFoundError if it is missing.
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
    """Remembers which folder `root` is, to notice when another takes its place."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._identity = _identity(root)

    def check(self) -> None:
        """Raise StorageError if the folder was replaced or removed."""
        if _identity(self._root) != self._identity:
            raise StorageError(
                f"{self._root} is another folder than the one that was opened",
                "Begin anew; if it was moved, name its new place with -w",
            )


def _identity(path: Path) -> tuple[int, int]:
    """Return device and inode; zeros if the path does not exist."""
    try:
        status = path.stat()
    except OSError:
        return 0, 0
    return status.st_dev, status.st_ino
