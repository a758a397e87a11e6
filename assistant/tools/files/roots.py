"""Where file tools may be: the workspace, the directories added to it, and what is closed there."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path

from assistant.config import cache_dir, config_file, state_dir
from assistant.settings.sections import PolicySettings
from assistant.tools.places import EXECUTED, KEYS
from assistant.tools.rules import Rules, folded
from assistant.workspace.folder import ALWAYS_FILES, INDEXED_FILES, Workspace

STEERING = (*ALWAYS_FILES, *INDEXED_FILES, "memory", "skills", "assistant.toml")
"""What steers or remembers, by its first name below the workspace."""
GIT = (".git", "HEAD")
"""What makes a directory a repository, `HEAD` a bare one: git does there what its files say."""


class Roots:
    """The workspace and the directories the owner added, and what the owner's rules are there.

    What is `kept` can be read as they can, and its change always asks: folders of skills.
    `steering` names more files of the workspace that steer; `notes` are the folders of the owner's
    notes by what recall cites them as.

    Closed within them are the program's own directories (`.assistant/`, its configuration with
    the secrets, its state with the record of trust, its cache with the models it runs), and the
    places of keys in a home.
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
        own = (config_file().parent, state_dir(), cache_dir())
        self.private = (
            workspace.private,
            *(path.resolve() for path in own),
            *(key for key in _keys() if not self._was_added(key)),
        )
        self._closed = [_prefix(path) for path in self.private]

    def guarded(self, path: str | Path) -> bool:
        """Whether a real path is of those that steer or remember, or that others execute."""
        return bool(self.executed(path)) or _within(path, map(_prefix, self.guards()))

    def remembers(self, path: str | Path) -> bool:
        """Whether a real path is of the workspace's files that steer or remember."""
        return _within(path, (_prefix(self.workspace.root / name) for name in self._steering))

    def executed(self, path: str | Path) -> str:
        """The name in a real path, wherever below a root, that others execute; else empty."""
        below = (
            Path(path).relative_to(r) for r in self.directories if Path(path).is_relative_to(r)
        )
        names = {folded(name): name for each in below for name in each.parts}
        return next((names[each] for each in (".git", *EXECUTED) if each in names), "")

    def guards(self) -> list[Path]:
        """The files and directories, there or not, whose change always asks."""
        return [
            *(self.workspace.root / name for name in self._steering),
            *(root / name for root in self.directories for name in (*GIT, *EXECUTED)),
            *self._kept,
        ]

    def closed(self, path: str | Path) -> bool:
        """Whether a real path belongs to the program itself, or holds keys."""
        return _within(path, self._closed)

    def denies(self, tool: str, source: str) -> bool:
        """Whether a file that recall cites is denied to a tool, by its name or where that leads.

        Within notes a rule's relative paths are those of their folder.
        """
        name, _, note = source.partition(":")
        folder = self._notes.get(name) if note else None
        rules, spelled = (
            (self._rules_of_notes, folder / note)
            if folder
            else (self.rules, self.workspace.root / source)
        )
        denied = rules.denied(tool)
        return any(
            denied.holds(str(path), directory=False) for path in (spelled, spelled.resolve())
        )

    @cached_property
    def _rules_of_notes(self) -> Rules:
        return Rules(self._policy, tuple(self._notes.values()))

    def shown(self, path: str | Path) -> str:
        """A real path as the model is shown it: relative to the workspace where it is inside."""
        text, root = str(path), str(self.workspace.root)
        return "." if text == root else text.removeprefix(f"{root}/")

    def _was_added(self, key: Path) -> bool:
        return any(root.is_relative_to(key) for root in self.directories)


def _keys() -> list[Path]:
    return [(Path.home() / name).resolve() for name in KEYS]


def _within(path: str | Path, above: Iterable[str]) -> bool:
    """Whether a path is one of those or below it, in capitals or not: some disks fold the case."""
    return f"{folded(str(path))}/".startswith(tuple(above))


def _prefix(path: Path) -> str:
    return f"{folded(str(path)).rstrip('/')}/"
