"""A workspace: the folder of the assistant's markdown files, and its paths."""

import os
import re
import shlex
import stat
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path

from assistant import config
from assistant.disk import storage
from assistant.display import exactly, shortened
from assistant.errors import StorageError, UsageError, WorkspaceError
from assistant.workspace import machine

ALWAYS_FILES = ("IDENTITY.md", "SOUL.md", "USER.md")
"""Files that are in every prompt in full."""
MEMORY_FILE = "MEMORY.md"
PROCEDURES_FILE = "AGENTS.md"
HEARTBEAT_FILE = "HEARTBEAT.md"
BOOTSTRAP_FILE = "BOOTSTRAP.md"
"""Instructions for the first conversation; optional."""
APPENDING = ".append"
"""The lock in the sessions folder that is needed to append to any session."""
PROMPTS = ".prompts"
"""Suffix of the files next to transcripts that hold the prompts sent."""
PICTURES = ".pictures"
"""Suffix of the folders next to transcripts that hold their pictures."""
INDEXED_FILES = (MEMORY_FILE, PROCEDURES_FILE, HEARTBEAT_FILE)
"""Files that are chunked and recalled, along with `memory/**/*.md`."""
PROCEDURE_FILES = (PROCEDURES_FILE, HEARTBEAT_FILE)
"""Those of these files that contain instructions, not facts."""
ARCHIVE = "memory/archive/"
"""Superseded and outdated facts, one file per year."""


class _Private:
    """A path in the private folder of a workspace."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, workspace: "Workspace", owner: type) -> Path:
        return workspace.private / self._name


@dataclass(frozen=True, slots=True)
class Workspace:
    """The paths of a workspace. `root` is absolute, symbolic links resolved."""

    root: Path

    sessions = _Private("sessions")
    """One JSON-lines file per session."""
    history = _Private("history")
    """Copies of text removed by destructive writes."""
    forgotten_key = _Private("forgotten.key")
    """The key of the digests that identify forgotten lines."""
    merged = _Private("merged")
    """Conflict copies whose facts were merged."""
    checkpoints = _Private("checkpoints")
    """Files as they were before turns changed them."""
    imported = _Private("imported.json")
    """Digests of imported items, so that each is imported once."""
    new = _Private("new")
    """A marker that exists from `init` until the first chat."""
    day = _Private("day")
    """The day whose agenda a chat has mentioned, and its notes about waiting items."""

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
        """This machine's derived index, which can be rebuilt."""
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
        """The derived index of past conversations, which the first search creates."""
        return self.index / "sessions"

    @property
    def journal(self) -> Path:
        """The journal of every memory write that this machine acknowledged, one per line."""
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
    def recipe(self) -> Path:
        """The workspace's own prompt settings; optional."""
        return self.root / "assistant.toml"

    @property
    def skills(self) -> Path:
        """The folder that holds one folder per skill."""
        return self.root / "skills"

    def text(self, name: str) -> str:
        """Return the text of a file, like `read_text`; empty if it is missing."""
        try:
            return read_text(self.root / name)
        except FileNotFoundError:
            return ""

    def sources(self) -> list[str]:
        """Return the existing memory files, relative to the root in POSIX form, sorted."""
        return self.survey().sources

    def survey(self) -> "Survey":
        """Find the memory files: those at the top level, and markdown below `memory/`.

        Links to directories are not followed. Ten times as fast as `Path.rglob`, since it runs
        before each recall.
        """
        result = Survey()
        for name in INDEXED_FILES:
            _classify(result, name, f"{self.root}/{name}")
        with suppress(OSError):
            for name in sorted(os.listdir(self.root)):  # noqa: PTH208
                if name not in INDEXED_FILES and original_of(name) in INDEXED_FILES:
                    result.reject_copy(name)
        pending = ["memory"]
        while pending:
            pending += _survey_folder(result, f"{self.root}/", pending.pop())
        result.sources.sort()
        return result

    def put_bootstrap_away(self, session: str) -> str:
        """Move BOOTSTRAP.md away after this session has followed it; return a notice for the owner.

        Return "" if there is none.
        """
        path = self.root / BOOTSTRAP_FILE
        archived = self.private / f"bootstrap-{session}.md"
        if not path.is_file():
            return ""
        try:
            path.rename(archived)
        except OSError as error:
            return f"{BOOTSTRAP_FILE} cannot be moved away: {error.strerror}; remove it yourself"
        return f"{BOOTSTRAP_FILE} was carried out; it is kept as .assistant/{archived.name}"

    def copies(self) -> dict[str, str]:
        """Return the sync conflict copies of memory files, each with its original."""
        return dict(sorted(self.survey().copies.items()))


def default_root() -> Path:
    """Return `ASSISTANT_WORKSPACE`, or `~/.assistant/workspace`."""
    chosen = os.environ.get(config.WORKSPACE)
    return storage.expanded(chosen) if chosen else Path.home() / ".assistant" / "workspace"


def command_for(root: Path) -> str:
    """Return the command that runs `assistant` for a workspace: with `-w`, unless it is the default
    one."""
    is_default = root.resolve() == default_root().resolve()
    return "assistant" if is_default else f"assistant -w {shlex.quote(str(root))}"


def path_of(text: str) -> Path:
    """Return the path that an argument names. Raises UsageError if it is empty."""
    if not text.strip():
        raise UsageError("the path is empty", "Give one; `.` is the current folder")
    return Path(text)


def find(directory: Path | None = None) -> Workspace:
    """Return the workspace at `directory`, otherwise the default one. Raises WorkspaceError."""
    root = directory or default_root()
    if not root.is_dir():
        raise WorkspaceError(f"there is no workspace at {root}", f"Run `assistant init {root}`")
    if not any((root / name).exists() for name in (*ALWAYS_FILES, *INDEXED_FILES)):
        raise WorkspaceError(f"{root} contains no workspace files", f"Run `assistant init {root}`")
    return Workspace(root.resolve())


def read_text(path: Path) -> str:
    """Return the text of a markdown file without a byte-order mark, keeping its line endings.

    Raises StorageError if it is not UTF-8 text, and FileNotFoundError if it is missing.
    """
    data = storage.read(path)
    if fault := storage.text_fault(data):
        raise StorageError(f"{path} is not UTF-8 text: {fault}", "Save it as UTF-8")
    return data.decode().removeprefix("\ufeff")


class Anchor:
    """Remembers the identity of `root`, to notice when another folder replaces it."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._identity = identity(root)

    def check(self) -> None:
        """Raise StorageError if the folder was replaced or removed."""
        if identity(self._root) != self._identity:
            raise StorageError(
                f"{self._root} is no longer the folder that was opened",
                "Start again; if the workspace was moved, give its new path with -w",
            )


def identity(path: Path) -> tuple[int, int]:
    """Return device and inode of a folder, the same for every path to it; zeros if it is
    unreadable."""
    try:
        status = path.stat()
    except OSError:
        return 0, 0
    return status.st_dev, status.st_ino


# The memory files, and sync conflict copies of them

_COPY_MARKS = ("confli", "konflikt")
"""Every copy's name contains one of these."""
KEPT = 8192
"""Maximum number of cached names: each is looked up before every recall."""
_LEFTOVER_SUFFIXES = (".orig", ".rej")
"""Suffixes of files that git and patch leave."""


@cache
def _patterns() -> "dict[str, re.Pattern[str]]":
    from assistant.tables import patterns, table_of  # a warm recall needs none

    return patterns(table_of(__file__))


@lru_cache(KEPT)
def original_of(name: str) -> str | None:
    """Return the name of the file that this one is a copy of, or None."""
    folder, slash, own = name.rpartition("/")
    if own.endswith(_LEFTOVER_SUFFIXES):
        return f"{folder}{slash}{own.rpartition('.')[0]}"
    if own.startswith("MEMORY") and _patterns()["of_memory"].fullmatch(name):
        return "MEMORY.md"
    lowered = own.lower()
    if _COPY_MARKS[0] not in lowered and _COPY_MARKS[1] not in lowered:  # true of most files
        return None
    match = _patterns()["copy"].fullmatch(own)
    return f"{folder}{slash}{match['stem'].rstrip()}{match['ending'] or ''}" if match else None


@dataclass(frozen=True, slots=True)
class Survey:
    """The memory files of a workspace, sorted; problems with other entries, by name; and the sync
    conflict copies, each with its original."""

    sources: list[str] = field(default_factory=list)
    odd: dict[str, str] = field(default_factory=dict)
    copies: dict[str, str] = field(default_factory=dict)

    def reject(self, name: str, reason: str) -> None:
        """Record a problem with an entry."""
        self.odd[shortened(name, 100).encode("utf-8", "backslashreplace").decode()] = reason

    def reject_copy(self, name: str) -> None:
        """Record that an entry is a sync conflict copy, if it is one of a memory file."""
        original = original_of(name) or ""
        if original.lower().endswith(".md"):
            self.copies[name] = original
            self.reject(
                name, f"is a conflict copy of {original}; `assistant memory merge` merges its facts"
            )


DEEPEST = 64
"""Maximum depth of nested folders that are searched."""


def _survey_folder(result: Survey, root: str, directory: str) -> list[str]:
    """Survey one directory, and return its subdirectories."""
    folders: list[str] = []
    try:
        with os.scandir(root + directory) as entries:
            for entry in entries:
                name = f"{directory}/{entry.name}"
                if entry.is_dir(follow_symlinks=False):
                    if name.count("/") > DEEPEST:
                        result.reject(name, f"is more than {DEEPEST} folders deep")
                    elif _is_citable(result, name):
                        folders.append(name)
                elif original_of(name) is not None:
                    result.reject_copy(name)
                elif not name.lower().endswith(".md"):
                    continue
                elif entry.is_file(follow_symlinks=False):  # saves a system call
                    if _is_citable(result, name):
                        result.sources.append(name)
                else:
                    _classify(result, name, entry.path)
    except (FileNotFoundError, NotADirectoryError):
        pass  # removed meanwhile
    except OSError as error:
        result.reject(directory, f"cannot be read: {error.strerror}")
    return folders


def _classify(result: Survey, name: str, path: str) -> None:
    """Add the entry if it is a regular file. It is not opened, since a pipe would block."""
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116
    except (FileNotFoundError, NotADirectoryError):
        return  # or a dangling link
    except OSError as error:
        return result.reject(name, f"is a broken link: {error.strerror}")
    if not stat.S_ISREG(mode):
        result.reject(name, "is not a file")
    elif _is_citable(result, name):
        result.sources.append(name)


def _is_citable(result: Survey, name: str) -> bool:
    """Return whether a name can be cited: it is UTF-8 (other bytes become lone surrogates) and has
    no line break."""
    if len(name.splitlines()) > 1:
        result.reject(exactly(name), "has a line break in its name; rename it")
        return False
    try:
        name.encode()
    except UnicodeEncodeError:
        result.reject(name, "has a name that is not UTF-8; rename it")
        return False
    return True
