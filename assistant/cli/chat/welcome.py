"""The first chat of a new workspace: up to three questions, each of which can be skipped.

The name goes into USER.md, the tone into IDENTITY.md, the model into the settings; what is there
already is not asked for.
"""

import re
import shutil
import textwrap
from pathlib import Path

import typer

from assistant.cli.options import Globals
from assistant.cli.palette import echo
from assistant.disk import storage
from assistant.display import spelled
from assistant.errors import AssistantError
from assistant.tables import table_of
from assistant.workspace import folder
from assistant.workspace.template import is_untouched

TEXT = table_of(__file__)
EMPTY_PROFILE = r"^- I have just made this workspace.*\n?"
"""The line of USER.md that the name replaces."""
VOICE = r"(?<=^## Voice\n\n)"
"""The position of the tone in IDENTITY.md: directly under its heading."""
COUNTS = ("", "One question", "Two questions", "Three questions")
MAX_OFFERS = 5
"""Maximum number of models offered."""
MAX_NAME_WORDS = 5
"""Maximum number of words in a name; a longer answer is a message."""
NAME_WORD = re.compile(r"[^\W\d_][^\W\d_.'’-]*(?:[.'’-][^\W\d_]*)*")
QUESTION_MARKS = ("?", "？", "؟")
INTRODUCTION = re.compile(rf"(?:{'|'.join(TEXT['introductions'])})\s+", re.IGNORECASE)


def ensure_workspace(options: Globals) -> None:
    """Offer to create the workspace if there is none."""
    root = options.directory or folder.default_root()
    if root.exists():
        return
    if typer.confirm(f"There is no workspace yet. Create one at {root}?", default=True, err=True):
        from assistant.cli.commands import setup

        setup.show_created(setup.make(root))


class MessageInstead(Exception):
    """The owner wrote a message instead of an answer."""


def greet(options: Globals) -> str:
    """Ask the questions in the first chat after `init`, and never again: the name and the tone
    unless the owner has written their files, the model unless there is one.

    A message in place of an answer ends them, and is returned.
    """
    workspace = options.workspace()
    if not workspace.new.exists():
        return ""
    workspace.new.unlink()
    from assistant.cli.doctor import model_name  # models and settings: slow to import

    user, identity = workspace.root / "USER.md", workspace.root / "IDENTITY.md"
    lacks_name, lacks_tone = is_untouched(user), is_untouched(identity)
    lacks_model = not model_name()
    many = COUNTS[lacks_name + lacks_tone + lacks_model]
    if not many:
        return ""
    echo(err=True)
    _print(TEXT["opening"].format(many=many))
    echo(err=True)
    message = ""
    try:
        if lacks_name and (name := ask_name()):
            _write(user, f"- Name: {name}.\n", EMPTY_PROFILE)
        question = "How should I sound? (Enter: warm, plain and brief)"
        if lacks_tone and (tone := _answer(question)):
            _write(identity, f"- Above all: {tone.rstrip('.')}.\n", VOICE)
        if lacks_model:
            _choose_model(options)
    except (typer.Abort, KeyboardInterrupt):
        pass  # Ctrl-C and Ctrl-D skip the remaining questions
    except MessageInstead as error:
        message = str(error)
        _print(TEXT["is_message"])
    echo(err=True)
    return message


def _print(text: str, indent: str = "") -> None:
    """Print a text, wrapped to the terminal."""
    columns = shutil.get_terminal_size().columns
    filled = textwrap.fill(text, columns, initial_indent=indent, subsequent_indent=indent)
    echo(filled, err=True)


def _answer(question: str) -> str:
    """Ask, and return the answer on one line. Raises MessageInstead for a question or a command."""
    answer = typer.prompt(question, default="", show_default=False, prompt_suffix=" ", err=True)
    text = " ".join(str(answer).split())
    if text.endswith(QUESTION_MARKS) or text.startswith("/"):
        raise MessageInstead(text)
    return text


def ask_name() -> str:
    """Return the owner's name, from an answer such as "I'm Ole Berg".

    Raises MessageInstead for an answer that is no name: a question, many words, other characters
    than letters, or a word such as "my" in lower case.
    """
    from assistant.memory.text.language import LANGUAGES, is_function_word  # slow to import

    answer = _answer("What is your name?")
    name = INTRODUCTION.sub("", answer).rstrip(".!")
    words = name.split()
    is_capitalised = bool(words) and words[0][0].isupper() and words[-1][0].isupper()
    says = any(is_function_word(word, language) for word in words[1:] for language in LANGUAGES)
    is_long = len(words) > MAX_NAME_WORDS
    if is_long or (says and not is_capitalised) or not all(map(NAME_WORD.fullmatch, words)):
        raise MessageInstead(answer)
    return name


def _write(path: Path, line: str, pattern: str) -> None:
    """Write a line where a pattern matches in a file, or at its end."""
    text = storage.read_or_empty(path).decode("utf-8")
    text, count = re.subn(pattern, lambda _: line, text, count=1, flags=re.MULTILINE)
    if not count:
        text = f"{text.rstrip()}\n\n{line}"
    storage.replace(path, text.encode())
    echo(f"  written to {path.name}", err=True)


def _choose_model(options: Globals) -> None:
    """Let the owner choose models until one answers or they choose none."""
    from assistant.model.catalogue import offers

    models = offers(most=MAX_OFFERS)
    if not models:
        _print(TEXT["no_offers"])
    for number, offer in enumerate(models, start=1):
        echo(f"  {number}. {offer.model}  ({offer.reason})", err=True)
    _print(TEXT["without_model"])
    while name := _answer("Which model? (a number, a name, or Enter for none)"):
        if name.isdecimal() and 1 <= int(name) <= len(models):
            name = models[int(name) - 1].model
        if _try_and_configure(options, name):
            return


def _try_and_configure(options: Globals, name: str) -> bool:
    """Try a model; if it answers, configure it and return True."""
    from assistant.cli.commands import config
    from assistant.model.select import try_model

    if " " in name or not name[0].isalnum():
        _print(TEXT["no_model"], "  ")
        return False
    _print(f"trying {spelled(name)} …", "  ")
    try:
        _print(f"it says: {spelled(try_model(name))}", "  ")
        config.put(options, "model.name", [name])
    except AssistantError as error:
        _print(spelled(str(error)), "  ")
        return False
    return True
