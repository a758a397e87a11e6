"""`@file` in a message of the owner: the files and folders that it names, to go with it."""

import re
from collections.abc import Iterator
from pathlib import Path

from assistant.errors import ToolError, UsageError
from assistant.messages import Picture
from assistant.model.pictures import picture_of
from assistant.settings.sections import PolicySettings
from assistant.tools.files.access import Access
from assistant.tools.files.read import reading_tools
from assistant.tools.files.roots import Roots
from assistant.workspace.folder import Workspace

MENTION = re.compile(r'(?<![^\s(])@(?:"([^"\n]+)"|([^\s"]+))')
"""`@notes.md` or `@"my notes.md"`, at the beginning of a word."""
BEHIND = ".,;:!?)]}'»”…"
"""What ends a sentence or a bracket, and rarely a file's name."""
LIKE_A_FILE = re.compile(r"/|\.\w{1,5}$")
NOT_MEANT = "Correct the path, or write \\@ where no file is meant"


class Mentions:
    """Finds what messages name: below the workspace, else from `here`; with `/` or `~`, anywhere.

    What the owner's rules deny to `read_file` and `list_files`, and where keys are kept, stays
    closed.
    """

    def __init__(self, workspace: Workspace, policy: PolicySettings, here: Path) -> None:
        self._root = workspace.root
        self._here = here
        roots = Roots(workspace, [Path("/")], policy)
        self._access = Access(roots, "read_file")
        self._reading, self._listing = reading_tools(roots)

    def attached(self, text: str) -> dict[str, str | Picture]:
        """What the message names, by its path. Raises UsageError if that cannot be read."""
        found: dict[str, str | Picture] = {}
        for name, path in self._paths(text):
            try:
                found[name] = self._given(path)
            except (ToolError, UsageError) as error:
                raise UsageError(f"@{name}: {error.message}", error.cure or NOT_MEANT) from error
        return found

    def _given(self, path: Path) -> str | Picture:
        """A picture, by what is in the file; else the text of it, or the list of the folder."""
        if path.is_dir():
            return self._listing.plan({"path": str(path)}).run().content
        with self._access.at(str(path)) as place:
            picture = picture_of(place.read())
        return picture or self._reading.plan({"path": str(path)}).run().content

    def _paths(self, text: str) -> Iterator[tuple[str, Path]]:
        for each in MENTION.finditer(text):
            quoted, bare = each.groups()
            names = [quoted] if quoted else [bare, bare.rstrip(BEHIND)]
            known = ((name, path) for name in names if (path := self._path(name)) is not None)
            meant = next(known, None)
            if meant is not None:
                yield meant
            elif quoted or LIKE_A_FILE.search(names[-1]):
                raise UsageError(f"there is no file {names[-1]}", NOT_MEANT)

    def _path(self, name: str) -> Path | None:
        """Where the name leads; None if nothing is there."""
        spelled = Path(name).expanduser() if name.startswith("~") else Path(name)
        places = (self._root / spelled, self._here / spelled)
        return next((place for place in places if name and place.exists()), None)
