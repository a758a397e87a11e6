"""What the prompt completes: slash commands with what they do, and `@` with files of the workspace.

Commands are known only when the agent has been loaded; until then none are offered.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

FILE = re.compile(r"(?:^|\s)@(\S*)$")
MOST_FILES = 200


class ChatCompleter(Completer):
    """Completes what is typed in the chat. `commands` has each one's argument and help."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.commands: Mapping[str, tuple[str, str]] = {}

    def get_completions(self, document: Document, event: CompleteEvent) -> Iterator[Completion]:
        """The completions at the cursor."""
        typed = document.text_before_cursor
        if typed.startswith("/") and not re.search(r"\s", typed):
            yield from self._named(typed)
        elif found := FILE.search(typed):
            yield from self._files(found[1])

    def _named(self, typed: str) -> Iterator[Completion]:
        for name, (argument, help) in self.commands.items():
            if name.startswith(typed):
                shown = f"{name} {argument}".rstrip()
                yield Completion(name, -len(typed), display=shown, display_meta=help)

    def _files(self, typed: str) -> Iterator[Completion]:
        above, _, begun = typed.rpartition("/")
        for name in sorted(_names(self._root / above, begun))[:MOST_FILES]:
            yield Completion(name, -len(begun))


def _names(directory: Path, begun: str) -> Iterable[str]:
    """What is in a directory and begins so; directories with a slash behind them."""
    try:
        entries = list(os.scandir(directory))
    except OSError:
        return
    for entry in entries:
        if entry.name.startswith(begun) and (begun or not entry.name.startswith(".")):
            yield f"{entry.name}/" if entry.is_dir() else entry.name
