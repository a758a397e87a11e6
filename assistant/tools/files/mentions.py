"""`@file` in a message of the owner: the files and folders that it names, to go with it."""

import re
from collections.abc import Iterator
from pathlib import Path

from assistant.errors import ToolError, UsageError
from assistant.settings.tools import PolicySettings
from assistant.tools.files.read import reading_tools
from assistant.tools.files.roots import Roots
from assistant.workspace.folder import Workspace

MENTION = re.compile(r'(?<![^\s(])@(?:"([^"\n]+)"|([^\s"]+))')
"""`@notes.md` or `@"my notes.md"`, at the beginning of a word."""
BEHIND = ".,;:!?)]}'»”…"
"""What ends a sentence or a bracket, and rarely a file's name."""
LIKE_A_FILE = re.compile(r"/|\.\w{1,5}$")
PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".tiff", ".heic")
SAY = "Say in words what is to be seen on it"
NOT_MEANT = "Correct the path, or write \\@ where no file is meant"


class Mentions:
    """Finds what messages name: below the workspace, else from `here`; with `/` or `~`, anywhere.

    What the owner's rules deny to `read_file` and `list_files`, and where keys are kept, stays
    closed.
    """

    def __init__(self, place: Workspace, policy: PolicySettings, here: Path) -> None:
        self._root = place.root
        self._here = here
        reading, listing = reading_tools(Roots(place, [Path("/")], policy))
        self._reading, self._listing = reading, listing

    def attached(self, text: str) -> dict[str, str]:
        """What the message names, by its path. Raises UsageError if that cannot be read."""
        found: dict[str, str] = {}
        for name, path in self._paths(text):
            use = self._listing if path.is_dir() else self._reading
            try:
                found[name] = use.plan({"path": str(path)}).run().content
            except ToolError as error:
                if path.suffix.lower() in PICTURES:
                    raise UsageError(
                        f"@{name} is a picture, and no model is sent any", SAY
                    ) from error
                raise UsageError(f"@{name}: {error.message}", error.cure or NOT_MEANT) from error
        return found

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
        return next((each for each in places if name and each.exists()), None)


def _unreadable(name: str, path: Path, error: ToolError) -> UsageError:
    if path.suffix.lower() in PICTURES:
        return UsageError(f"@{name} is a picture, and no model is sent any", SAY)
    return UsageError(f"@{name}: {error.message}", error.cure or NOT_MEANT)
