"""Questions of a command to its owner: at its own terminal, or where a chat puts them."""

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar

import typer

Answer = Callable[[str], str]
"""Puts a question and returns what the owner types. Raises EOFError at Ctrl-D."""
_chat: ContextVar[Answer | None] = ContextVar("_chat", default=None)


@contextlib.contextmanager
def asked_by(answer: Answer) -> Iterator[None]:
    """Within this, a chat asks the questions and shows what is said beside them."""
    before = _chat.set(answer)
    try:
        yield
    finally:
        _chat.reset(before)


def say(text: str) -> None:
    """Tell the owner something that is no output of the command."""
    typer.echo(text, err=_chat.get() is None)


def ask(question: str, default: str | None = None) -> str:
    """What the owner answers, `default` if nothing."""
    answer = _chat.get()
    if answer is None:
        said: str = typer.prompt(question, default=default, show_default=bool(default), err=True)
        return said.strip()
    try:
        said = answer(f"{question} [{default}]: " if default else f"{question}: ").strip()
    except EOFError:
        said = ""
    return said or default or ""


def confirm(question: str) -> bool:
    """The owner's yes."""
    if _chat.get() is None:
        return typer.confirm(question, err=True)
    return ask(question, "y/N").lower() in ("y", "yes")
