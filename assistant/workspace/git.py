"""A workspace in git: what it is to ignore, and who unites memory files."""

import subprocess
from pathlib import Path

from assistant.disk import programs, storage
from assistant.errors import WorkspaceError
from assistant.workspace.folder import Workspace

IGNORED = (
    "# what is private to a machine, or derived",
    ".assistant/",
    "*.sync-conflict-*",
    "*conflicted copy*",
    "*_conflict-*-[0-9]*",
    "*.orig",
)
UNITED = ("MEMORY.md", "AGENTS.md", "HEARTBEAT.md", "USER.md", "memory/**/*.md")
"""The files that are united fact by fact."""
DRIVER = "assistant"


def set_up(place: Workspace, program: Path) -> list[str]:
    """Make a repository if there is none, and have `program` unite memory files in it.

    Returns what was done, a line each. Raises WorkspaceError without git.
    """
    if programs.find("git", [place.root]) is None:
        raise WorkspaceError("git is not installed", "Install it, and run this again")
    done = []
    if _git(place, "rev-parse", "--git-dir", check=False) is None:
        _git(place, "init", "--quiet")
        done.append("made a git repository")
    attributes = tuple(f"{name} merge={DRIVER}" for name in UNITED)
    for name, lines in ((".gitignore", IGNORED), (".gitattributes", attributes)):
        if _add(place.root / name, lines):
            done.append(f"wrote {name}")
    command = f"'{program}' memory merge %O %A %B %P"
    _git(place, "config", f"merge.{DRIVER}.name", "Memory, fact by fact")
    _git(place, "config", f"merge.{DRIVER}.driver", command)
    return [*done, "memory files are merged fact by fact"]


def _add(path: Path, wanted: tuple[str, ...]) -> bool:
    """Add lines that a file lacks; whether it lacked any."""
    text = storage.held(path).decode("utf-8", "surrogateescape")
    missing = [line for line in wanted if line not in text.splitlines()]
    if not missing:
        return False
    before = text if text.endswith("\n") or not text else f"{text}\n"
    said = before + "".join(f"{line}\n" for line in missing)
    storage.replace(path, said.encode("utf-8", "surrogateescape"))
    return True


def _git(place: Workspace, *arguments: str, check: bool = True) -> str | None:
    """What git says; None if it fails and that is no matter. Raises WorkspaceError."""
    done = subprocess.run(
        [programs.find("git", [place.root]) or "git", "-C", str(place.root), *arguments],
        env=programs.environment([place.root]),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 0:
        return done.stdout
    if check:
        raise WorkspaceError(f"git failed: {done.stderr.strip()}", "Put that right first")
    return None
