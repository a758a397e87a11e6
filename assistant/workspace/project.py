"""The current project: the git repository around a directory.

A repository's addresses are that of its remote `origin` (`github.com/ada/shop`) and its folder
(`~/code/shop`). Facts under a heading `Project: NAME` belong to the repositories with an address
that ends in NAME: a coding agent in another repository does not get them.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from assistant.errors import UsageError

_LINKED = re.compile(r"gitdir: (.+?)(?:/\.(?:git|bare))?(?<!/modules)/worktrees/[^/]+\s*")
"""Matches the content of a worktree's `.git`; its repository may be bare, or a submodule's."""
_ORIGIN = re.compile(r'^\s*\[remote "origin"\][^\[]*?^\s*url\s*=\s*"?(.+?)"?\s*$', re.MULTILINE)
_REMOTE = re.compile(
    r"\w[\w+.-]*://(?:[^/]*@)?([^/:]+)(?::\d*)?/+(.+)"
    r"|(?:[^/]*@)?([^/:]+):/*(.+)"
)
"""Matches the URL of a remote, with its host and path, or SSH's `HOST:PATH`; not a path."""
_GIT = re.compile(r"(?:/\.git|/\.bare|\.git)?/?$")
"""The end of an address that names git's own folder."""


def addresses(directory: Path | None = None) -> tuple[str, ...]:
    """Return the addresses of the repository around a directory, by default the working directory;
    none if there is none. The first is that of all its clones."""
    with suppress(OSError):
        directory = (directory or Path.cwd()).resolve()
        around = (at for at in (directory, *directory.parents) if (at / ".git").exists())
        if root := next(around, None):
            root, git = _repository(root)
            return (*_remote_addresses(git), _folder_address(root))
    return ()


def _remote_addresses(git: Path) -> Iterator[str]:
    """Yield the address of the remote `origin` on a host, if there is one."""
    with suppress(OSError):
        origin = _ORIGIN.search((git / "config").read_text("utf-8", "replace"))
        url = origin[1].removeprefix("file://") if origin else ""
        if remote := _REMOTE.fullmatch(url):
            yield _GIT.sub("", "/".join(filter(None, remote.groups())), count=1).casefold()


def _repository(root: Path) -> tuple[Path, Path]:
    """Return the main folder of a repository, from that of a clone or worktree, or its bare one;
    and the folder of git's own files."""
    place = root / ".git"
    text = place.read_text("utf-8", "replace") if place.is_file() else ""
    if worktree := _LINKED.fullmatch(text):
        git = root / text.removeprefix("gitdir:").strip()
        return (root / worktree[1]).resolve(), git.parent.parent
    if text:
        return root, root / text.removeprefix("gitdir:").strip()
    return root, place if place.is_dir() else root


def _folder_address(root: Path) -> str:
    address, home = _GIT.sub("", str(root), count=1), f"{Path.home().resolve()}/"
    return f"~/{address.removeprefix(home)}" if address.startswith(home) else address


def section() -> str:
    """Return the heading of this project's facts. Raises UsageError outside a project."""
    if own := addresses():
        return f"Project: {own[0]}"
    raise UsageError("this folder is not in a git repository", "Go to the project's folder")
