"""What every command shares: the global options, standard input, and the door to memory."""

import contextlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from assistant import config, workspace
from assistant.cli.progress import ProgressLine
from assistant.display import as_json, spelled
from assistant.errors import UsageError
from assistant.memory.base import Memory, Progress, no_progress
from assistant.memory.door import open_memory

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]


@dataclass(slots=True)
class Globals:
    """The options that may stand before or after the subcommand."""

    directory: Path | None = None
    no_daemon: bool = False
    debug: bool = False
    progress: Progress = no_progress
    """Shows a person how far it is, while memory is open."""

    def place(self) -> workspace.Workspace:
        """The workspace chosen. Raises WorkspaceError if there is none."""
        return workspace.find(self.directory)

    @contextlib.contextmanager
    def memory(self) -> Iterator[Memory]:
        """The chosen workspace's memory, with progress on standard error for a person."""
        with ProgressLine() as progress:
            self.progress = progress
            memory = open_memory(
                self.place(),
                config.load(),
                no_daemon=self.no_daemon,
                progress=progress,
                notify=_note,
            )
            try:
                yield memory
            finally:
                memory.close()


def _note(text: str) -> None:
    typer.echo(f"note: {spelled(text)}", err=True)


def given(text: str | None, what: str) -> str:
    """The argument, or standard input for `-` or when it is absent and not a terminal."""
    if text is None and sys.stdin.isatty():
        raise UsageError(f"no {what} given", f"Write it as an argument, or `-` to read {what}")
    if text is None or text == "-":
        text = sys.stdin.read()
    if not text.strip():
        raise UsageError(f"the {what} is empty", "Give some words")
    return text.strip()


def print_json(value: Any) -> None:
    """One JSON document on standard output, as programs read it."""
    typer.echo(as_json(value))


def confirmed(question: str, *, yes: bool, cure: str) -> bool:
    """The owner's yes at a terminal; without a terminal only `--yes` will do."""
    if yes:
        return True
    if not sys.stdin.isatty():
        raise UsageError("this needs a yes", cure)
    return typer.confirm(question, err=True)
