"""The chat in a terminal: the prompt appears at once, everything heavy loads behind it."""

import os
import sys
import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING

import typer
from prompt_toolkit import PromptSession
from prompt_toolkit.completion import Completer, DynamicCompleter, WordCompleter
from prompt_toolkit.formatted_text import ANSI
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

from assistant import __version__, config, storage
from assistant.cli.opening import Opening

if TYPE_CHECKING:
    from assistant.app import Chat
    from assistant.cli.terminal.turns import Terminal

PROMPT = ANSI("\x1b[1;36m›\x1b[0m ")
CONTINUED = ANSI("\x1b[2m…\x1b[0m ")


def converse(opening: Opening) -> None:
    """Talk until the owner leaves."""
    place = opening.options.place()
    typer.echo(typer.style(f"assistant {__version__} · {place.root} · /help", dim=True))
    behind = _Behind(opening)
    prompt = _prompt(behind, off_the_record=opening.off_the_record)
    try:
        typed = _resumed(behind) if opening.resume or opening.latest else ""
        while (line := _line(prompt, typed)) is not None:
            typed = ""
            if line:
                terminal, chat = behind.opened()
                if not line.startswith("/"):
                    typed = terminal.turn(chat, chat.conversation.send(line))
                    while late := chat.conversation.late():
                        typed = terminal.turn(chat, chat.conversation.send(late))
                elif not terminal.command(chat, line):
                    break
    finally:
        behind.close()
    behind.leave()


def _line(prompt: "PromptSession[str]", typed: str) -> str | None:
    """What the owner says next; empty after Ctrl-C, None after Ctrl-D."""
    try:
        return prompt.prompt(default=typed).strip()
    except KeyboardInterrupt:
        return ""
    except EOFError:
        return None


def _resumed(behind: "_Behind") -> str:
    """Say which session goes on, and finish a turn that a crash cut off."""
    terminal, chat = behind.opened()
    typer.echo(typer.style(f"going on with {chat.conversation.transcript.session}", dim=True))
    if chat.conversation.unfinished:
        return terminal.turn(chat, chat.conversation.resume())
    return ""


class _Behind:
    """The terminal and the chat, opened in a thread once the prompt has been drawn."""

    def __init__(self, opening: Opening) -> None:
        self._opening = opening
        self._opened: Future[tuple[Terminal, Chat]] = Future()
        self._thread: threading.Thread | None = None

    def start(self, *_: object) -> None:
        """Begin to open, once."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._open, name="opening", daemon=True)
            self._thread.start()

    def opened(self) -> "tuple[Terminal, Chat]":
        """Both, when they are there. Raises what kept the chat from opening."""
        self.start()
        return self._opened.result()

    def close(self) -> None:
        """Close the chat, if it was opened."""
        if self._thread is not None and self._opened.exception() is None:
            self._opened.result()[1].close()

    def leave(self) -> None:
        """End the process at once if modules are still being imported.

        litellm's destructors import as well, and would wait for that import for ever.
        """
        if self._thread is not None and self._thread.is_alive():
            sys.stdout.flush()
            os._exit(0)

    def _open(self) -> None:
        try:
            from assistant.cli.terminal.turns import Terminal  # rich: behind the prompt

            terminal = Terminal()
            chat = self._opening.open(terminal)
            self._opened.set_result((terminal, chat))
            chat.preload()
        except BaseException as error:  # carried to the thread that asks for the chat
            self._opened.set_exception(error)


def _prompt(behind: _Behind, *, off_the_record: bool) -> "PromptSession[str]":
    """The prompt: history, slash commands with completion, Alt-Enter for a new line."""
    session: PromptSession[str] = PromptSession(
        PROMPT,
        history=InMemoryHistory() if off_the_record else _history(),
        completer=DynamicCompleter(_slash_commands),
        key_bindings=_keys(),
        multiline=True,
        reserve_space_for_menu=5,
        prompt_continuation=CONTINUED,
    )
    session.app.after_render += behind.start
    return session


def _slash_commands() -> Completer:
    from assistant.cli.terminal.slash import COMMANDS  # as above

    return WordCompleter(list(COMMANDS), sentence=True)


def _history() -> History:
    path = config.state_dir() / "prompts"
    storage.private_directory(path.parent)
    path.touch(mode=storage.PRIVATE_FILE)
    return _Prompts(str(path))


class _Prompts(FileHistory):
    """What was typed, for the next chat too; on disk without secrets."""

    def store_string(self, string: str) -> None:
        from assistant.secrets.standing import redactor  # its patterns: behind the prompt

        super().store_string(redactor().redact(string))


def _keys() -> KeyBindings:
    keys = KeyBindings()

    @keys.add("enter")
    def _send(event: KeyPressEvent) -> None:
        event.current_buffer.validate_and_handle()

    @keys.add("escape", "enter")
    def _new_line(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    return keys
