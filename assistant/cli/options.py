"""What every command shares."""

import contextlib
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assistant import config
from assistant.cli.progress import ProgressLine
from assistant.display import as_json, spelled
from assistant.errors import UsageError, WorkspaceError
from assistant.memory.base import Progress, no_progress
from assistant.memory.open import open_memory
from assistant.memory.protocol import Keeper
from assistant.workspace import folder as workspace

if TYPE_CHECKING:
    from assistant.app.chat import Chat
    from assistant.app.options import ChatOptions
    from assistant.messages import Picture
    from assistant.settings.tree import Settings
    from assistant.tools.policy import Approver


Message = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[MESSAGE]...",
        help="The message. Standard input is sent with it, or is the message itself.",
        show_default=False,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
Most = Annotated[
    int | None, typer.Option("-k", metavar="N", min=1, help="Maximum number of passages.")
]
ALL = 1 << 31
"""More tokens than any passage takes."""
INPUT = "Standard input"
"""The title of what is piped beside a message."""
PATIENCE = 2.0
"""Seconds without a word on standard input before we say that we read it."""


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

    def recipe(self) -> Path | None:
        """The recipe of the chosen workspace, if there is a workspace that is trusted."""
        from assistant.workspace import trust

        with contextlib.suppress(WorkspaceError):
            place = self.place()
            return place.recipe if trust.is_trusted(place) else None
        return None

    def settings(self) -> "Settings":
        """The settings, with the recipe. Raises ConfigError."""
        from assistant.settings import tree  # pydantic: not on a client's path

        recipe = self.recipe()
        return tree.validate(config.load(recipe=recipe), recipe)

    @contextlib.contextmanager
    def memory(self) -> Iterator[Keeper]:
        """The chosen workspace's memory, with progress on standard error for a person."""
        with ProgressLine() as progress:
            self.progress = progress
            memory = open_memory(
                self.place(),
                config.load(),
                no_daemon=self.no_daemon,
                progress=progress,
                notify=note,
            )
            try:
                yield memory
            finally:
                memory.close()

    def open_chat(
        self,
        options: "ChatOptions",
        approver: "Approver | None" = None,
        progress: Progress | None = None,
    ) -> "Chat":
        """Open a conversation, with progress on standard error unless `progress` is given."""
        from assistant.app.chat import open_chat  # the agent and its models: behind `--help`

        with ProgressLine() as line:
            return open_chat(
                self.place(),
                options,
                approver=approver,
                no_daemon=self.no_daemon,
                progress=progress or line,
            )


def note(text: str) -> None:
    """Tell the owner something beside the output."""
    typer.echo(f"note: {spelled(text)}", err=True)


def at_terminal() -> bool:
    """Whether a person types into standard input, or it is closed."""
    return sys.stdin is None or sys.stdin.isatty()


def given(words: Sequence[str] | None, what: str) -> str:
    """The words of an argument; or standard input, for `-` or without any and not a terminal."""
    if not words and at_terminal():
        raise UsageError(f"no {what} given", "Give it as an argument, or on standard input")
    text = _said(" ".join(words or "-"), what)
    text = whole_input() if text == "-" else text
    if not text.strip():
        raise UsageError(f"the {what} is empty", "Give some words")
    return text.strip()


def _said(text: str, what: str) -> str:
    """The text of arguments; bytes that the locale does not know are UTF-8, or no text."""
    with contextlib.suppress(UnicodeEncodeError):
        return text.encode("utf-8").decode("utf-8")
    try:
        return os.fsencode(text).decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"the {what} is not UTF-8 text", "Convert it first") from error


def reads_lines(words: Sequence[str] | None) -> bool:
    """Whether `-`, or nothing but a pipe, was given to a command that reads a text a line."""
    return list(words) == ["-"] if words else not at_terminal()


def message_and_input(words: Sequence[str] | None) -> "tuple[str, dict[str, str | Picture]]":
    """A message, and by its name what standard input holds beside it, text or a picture: not the
    owner's word."""
    if not words or list(words) == ["-"] or at_terminal():
        return given(words, "message"), {}
    from assistant.model.pictures import picture_of  # for a conversation, and no other command

    text, data = given(words, "message"), input_bytes()
    piped = picture_of(data) or _text(data)
    return text, {} if isinstance(piped, str) and not piped.strip() else {INPUT: piped}


def whole_input() -> str:
    """Standard input to its end. Raises UsageError if it is no text."""
    return _text(input_bytes())


def input_bytes(most: int = -1) -> bytes:
    """Standard input to its end, or so many bytes of it."""
    import select  # an inherited pipe may never end: say what is waited for

    if not select.select([sys.stdin], [], [], PATIENCE)[0]:
        note("reading standard input; press Ctrl-D to end it")
    return sys.stdin.buffer.read(most)


def lines() -> Iterator[str]:
    """The lines of standard input, as they come. Raises UsageError if one is no text."""
    return (_text(line).strip() for line in sys.stdin.buffer)


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise UsageError(
            f"standard input is not UTF-8 text: byte {error.start}", "Convert it first"
        ) from error


def print_json(value: Any) -> None:
    """One JSON document on standard output, as programs read it."""
    typer.echo(as_json(value))


def own_command() -> str:
    """The absolute path of this program, since others know no path of the shell's."""
    own = Path(sys.executable).with_name("assistant")
    found = str(own) if own.exists() else shutil.which("assistant")
    if not found:
        raise UsageError("there is no command `assistant` to name", "Install the package")
    return found
