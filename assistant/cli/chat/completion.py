"""What the prompt completes: slash commands with what they do, and `@` with files."""

import os
import re
import shlex
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

if TYPE_CHECKING:
    from assistant.cli.chat.slash import Command

FILE = re.compile(r'(?<![^\s(])@(?:"([^"\n]*)|([^\s"]*))$')
MOST_FILES = 200
MOST_LOOKED_AT = 5_000
"""Files and folders that are looked at for one that is like what was typed."""
LOOSEST = 4
"""Of so many characters of a path one was typed, at least."""
PASSED_OVER = ("node_modules/", "__pycache__/")
LONGEST_PASTE = 4_096
"""Characters of a paste that may be paths."""


class ChatCompleter(Completer):
    """Completes what is typed in the chat. `commands` are known once the agent has been loaded, and
    so is what the argument of some may be: their `values`.

    Files are those of the workspace, then of the directory that the chat was begun in.
    """

    def __init__(self, root: Path) -> None:
        self._roots = dict.fromkeys((root, Path.cwd()))
        self.commands: Mapping[str, Command] = {}
        self.values: Mapping[str, Callable[[], Iterable[str]]] = {}

    def get_completions(self, document: Document, event: CompleteEvent) -> Iterator[Completion]:
        """The completions at the cursor."""
        typed = document.text_before_cursor
        command, space, argument = typed.partition(" ")
        if typed.startswith("/") and not re.search(r"\s", typed):
            for name, known in self.commands.items():
                if name.startswith(typed):
                    shown = f"{name} {known.argument}".rstrip()
                    yield Completion(name, -len(typed), display=shown, display_meta=known.help)
        elif space and command in self.values:
            for value in self.values[command]():
                if argument.casefold() in value.casefold() and value != argument:
                    yield Completion(value, -len(argument))
        elif mention := FILE.search(typed):
            path = mention[1] if mention[1] is not None else mention[2]
            shown_by_path = dict(chain(self._beginning(path), self._like(path)))
            for path, shown in islice(shown_by_path.items(), MOST_FILES):
                yield Completion(_mention(path), -len(mention[0]), display=shown)

    def _beginning(self, path: str) -> Iterator[tuple[str, str]]:
        """The files whose paths begin so, with what is shown of each."""
        above, slash, begun = path.rpartition("/")
        folder = Path(above + slash)
        folder = folder.expanduser() if above.startswith("~") else folder
        for root in self._roots:
            for name in sorted(_names(root / folder, begun)):
                yield above + slash + name, name

    def _like(self, typed: str) -> Iterator[tuple[str, str]]:
        """The files in subfolders whose paths hold these characters in their order, those where
        they stand closest together first."""
        if not typed or "/" in typed or typed.startswith(("~", ".")):
            return  # a folder is named: what is in it is listed
        pattern = re.compile(f"(?=({'.*?'.join(map(re.escape, typed))}))", re.IGNORECASE)
        matches = []
        for path in dict.fromkeys(chain.from_iterable(map(_below, self._roots))):
            span = min((len(match[1]) for match in pattern.finditer(path)), default=None)
            if span is not None and span <= LOOSEST * len(typed):
                matches.append((span, len(path), path))
        yield from ((path, path) for _, _, path in sorted(matches))


def _below(root: Path) -> Iterator[str]:
    """The files below a folder, the nearest first, as paths from there; hidden ones left out."""
    waiting = deque([""])
    left = MOST_LOOKED_AT
    while waiting and left > 0:
        above = waiting.popleft()
        for name in sorted(_names(root / above, "")):
            left -= 1
            if not name.endswith("/"):
                yield above + name
            elif name not in PASSED_OVER:
                waiting.append(above + name)


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
    return f'@"{path}' + '"' * (not path.endswith("/"))


def _names(directory: Path, begun: str) -> Iterable[str]:
    """What is in a directory and begins so; directories with a slash behind them."""
    try:
        entries = list(os.scandir(directory))
    except OSError:
        return
    for entry in entries:
        if entry.name.startswith(begun) and (begun or not entry.name.startswith(".")):
            yield f"{entry.name}/" if entry.is_dir() else entry.name
