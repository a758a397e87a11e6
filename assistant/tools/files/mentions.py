"""`@file` in the owner's messages: finds the files and folders to attach."""

import os
import re
from collections.abc import Iterator
from glob import escape, glob
from pathlib import Path

from assistant.disk import storage
from assistant.errors import ToolError, UsageError
from assistant.messages import Picture
from assistant.model.pictures import picture_of
from assistant.settings.sections import PolicySettings
from assistant.tools.files.access import Access, Roots
from assistant.tools.files.read import reading_tools
from assistant.workspace.folder import Workspace

MENTION = re.compile(r'(?<![^\s(])@(?:"([^"\n]+)"|([^\s"]+))')
"""`@notes.md` or `@"my notes.md"`, at the start of a word."""
BEHIND = ".,;:!?)]}'»”…"
"""Trailing punctuation, which rarely belongs to a file's name."""
LIKE_A_FILE = re.compile(r"/|\.\w{1,5}$")
LONGEST_PATH = 4096
NOT_MEANT = "Correct the path, or write \\@ where no file is meant"


class Mentions:
    """Finds the files that messages mention, relative to the workspace, otherwise to `here`; with
    `/` or `~`, anywhere.

    Files that the owner's rules deny to `read_file` or `list_files`, and those that hold keys, stay
    closed.
    """

    def __init__(self, workspace: Workspace, policy: PolicySettings, here: Path) -> None:
        self._root = workspace.root
        self._here = here
        roots = Roots(workspace, [Path("/")], policy)
        self._access = Access(roots, "read_file")
        self._reading, self._listing = reading_tools(roots)

    def attached(self, text: str) -> dict[str, str | Picture]:
        """Return the content that the message mentions, by name. Raises UsageError if
        unreadable."""
        attachments: dict[str, str | Picture] = {}
        for name, path in self._paths(text):
            try:
                attachments[name] = self._content(path)
            except (ToolError, UsageError) as error:
                message = error.message.rstrip(".")
                raise UsageError(f"@{name}: {message}", error.cure or NOT_MEANT) from error
        return attachments

    def _content(self, path: Path) -> str | Picture:
        """Return a picture, recognised by its content, otherwise the file's text or the folder's
        listing."""
        if path.is_dir():
            return self._listing.plan({"path": str(path)}).run().content
        with self._access.at(str(path)) as location:
            picture = picture_of(location.read())
        return picture or self._reading.plan({"path": str(path)}).run().content

    def _paths(self, text: str) -> Iterator[tuple[str, Path]]:
        for mention in MENTION.finditer(text):
            quoted, bare = mention.groups()
            names = [quoted] if quoted else [bare, bare.rstrip(BEHIND)]
            existing = ((name, path) for name in names if (path := self._path(name)) is not None)
            first_match = next(existing, None)
            if first_match is not None:
                yield first_match
            elif not quoted and (longer := self._longer(bare)):
                raise UsageError(f"there is no file {bare}", f'Quote its name: @"{longer}"')
            elif not quoted and (shorter := self._shorter(bare)):
                raise UsageError(f"there is no file {bare}", f"Put a space after @{shorter}")
            elif quoted or LIKE_A_FILE.search(names[-1]):
                raise UsageError(f"there is no file {names[-1]}", NOT_MEANT)

    def _longer(self, name: str) -> str:
        """Return a file whose name begins with this one and a space; empty if there is none."""
        for folder in (self._root, self._here):
            for path in glob(f"{escape(name)} *", root_dir=folder):  # noqa: PTH207  # or absolute
                return path
        return ""

    def _shorter(self, name: str) -> str:
        """Return the file whose path is the beginning of this name; empty if there is none."""
        for end in range(min(len(name), LONGEST_PATH), 0, -1):
            beginning = name[:end]
            if LIKE_A_FILE.search(beginning) and (path := self._path(beginning)) and path.is_file():
                return beginning
        return ""

    def _path(self, name: str) -> Path | None:
        """Return the path of the name, even of a broken link; None if it does not exist."""
        spelled = storage.expanded(name)
        places = (self._root / spelled, self._here / spelled)
        existing = (path for path in places if os.path.lexists(path))  # False if it is too long
        return next(existing, None) if name else None
