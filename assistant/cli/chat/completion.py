"""What the prompt completes: slash commands with what they do, and `@` with files.

Commands are known only when the agent has been loaded; until then none are offered.
"""

import os
import re
import shlex
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from urllib.parse import unquote, urlsplit

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

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
    """Completes what is typed in the chat. `commands` has each one's argument and help, `values`
    what its argument may be.

    Files are those of the workspace, then of the directory that the chat was begun in.
    """

    def __init__(self, root: Path) -> None:
        self._roots = dict.fromkeys((root, Path.cwd()))
        self.commands: Mapping[str, tuple[str, str]] = {}
        self.values: Mapping[str, Callable[[], Iterable[str]]] = {}

    def get_completions(self, document: Document, event: CompleteEvent) -> Iterator[Completion]:
        """The completions at the cursor."""
        typed = document.text_before_cursor
        command, space, argument = typed.partition(" ")
        if typed.startswith("/") and not re.search(r"\s", typed):
            yield from self._named(typed)
        elif space and command in self.values:
            yield from self._valued(self.values[command](), argument)
        elif found := FILE.search(typed):
            path = found[1] if found[1] is not None else found[2]
            listed = chain(self._files(path, -len(found[0])), self._like(path, -len(found[0])))
            yield from islice({each.text: each for each in listed}.values(), MOST_FILES)

    def _valued(self, values: Iterable[str], typed: str) -> Iterator[Completion]:
        for value in values:
            if typed.casefold() in value.casefold() and value != typed:
                yield Completion(value, -len(typed))

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

    def _like(self, typed: str, start: int) -> Iterator[Completion]:
        """The files in subfolders whose paths hold these characters in their order, those where
        they stand closest together first."""
        if not typed or "/" in typed or typed.startswith(("~", ".")):
            return  # a folder is named: what is in it is listed
        found = []
        for path in dict.fromkeys(chain.from_iterable(map(_below, self._roots))):
            span = _span(typed.casefold(), path.casefold())
            if span is not None and span <= LOOSEST * len(typed):
                found.append((span, len(path), path))
        for _, _, path in sorted(found):
            yield Completion(_mention(path), start, display=path)


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


def _span(typed: str, path: str) -> int | None:
    """How far apart these characters stand in a path; None if they do not in this order."""
    spans: list[int] = []
    for start in (place for place, char in enumerate(path) if char == typed[0]):
        at = start
        for char in typed[1:]:
            at = path.find(char, at + 1)
            if at < 0:
                return min(spans, default=None)
        spans.append(at - start)
    return min(spans, default=None)


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
