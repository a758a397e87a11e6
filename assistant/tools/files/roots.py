"""Where file tools may go: the workspace, added directories, and what is closed inside them."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path

from assistant.config import cache_dir, config_file, state_dir
from assistant.settings.sections import PolicySettings
from assistant.tools.places import EXECUTED, KEYS
from assistant.tools.rules import Rules, folded
from assistant.workspace.folder import ALWAYS_FILES, INDEXED_FILES, Workspace

STEERING = (*ALWAYS_FILES, *INDEXED_FILES, "memory", "skills", "assistant.toml")
"""Files that steer or remember, by their first name below the workspace."""
GIT = (".git", "HEAD")
"""What makes a directory a repository (`HEAD` a bare one), whose files git obeys."""


class Roots:
    """The workspace, the directories that the owner added, and the owner's rules for them.

    `kept` directories, which hold skills, can be read like the others, but every change to them
    needs approval. `steering` names more files of the workspace that steer; `notes` maps the names
    by which recall cites the owner's notes to their folders.

    Closed within them are the program's own directories (`.assistant/`, its configuration with the
    secrets, its state with the record of trust, its cache with the models it runs), and the
    locations of keys in a home directory.
    """

    def __init__(
        self,
        workspace: Workspace,
        added: Sequence[Path] = (),
        policy: PolicySettings | None = None,
        kept: Sequence[Path] = (),
        steering: Sequence[str] = (),
        notes: Mapping[str, Path] | None = None,
    ) -> None:
        self._policy = policy
        self._notes = notes or {}
        self._steering = tuple(dict.fromkeys((*STEERING, *steering)))
        self.workspace = workspace
        self._kept = tuple(path.resolve() for path in kept)
        self.directories = (workspace.root, *(path.resolve() for path in added), *self._kept)
        self.rules = Rules(policy, self.directories)
        own_directories = (config_file().parent, state_dir(), cache_dir())
        self.private = (
            workspace.private,
            *(path.resolve() for path in own_directories),
            *(key for key in _keys() if not self._was_added(key)),
        )
        self._closed = [_prefix(path) for path in self.private]

    def guarded(self, path: str | Path) -> bool:
        """Return whether a real path steers or remembers, or is executed by other programs."""
        return bool(self.executed(path)) or _within(path, map(_prefix, self.guards()))

    def remembers(self, path: str | Path) -> bool:
        """Return whether a real path is one of the workspace's files that steer or remember."""
        return _within(path, (_prefix(self.workspace.root / name) for name in self._steering))

    def executed(self, path: str | Path) -> str:
        """Return the name in a real path below a root that other programs execute; else empty."""
        below = (
            Path(path).relative_to(r) for r in self.directories if Path(path).is_relative_to(r)
        )
        names = {folded(name): name for path in below for name in path.parts}
        return next((names[key] for key in (".git", *EXECUTED) if key in names), "")

    def guards(self) -> list[Path]:
        """Return the files and directories, existing or not, whose change always needs approval."""
        return [
            *(self.workspace.root / name for name in self._steering),
            *(root / name for root in self.directories for name in (*GIT, *EXECUTED)),
            *self._kept,
        ]

    def closed(self, path: str | Path) -> bool:
        """Return whether a real path belongs to the program itself, or holds keys."""
        return _within(path, self._closed)

    def denies(self, tool: str, source: str) -> bool:
        """Return whether a file that recall cites is denied to a tool, as spelled or as resolved.

        For notes, a rule's relative paths are relative to their folder.
        """
        name, _, note = source.partition(":")
        folder = self._notes.get(name) if note else None
        rules, unresolved = (
            (self._rules_of_notes, folder / note)
            if folder
            else (self.rules, self.workspace.root / source)
        )
        denied = rules.denied(tool)
        return any(
            denied.holds(str(path), directory=False) for path in (unresolved, unresolved.resolve())
        )

    @cached_property
    def _rules_of_notes(self) -> Rules:
        return Rules(self._policy, tuple(self._notes.values()))

    def shown(self, path: str | Path) -> str:
        """Return a real path as the model sees it: relative to the workspace if inside it."""
        text, root = str(path), str(self.workspace.root)
        return "." if text == root else text.removeprefix(f"{root}/")

    def _was_added(self, key: Path) -> bool:
        return any(root.is_relative_to(key) for root in self.directories)


def _keys() -> list[Path]:
    return [(Path.home() / name).resolve() for name in KEYS]


def _within(path: str | Path, prefixes: Iterable[str]) -> bool:
    """Return whether a path is one of those or below it, ignoring case as some disks do."""
    return f"{folded(str(path))}/".startswith(tuple(prefixes))


def _prefix(path: Path) -> str:
    return f"{folded(str(path)).rstrip('/')}/"
