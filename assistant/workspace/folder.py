"""A workspace: the folder of markdown files that is the assistant's mind, and its paths."""

import os
import stat
from dataclasses import dataclass, field
from pathlib import Path

from assistant import config
from assistant.disk import storage
from assistant.errors import StorageError, WorkspaceError
from assistant.workspace import machine
from assistant.workspace.copies import original_of

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
DEEPEST = 64
"""So many folders inside one another are looked through below `memory/`."""
LONGEST_NAME = 100
"""Characters of a name that are shown."""


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

    def survey(self) -> "Survey":
        """The memory files there are, and what stands among them and is none."""
        found = Survey([], {}, [""])
        for name in INDEXED_FILES:
            _judge(found, name, f"{self.root}/{name}")
        for name in self._top_copies():
            _leave_copy(found, name)
        _look_through(found, f"{self.root}/", "memory")
        found.sources.sort()
        return found

    def copies(self) -> dict[str, str]:
        """The copies that syncing left of memory files: their names, and whose copies they are."""
        found = {name: original_of(name) or "" for name in self._top_copies()}
        for path in (self.root / "memory").rglob("*"):
            name = path.relative_to(self.root).as_posix()
            original = original_of(name)
            if original and original.endswith(".md") and path.is_file():
                found[name] = original
        return dict(sorted(found.items()))

    def _top_copies(self) -> list[str]:
        try:
            names = os.listdir(self.root)  # noqa: PTH208
        except OSError:
            return []
        likely = [name for name in names if name not in INDEXED_FILES]
        return sorted(name for name in likely if original_of(name) in INDEXED_FILES)


@dataclass(frozen=True, slots=True)
class Survey:
    """The memory files of a workspace, sorted, what is wrong with other entries, by name, and the
    folders that were looked into."""

    sources: list[str]
    odd: dict[str, str]
    folders: list[str] = field(default_factory=list)


def _look_through(found: Survey, root: str, top: str) -> None:
    """Survey the markdown files below a directory; links to directories are not followed.

    Ten times as fast as `Path.rglob`: it is asked before each recall.
    """
    waiting = [top]
    while waiting:
        found.folders.append(waiting.pop())
        waiting += _look_into(found, root, found.folders[-1])


def _look_into(found: Survey, root: str, directory: str) -> list[str]:
    """Survey one directory; those in it that are worth a look."""
    folders: list[str] = []
    try:
        with os.scandir(root + directory) as entries:
            for entry in entries:
                name = f"{directory}/{entry.name}"
                if entry.is_dir(follow_symlinks=False):
                    folders += [name] if _is_fit(found, name) else []
                elif name.endswith((".md", ".orig")):
                    _look_at(found, name, entry)
    except (FileNotFoundError, NotADirectoryError):
        pass  # it has just gone
    except OSError as error:
        _reject(found, directory, f"cannot be read: {error.strerror}")
    return folders


def _look_at(found: Survey, name: str, entry: "os.DirEntry[str]") -> None:
    if original_of(name) is not None:
        _leave_copy(found, name)
    elif name.endswith(".orig"):
        return
    elif entry.is_file(follow_symlinks=False) and entry.name.isascii():
        found.sources.append(name)  # without a system call more
    else:
        _judge(found, name, entry.path)


def _is_fit(found: Survey, directory: str) -> bool:
    """Whether a directory is worth a look."""
    if not _is_utf8(directory):
        _reject(found, directory, "has a name that is not UTF-8; rename it")
    elif directory.count("/") > DEEPEST:
        _reject(found, directory, f"lies more than {DEEPEST} folders deep")
    else:
        return True
    return False


def _leave_copy(found: Survey, name: str) -> None:
    _reject(
        found,
        name,
        f"is a copy that syncing left of {original_of(name)}; `assistant memory merge` takes its "
        "facts in",
    )


def _judge(found: Survey, name: str, path: str) -> None:
    """Take what is a file; nothing is opened for that: a pipe would wait for ever."""
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116
    except (FileNotFoundError, NotADirectoryError):
        return  # or a link that leads nowhere
    except OSError as error:
        return _reject(found, name, f"leads nowhere: {error.strerror}")
    if not stat.S_ISREG(mode):
        _reject(found, name, "is no file")
    elif not _is_utf8(name):
        _reject(found, name, "has a name that is not UTF-8; rename it")
    else:
        found.sources.append(name)


def _reject(found: Survey, name: str, why: str) -> None:
    shown = name if len(name) <= LONGEST_NAME else f"{name[:LONGEST_NAME]}…"
    found.odd[shown.encode("utf-8", "backslashreplace").decode()] = why


def _is_utf8(name: str) -> bool:
    """Whether a name that the system gave is text: other bytes are lone surrogates in it."""
    if name.isascii():
        return True
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


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
