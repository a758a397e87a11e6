"""Questions to the owner, each answered with a key; `?` explains the keys."""

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar

import typer

from assistant.cli.palette import echo
from assistant.errors import UsageError

Keys = Mapping[str, str]
"""What each key does: "yes, write it"."""
Answer = Callable[[str, str], str]
"""Asks a question, with a draft of the answer, and returns what the owner types. Raises EOFError at
Ctrl-D."""
_chat: ContextVar[Answer | None] = ContextVar("_chat", default=None)


@contextlib.contextmanager
def asked_by(answer: Answer) -> Iterator[None]:
    """Let a chat ask the questions and show the notes that go with them."""
    before = _chat.set(answer)
    try:
        yield
    finally:
        _chat.reset(before)


def in_chat() -> bool:
    """Return whether a chat asks the questions."""
    return _chat.get() is not None


def say(text: str) -> None:
    """Show the owner a text that is not part of the command's output."""
    echo(text, err=not in_chat())


def ask(question: str, default: str | None = None) -> str:
    """Ask the owner, and return the answer; `default` if it is empty."""
    answer = _chat.get()
    if answer is None:
        text: str = typer.prompt(question, default=default, show_default=bool(default), err=True)
        return text.strip()
    try:
        text = answer(f"{question} [{default}]: " if default else f"{question}: ", "").strip()
    except EOFError:
        text = ""
    return text or default or ""


def edit(question: str, text: str) -> str:
    """Let the owner edit the text on the question's line, and return it; empty if they close it."""
    answer = _chat.get() or edited_line
    try:
        return answer(f"{question}: ", text).strip()
    except EOFError:
        return ""


def edited_line(question: str, text: str) -> str:
    """Let the owner edit a text on a terminal in line mode, and return it. Raises EOFError."""
    import readline  # only for a question

    readline.set_startup_hook(lambda: readline.insert_text(text))
    try:
        return input(question)
    finally:
        readline.set_startup_hook(None)


def choose(name: str) -> str:
    """Ask a question of questions.toml, and return the key that the owner presses.

    `?` and unknown keys show what each key does, and the question is asked again.
    """
    from assistant.tables import table_of  # tomllib: only for a question

    asked = table_of(__file__)[name]
    keys: Keys = asked["keys"]
    while True:
        answer = ask(f"{asked['question']} {listed(keys)}", asked["default"]).casefold()
        for key, meaning in keys.items():
            if answer in (key, meaning.partition(",")[0]):
                return key
        if answer != "?":
            say(f"{answer!r} is not one of the answers:")
        say(explained(keys))


def listed(keys: Keys) -> str:
    """Return the keys as a suffix of a question: `[y,n,?]`."""
    return f"[{','.join([*keys, '?'])}]"


def explained(keys: Keys) -> str:
    """Return what each key does, a line each."""
    return "\n".join(f"  {key}  {meaning}" for key, meaning in keys.items())


def confirm(question: str) -> bool:
    """Return whether the owner says yes."""
    if not in_chat():
        return typer.confirm(question, err=True)
    return ask(question, "y/N").lower() in ("y", "yes")


def must_confirm(question: str, *, yes: bool) -> None:
    """End the command unless the owner confirms it at a terminal or gave `--yes`."""
    if not (yes or sys.stdin.isatty()):
        raise UsageError("this needs your confirmation", "Run it again with --yes")
    if not (yes or typer.confirm(question, err=True)):
        echo("Nothing was changed.", err=True)
        raise typer.Exit(1)
