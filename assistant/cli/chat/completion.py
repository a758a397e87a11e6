"""What the prompt completes: slash commands with what they do, and `@` with files.

Commands are known only when the agent has been loaded; until then none are offered.
"""

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from urllib.parse import unquote, urlsplit

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

FILE = re.compile(r'(?<![^\s(])@(?:"([^"\n]*)|([^\s"]*))$')
MOST_FILES = 200
LONGEST_PASTE = 4_096
"""Characters of a paste that may be paths."""


class ChatCompleter(Completer):
    """Completes what is typed in the chat. `commands` has each one's argument and help.

    Files are those of the workspace, then of the directory that the chat was begun in.
    """

    def __init__(self, root: Path) -> None:
        self._roots = dict.fromkeys((root, Path.cwd()))
        self.commands: Mapping[str, tuple[str, str]] = {}

    def get_completions(self, document: Document, event: CompleteEvent) -> Iterator[Completion]:
        """The completions at the cursor."""
        typed = document.text_before_cursor
        if typed.startswith("/") and not re.search(r"\s", typed):
            yield from self._named(typed)
        elif found := FILE.search(typed):
            path = found[1] if found[1] is not None else found[2]
            yield from islice(self._files(path, -len(found[0])), MOST_FILES)

    def _named(self, typed: str) -> Iterator[Completion]:
        for name, (argument, help) in self.commands.items():
            if name.startswith(typed):
                shown = f"{name} {argument}".rstrip()
                yield Completion(name, -len(typed), display=shown, display_meta=help)

    def _files(self, path: str, start: int) -> Iterator[Completion]:
        above, slash, begun = path.rpartition("/")
        folder = Path(above + slash).expanduser() if above.startswith("~") else Path(above + slash)
        names = (name for root in self._roots for name in sorted(_names(root / folder, begun)))
        for name in dict.fromkeys(names):
            yield Completion(_mention(above + slash + name), start, display=name)


def pictures_named(text: str) -> str:
    """Pasted paths as a message names files, if all are of pictures; else nothing.

    A terminal pastes the path of a file that is dropped on it, quoted as for a shell.
    """
    try:
        paths = [_path(word) for word in shlex.split(text)] if len(text) < LONGEST_PASTE else []
    except (ValueError, RuntimeError):  # an open quotation, a user that nobody knows
        return ""
    if not all(path.is_absolute() and '"' not in str(path) for path in paths):
        return ""
    from assistant.model.pictures import is_picture

    return " ".join(_mention(str(path)) for path in paths) if all(map(is_picture, paths)) else ""


def _path(word: str) -> Path:
    if word.startswith("file://"):
        return Path(unquote(urlsplit(word).path))
    return Path(word).expanduser()


def _mention(path: str) -> str:
    """A path as a message names it; a folder is not closed, so that one can go on."""
    if " " not in path:
        return f"@{path}"
    return f'@"{path}' if path.endswith("/") else f'@"{path}"'


def _names(directory: Path, begun: str) -> Iterable[str]:
    """What is in a directory and begins so; directories with a slash behind them."""
    try:
        entries = list(os.scandir(directory))
    except OSError:
        return
    for entry in entries:
        if entry.name.startswith(begun) and (begun or not entry.name.startswith(".")):
            yield f"{entry.name}/" if entry.is_dir() else entry.name
