"""The project that a program works on: the git repository around its folder.

What memory holds under a heading `Project: NAME` is of that project alone: a coding agent in
another one is not given it.
"""

import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from assistant.errors import UsageError

_HEADING = re.compile(r"Project: (.+?)(?: -- \d{4}-\d\d-\d\d)?")
_LINKED = re.compile(r"gitdir: (.+)/\.git/worktrees/")


def current() -> str:
    """The name of the project in this process's folder; empty if it is in none."""
    with suppress(OSError):
        here = Path.cwd()
        for folder in (here, *here.parents):
            mark = folder / ".git"
            linked = _LINKED.match(mark.read_text("utf-8")) if mark.is_file() else None
            if mark.exists():
                return Path(linked[1]).name if linked else folder.name
    return ""


def section() -> str:
    """The heading that this project's facts stand under. Raises UsageError outside of one."""
    if name := current():
        return f"Project: {name}"
    raise UsageError("this folder is in no git repository", "Go to the project's folder")


def concerns(heading: Sequence[str], project: str) -> bool:
    """Whether what stands under these headings is a project's, or nobody's in particular."""
    named = [match[1] for part in heading if (match := _HEADING.fullmatch(part))]
    return not named or project in named
