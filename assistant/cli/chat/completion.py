"""Completion at the prompt: slash commands and their arguments, and files after `@`."""

import os
import re
import shlex
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from assistant.disk import storage
from assistant.errors import AssistantError

if TYPE_CHECKING:
    from assistant.cli.chat.slash import Command

FILE = re.compile(r'(?<![^\s(])@(?:"([^"\n]*)|([^\s"]*))$')
MAX_FILES = 200
MAX_SCANNED = 5_000
"""Maximum number of files and folders searched for a fuzzy match."""
MAX_SPREAD = 4
"""Maximum length of a fuzzy match, as a multiple of the typed text's length."""
SKIPPED = ("node_modules/", "__pycache__/")
LONGEST_PASTE = 4_096
"""Maximum number of characters of a paste that is checked for paths."""


class ChatCompleter(Completer):
    """Completes commands, their arguments (`values`) and files.

    `commands` and `values` are set once the agent has been loaded. Files are those of the
    workspace, then of the directory in which the chat was started.
    """

    def __init__(self, root: Path) -> None:
        self._roots = dict.fromkeys((root, Path.cwd()))
        self.commands: Mapping[str, Command] = {}
        self.values: Mapping[str, Callable[[], Iterable[str]]] = {}

    def get_completions(self, document: Document, event: CompleteEvent) -> Iterator[Completion]:
        """Yield the completions at the cursor; an unreadable folder has none, and raises no
        error."""
        with suppress(OSError, ValueError, AssistantError):
            yield from self._completions(document.text_before_cursor)

    def _completions(self, typed: str) -> Iterator[Completion]:
        command, space, argument = typed.partition(" ")
        if typed.startswith("/") and not re.search(r"\s", typed):
            for name, command_ in self.commands.items():
                if name.startswith(typed):
                    usage = f"{name} {command_.argument}".rstrip()
                    yield Completion(name, -len(typed), display=usage, display_meta=command_.help)
        elif space and command in self.values:
            for value in self.values[command]():
                if argument.casefold() in value.casefold() and value != argument:
                    yield Completion(value, -len(argument))
        elif mention := FILE.search(typed):
            path = mention[1] if mention[1] is not None else mention[2]
            labels = dict(chain(self._by_prefix(path), self._fuzzy(path)))
            for path, label in islice(labels.items(), MAX_FILES):
                suffix = "" if path.endswith("/") else " "
                yield Completion(_mention(path) + suffix, -len(mention[0]), display=label)

    def is_unfinished(self, typed: str) -> bool:
        """Return whether a text is the beginning of a command's name, or ends with a mention of a
        file that does not exist."""
        if typed.startswith("/") and not re.search(r"\s", typed):
            return typed not in self.commands
        mention = FILE.search(typed)
        path = storage.expanded(mention[1] or mention[2] or "") if mention else Path()
        return not any(os.path.lexists(root / path) for root in self._roots)

    def _by_prefix(self, path: str) -> Iterator[tuple[str, str]]:
        """Yield the paths that begin with `path`, each with its name."""
        parent, slash, prefix = path.rpartition("/")
        folder = storage.expanded(parent + slash)
        for root in self._roots:
            for name in sorted(_names(root / folder, prefix)):
                yield parent + slash + name, name

    def _fuzzy(self, typed: str) -> Iterator[tuple[str, str]]:
        """Yield the paths that contain these characters in order, closest together first."""
        if not typed or "/" in typed or typed.startswith(("~", ".")):
            return  # `_by_prefix` lists that folder
        pattern = re.compile(f"(?=({'.*?'.join(map(re.escape, typed))}))", re.IGNORECASE)
        matches = []
        for path in dict.fromkeys(chain.from_iterable(map(_below, self._roots))):
            span = min((len(match[1]) for match in pattern.finditer(path)), default=None)
            if span is not None and span <= MAX_SPREAD * len(typed):
                matches.append((span, len(path), path))
        yield from ((path, path) for _, _, path in sorted(matches))


def _below(root: Path) -> Iterator[str]:
    """Yield the visible files below a folder, breadth first, as relative paths."""
    folders = deque([""])
    remaining = MAX_SCANNED
    while folders and remaining > 0:
        folder = folders.popleft()
        for name in sorted(_names(root / folder, "")):
            remaining -= 1
            if not name.endswith("/"):
                yield folder + name
            elif name not in SKIPPED:
                folders.append(folder + name)


def picture_mentions(text: str) -> str:
    """Return pasted paths as mentions if all are pictures; otherwise an empty string.

    A terminal pastes the path of a file dropped on it, quoted as for a shell.
    """
    try:
        paths = [_path(word) for word in shlex.split(text)] if len(text) < LONGEST_PASTE else []
    except (ValueError, RuntimeError):  # an unclosed quote, an unknown user
        return ""
    if not all(path.is_absolute() and '"' not in str(path) for path in paths):
        return ""
    from assistant.model.pictures import is_picture

    return " ".join(_mention(str(path)) for path in paths) if all(map(is_picture, paths)) else ""


def _path(word: str) -> Path:
    if word.startswith("file://"):
        return Path(unquote(urlsplit(word).path))
    return storage.expanded(word)


def _mention(path: str) -> str:
    """Return a path as a mention; the quote of a folder stays open for the rest of the path."""
    if " " not in path:
        return f"@{path}"
    return f'@"{path}' + '"' * (not path.endswith("/"))


def _names(directory: Path, prefix: str) -> Iterable[str]:
    """Yield the names in a directory with a prefix; those of directories end with a slash."""
    try:
        entries = list(os.scandir(directory))
    except OSError:
        return
    for entry in entries:
        if entry.name.startswith(prefix) and (prefix or not entry.name.startswith(".")):
            with suppress(OSError):  # a link to itself
                yield f"{entry.name}/" if entry.is_dir() else entry.name
