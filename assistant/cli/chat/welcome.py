"""The first chat of a new workspace: three questions, each of which may be skipped.

The answers go where their owner can change them: the name into USER.md, the tone into IDENTITY.md,
the model into the settings.
"""

import shutil
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from assistant.cli.options import Globals
from assistant.disk import storage
from assistant.display import spelled
from assistant.errors import AssistantError
from assistant.workspace import folder as workspace

if TYPE_CHECKING:
    from assistant.model.catalogue import Offer


OPENING = (
    "Welcome. {many} questions; Enter skips one. The answers go into USER.md, IDENTITY.md and your "
    "settings, where you can change them."
)
EMPTY_PROFILE = "- I have just made this workspace"
"""How the line of USER.md begins that the name takes the place of."""
MOST = 5
"""Models of an Ollama that are offered."""
LONGEST_NAME = 5
"""Words; more are a message."""
LATER = "Your name goes into USER.md, the tone into IDENTITY.md, the model into the settings."
VOICE = "## Voice\n\n"
"""The heading of IDENTITY.md under which the tone goes first."""


def ensure_workspace(options: Globals) -> None:
    """Offer to make the workspace if there is none at all."""
    root = options.directory or workspace.default_root()
    if root.exists():
        return
    if typer.confirm(f"There is no workspace yet. Make one at {root}?", default=True, err=True):
        from assistant.cli.commands import setup

        setup.tell(setup.make(root))


class _Message(Exception):
    """The owner wrote a message and not an answer."""


def greet(options: Globals) -> str:
    """Ask the three questions, if this is the first chat since `init`; once, whatever becomes
    of it. What is a message and not an answer ends them, and is returned."""
    place = options.place()
    if not place.new.exists():
        return ""
    place.new.unlink()
    from assistant.cli.doctor import model_name  # models and settings: once in a life

    known = bool(model_name())
    typer.echo(err=True)
    _tell(OPENING.format(many="Two" if known else "Three"))
    typer.echo(err=True)
    message = ""
    try:
        if name := _answer("What is your name?", most_words=LONGEST_NAME):
            _write(place.root / "USER.md", f"- Name: {name}.\n", EMPTY_PROFILE)
        if tone := _answer("How should I sound? (Enter: warm, plain and brief)"):
            _write(place.root / "IDENTITY.md", f"- Above all: {tone.rstrip('.')}.\n", VOICE)
        if not known:
            _connect()
    except typer.Abort:
        pass  # Ctrl-C and Ctrl-D skip all that is left
    except _Message as said:
        message = str(said)
        _tell("That is a message, so I answer it. " + LATER)
    typer.echo(err=True)
    return message


def _tell(text: str, indent: str = "") -> None:
    """Say something, broken between words on any terminal."""
    columns = shutil.get_terminal_size().columns
    filled = textwrap.fill(text, columns, initial_indent=indent, subsequent_indent=indent)
    typer.echo(filled, err=True)


def _answer(question: str, most_words: int | None = None) -> str:
    """The answer on one line. Raises _Message for a question, a command, or too many words."""
    said = typer.prompt(question, default="", show_default=False, prompt_suffix=" ", err=True)
    words = str(said).split()
    text = " ".join(words)
    if text.endswith("?") or text.startswith("/") or len(words) > (most_words or len(words)):
        raise _Message(text)
    return text


def _write(path: Path, line: str, anchor: str) -> None:
    """Put a line into a file: in place of the line that begins with an anchor, or after a heading
    that is one; at the end if neither is there."""
    text = storage.held(path).decode("utf-8")
    before, found, after = text.partition(anchor)
    if not found:
        text = f"{text.rstrip()}\n\n{line}"
    elif anchor.endswith("\n"):
        text = f"{before}{anchor}{line}{after}"
    else:
        text = f"{before}{line}{after.partition(chr(10))[2]}"
    storage.replace(path, text.encode())
    typer.echo(f"  written to {path.name}", err=True)


# The model


def _connect() -> None:
    """Let the owner choose a model, and try it, until one answers or none is wanted."""
    from assistant.model.catalogue import offers

    found = offers(most=MOST)
    _show(found)
    while name := _chosen(found, _answer("Which model? (a number, a name, or Enter for none)")):
        if _connected(name):
            return


def _show(found: "Sequence[Offer]") -> None:
    if not found:
        _tell("No Ollama runs here, and no provider's key is set in this shell.")
    for number, offer in enumerate(found, start=1):
        typer.echo(f"  {number}. {offer.model}  ({offer.reason})", err=True)
    _tell("Without a model I quote what memory holds; nothing leaves this machine.")


def _chosen(found: "Sequence[Offer]", said: str) -> str:
    if said.isdecimal() and 1 <= int(said) <= len(found):
        return found[int(said) - 1].model
    return said


def _connected(name: str) -> bool:
    """Try a model; if it answers, or is wanted all the same, it is the configured one."""
    from assistant.cli.commands import config
    from assistant.model.select import try_model

    if " " in name or not name[0].isalnum():
        _tell("That names no model. A name is as `ollama_chat/qwen3`; Enter goes on without.", "  ")
        return False
    _tell(f"asking {spelled(name)} for a word …", "  ")
    try:
        _tell(f"it says: {spelled(try_model(name))}", "  ")
        config.put("model.name", [name])
    except AssistantError as error:
        _tell(spelled(str(error)), "  ")
        return False
    return True
