"""The current project: the git repository around a directory.

Facts under a heading `Project: NAME` belong to that project alone: a coding agent in another
project does not get them.
"""

import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from assistant.errors import UsageError

_HEADING = re.compile(r"Project: (.+?)(?: -- \d{4}-\d\d-\d\d)?")
_LINKED = re.compile(r"gitdir: (.+?)(?:/\.(?:git|bare))?(?<!/modules)/worktrees/[^/]+\s*")
"""Matches the content of a worktree's `.git`; its repository may be bare, or a submodule's."""


def current(directory: Path | None = None) -> str:
    """Return the name of the project around a directory, by default the working directory; empty if
    there is none."""
    with suppress(OSError):
        directory = (directory or Path.cwd()).resolve()
        for folder in (directory, *directory.parents):
            git_path = folder / ".git"
            text = git_path.read_text("utf-8") if git_path.is_file() else ""
            if worktree := _LINKED.fullmatch(text):
                return (folder / worktree[1]).resolve().name.removesuffix(".git")
            if git_path.exists():
                return folder.name
    return ""


def section() -> str:
    """Return the heading of this project's facts. Raises UsageError outside a project."""
    if name := current():
        return f"Project: {name}"
    raise UsageError("this folder is not in a git repository", "Go to the project's folder")


def concerns(heading: Sequence[str], project: str) -> bool:
    """Return whether facts under these headings belong to the project, or to no project."""
    projects = [match[1] for part in heading if (match := _HEADING.fullmatch(part))]
    return not projects or project in projects
