"""Shared by the commands: options, input, and the workspace they use."""

import contextlib
import io
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from assistant import config
from assistant.cli.palette import echo
from assistant.cli.progress import ProgressLine
from assistant.display import as_json
from assistant.errors import UsageError, WorkspaceError
from assistant.memory.base import Keeper, Progress
from assistant.memory.open import open_memory
from assistant.workspace import folder

if TYPE_CHECKING:
    from assistant.app.chat import Chat
    from assistant.app.options import ChatOptions
    from assistant.messages import Picture
    from assistant.settings.tree import Settings
    from assistant.tools.policy import Approver


def option(usage: str, help: str, **settings: Any) -> Any:
    """Return an option, given its names and its value's name as help shows them."""
    words = usage.split()
    names = [word for word in words if word.startswith("-")]
    metavar = " ".join(words[len(names) :]) or None
    return typer.Option(*names, metavar=metavar, help=help, **settings)


def argument(usage: str, help: str, **settings: Any) -> Any:
    """Return an argument, given its name as help shows it."""
    return typer.Argument(metavar=usage, help=help, **settings)


def session_ids(context: typer.Context) -> list[tuple[str, str]]:
    """Return the sessions of the workspace with their titles, last used first, for completion."""
    from assistant.session import listing  # msgspec: only for these commands

    root = context.find_root().params.get("workspace") or folder.default_root()
    sessions = listing.sessions(folder.Workspace(root).sessions)
    return [(session.id, session.title) for session in sessions]


Message = Annotated[
    list[str] | None,
    argument(
        "[MESSAGE]...",
        "The message. Standard input is sent with it, or is the message itself.",
        show_default=False,
    ),
]
_answers: ContextVar[TextIO | None] = ContextVar("_answers", default=None)
"""Standard output, while a command prints only JSON there."""


def _print_only_json(context: typer.Context, as_json: bool) -> bool:
    if as_json:
        context.call_on_close(partial(_answers.reset, _answers.set(sys.stdout)))
        context.with_resource(contextlib.redirect_stdout(io.StringIO()))
    return as_json


Lines = Annotated[bool, option("--json", "Print JSON, for programs.")]
"""Option of a command that prints one line of JSON for each event or entry."""
AsJson = Annotated[bool, option("--json", "Print JSON, for programs.", callback=_print_only_json)]
"""Option of a command that prints its `answer` as JSON, and no text on standard output."""
Yes = Annotated[bool, option("--yes -y", "Do not ask.")]
INPUT = "Standard input"
"""The title of piped input that is attached to a message."""
PATIENCE = 2.0
"""Seconds without input before a note says that standard input is being read."""


EDITORS = ("nano", "vim", "vi")
"""Tried in this order if neither VISUAL nor EDITOR is set."""


@dataclass(frozen=True, slots=True)
class Globals:
    """The global options."""

    directory: Path | None = None
    no_daemon: bool = False
    debug: bool = False

    def workspace(self) -> folder.Workspace:
        """Return the workspace. Raises WorkspaceError if there is none."""
        return folder.find(self.directory)

    def recipe(self) -> Path | None:
        """Return the workspace's own settings file, if the workspace is trusted."""
        from assistant.workspace import trust

        with contextlib.suppress(WorkspaceError):
            workspace = self.workspace()
            return workspace.recipe if trust.is_trusted(workspace) else None
        return None

    def settings(self) -> "Settings":
        """Return the settings, including those of the workspace. Raises ConfigError."""
        from assistant.settings import tree  # pydantic is slow to import

        recipe = self.recipe()
        return tree.validate(config.load(recipe=recipe), recipe)

    def hidden(self) -> Callable[[str], bool]:
        """Return whether the owner's rules exclude a source from recall. Raises ConfigError."""
        from assistant.tools.files.access import Roots  # also slow to import

        settings = self.settings()
        roots = Roots(self.workspace(), (), settings.policy, notes=settings.notes)
        return partial(roots.denies, "recall")

    @contextlib.contextmanager
    def memory(self) -> Iterator[Keeper]:
        """Open the workspace's memory, with progress on standard error."""
        with ProgressLine() as progress:
            memory = open_memory(
                self.workspace(),
                config.load(),
                no_daemon=self.no_daemon,
                progress=progress,
                notify=note,
            )
            with contextlib.closing(memory):
                yield memory

    def open_chat(
        self,
        options: "ChatOptions",
        approver: "Approver | None" = None,
        progress: Progress | None = None,
    ) -> "Chat":
        """Open a conversation, with progress on standard error unless `progress` is given."""
        from assistant.app.chat import open_chat  # the agent and its models: not for `--help`

        with ProgressLine() as line:
            return open_chat(
                self.workspace(),
                options,
                approver=approver,
                no_daemon=self.no_daemon,
                progress=progress or line,
            )


def note(text: str) -> None:
    """Print a note on standard error."""
    echo(f"note: {text}", err=True)


def at_terminal() -> bool:
    """Return whether standard input is a terminal."""
    return sys.stdin.isatty()


def given(words: Sequence[str] | None, what: str) -> str:
    """Return the words of an argument; standard input for `-`, or if there are no words and a
    pipe."""
    if not words and at_terminal():
        raise UsageError(f"no {what} given", "Give it as an argument, or on standard input")
    text = " ".join(words or "-")
    text = _text(input_bytes()) if text == "-" else text
    if not text.strip():
        raise UsageError(f"the {what} is empty", "Give some words")
    return text.strip()


def reads_lines(words: Sequence[str] | None) -> bool:
    """Return whether the command reads one text per line from standard input."""
    return list(words) == ["-"] if words else not at_terminal()


def message_and_input(words: Sequence[str] | None) -> "tuple[str, dict[str, str | Picture]]":
    """Return a message and the text or picture piped with it, as attachments by title."""
    if not words or list(words) == ["-"] or at_terminal():
        return given(words, "message"), {}
    from assistant.model.pictures import picture_of  # Pillow is slow to import

    text, data = given(words, "message"), input_bytes()
    piped = picture_of(data) or _text(data)
    return text, {} if isinstance(piped, str) and not piped.strip() else {INPUT: piped}


def input_bytes(most: int = -1) -> bytes:
    """Return all of standard input, or its first `most` bytes."""
    import select  # an inherited pipe may never end, so a note says that it is read

    if not select.select([sys.stdin], [], [], PATIENCE)[0]:
        note("reading standard input; press Ctrl-D to end it")
    return sys.stdin.buffer.read(most)


def lines() -> Iterator[str]:
    """Yield the lines of standard input as they arrive. Raises UsageError for a line that is not
    text."""
    return (_text(line).strip() for line in sys.stdin.buffer)


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise UsageError(
            f"standard input is not UTF-8 text: byte {error.start}", "Convert it first"
        ) from error


def answer(value: Any) -> None:
    """With `--json`, print the command's result; without it, its text output says the same."""
    if output := _answers.get():
        typer.echo(as_json(value), file=output)


def run_editor(path: Path) -> None:
    """Open a file in the owner's editor. Raises UsageError if the editor fails."""
    from assistant.disk import programs  # only needed here

    chosen = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    editor = chosen or next(filter(programs.find, EDITORS), "vi")
    if code := _run_own("editor", editor, str(path)):
        raise UsageError(f"the editor {editor!r} failed with {code}", "Set EDITOR to another")


def run_pager(text: str) -> None:
    """Show a text in the owner's pager. Raises UsageError if it cannot be run."""
    colours = {"LESS": "-R", **os.environ}
    _run_own("pager", os.environ.get("PAGER") or "less", input=text.encode(), env=colours)


def _run_own(kind: str, command: str, *arguments: str, **settings: Any) -> int:
    """Run a command of the owner's, whose program no tool can have written; return its exit code.

    Raises UsageError if it cannot be run.
    """
    import shlex  # all only needed here
    import subprocess

    from assistant.disk import programs

    try:
        name, *words = shlex.split(command)
        if (program := programs.find(name)) is None:
            raise ValueError("it is not on the PATH, or only where tools write")
        return subprocess.run([program, *words, *arguments], **settings).returncode
    except (OSError, ValueError) as error:
        raise UsageError(
            f"the {kind} {command!r} cannot be run: {error}", f"Set {kind.upper()}"
        ) from error


def own_command() -> str:
    """Return the absolute path of this program, for other programs to run."""
    own = Path(sys.executable).with_name("assistant")
    path = str(own) if own.exists() else shutil.which("assistant")
    if not path:
        raise UsageError("the command `assistant` is not installed", "Install the package")
    return path
