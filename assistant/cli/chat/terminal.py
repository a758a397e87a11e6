"""The chat in a terminal: the prompt appears at once, while everything slow loads in the
background."""

import contextlib
import os
import shutil
import sys
import textwrap
import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING

from prompt_toolkit.history import FileHistory, History, InMemoryHistory

from assistant import __version__, config
from assistant.app.options import ChatOptions
from assistant.cli.chat.completion import ChatCompleter
from assistant.cli.chat.live import LiveScreen
from assistant.cli.chat.plain import PlainScreen
from assistant.cli.chat.screen import Screen
from assistant.cli.options import Globals
from assistant.cli.palette import DUMB, PROMPT, echo, faint, owner_text
from assistant.disk import storage
from assistant.display import shortened
from assistant.workspace.folder import command_for

if TYPE_CHECKING:
    from assistant.cli.chat.loop import ChatLoop

OPENING = "opening memory"
UNDOES = "`assistant undo` takes back the last turn"
OFF_THE_RECORD = "off the record "


def converse(context: Globals, options: ChatOptions, first: str = "", *, plain: bool) -> None:
    """Chat until the owner leaves; `first` is a message they have already written."""
    workspace = context.workspace()
    completer = ChatCompleter(workspace.root)
    with _screen(options, completer, plain=plain) as screen:
        # cut to one line, since wrapping would import rich
        header = f"assistant {__version__} · /help · {workspace.root}"
        screen.put(faint(shortened(header, shutil.get_terminal_size().columns)), "line")
        background = _Background(context, options, screen, completer)
        with contextlib.suppress(EOFError):
            _talk(background, screen, first)
    facts, session = background.close()
    if facts:
        echo("\nnoted:", f" · {UNDOES}")
        columns = shutil.get_terminal_size().columns
        for fact in facts:
            echo(textwrap.fill(fact, columns, initial_indent="- ", subsequent_indent="  "))
    if session:
        command = command_for(workspace.root)
        echo(f"\nto continue: {command} chat --resume {session}", faint=True)
    background.leave()


def _talk(background: "_Background", screen: Screen, first: str) -> None:
    """Handle the owner's lines one by one. Raises EOFError when they leave."""
    try:
        if background.continues:
            background.loop().go_on()
        if first:
            screen.put(owner_text(first))
            background.loop().take(first)
    except KeyboardInterrupt:  # Ctrl-C or Ctrl-D while the chat opens
        raise EOFError from None
    while True:
        try:
            if line := screen.read().strip():
                background.loop().take(line)
        except KeyboardInterrupt:  # nothing was running
            continue


class _Background:
    """Opens the chat in a separate thread once the prompt has been drawn."""

    def __init__(
        self, context: Globals, options: ChatOptions, screen: Screen, completer: ChatCompleter
    ) -> None:
        self.continues = bool(options.resume or options.latest)
        self._context = context
        self._options = options
        self._screen = screen
        self._completer = completer
        self._loop: Future[ChatLoop] = Future()
        self._thread = threading.Thread(target=self._open, name="opening", daemon=True)
        self._thread.start()

    def loop(self) -> "ChatLoop":
        """Wait for the chat to open. Raises the error that prevented it."""
        with self._screen.working(None):
            self._screen.draw(doing=OPENING)
            return self._loop.result()

    def close(self) -> tuple[list[str], str]:
        """Close the chat if it was opened, like `ChatLoop.close`."""
        opened = self._loop.done() and self._loop.exception() is None
        return self._loop.result().close() if opened else ([], "")

    def leave(self) -> None:
        """Exit at once if modules are still being imported.

        litellm's destructors also import modules, and would wait for that import forever.
        """
        if self._thread.is_alive():
            sys.stdout.flush()
            os._exit(0)

    def _open(self) -> None:
        try:
            from assistant.cli.chat.approval import Asking  # slow to import: after the prompt
            from assistant.cli.chat.loop import ChatLoop
            from assistant.cli.chat.slash import COMMANDS, values

            self._completer.commands = COMMANDS
            approver = Asking(self._screen)
            chat = self._context.open_chat(self._options, approver, self._progress)
            self._completer.values = values(chat)
            loop = ChatLoop(chat, self._screen)
            if not self.continues:
                loop.name_abandoned()
            self._loop.set_result(loop)
        except BaseException as error:  # re-raised in the thread that waits for the chat
            self._loop.set_exception(error)
            self._screen.end(error)
            return
        with contextlib.suppress(Exception):  # the first request reports the error
            chat.preload()

    def _progress(self, what: str, done: int, total: int) -> None:
        finished = 0 < total <= done
        self._screen.draw(
            progress="" if finished else f"{what}: {done:,}" + f" of {total:,}" * bool(total)
        )


def _screen(
    options: ChatOptions, completer: ChatCompleter, *, plain: bool
) -> LiveScreen | PlainScreen:
    prompt = OFF_THE_RECORD + PROMPT if options.off_the_record else PROMPT
    if plain or os.environ.get("TERM", "") in DUMB:
        return PlainScreen(prompt)
    history = InMemoryHistory() if options.off_the_record else _history()
    keys = config.load().get("chat")  # unvalidated, so as not to import pydantic here
    vi = isinstance(keys, dict) and keys.get("keys") == "vi"
    return LiveScreen(prompt, history, completer, vi=vi)


def _history() -> History:
    path = config.state_dir() / "prompts"
    storage.private_directory(path.parent)
    path.touch(mode=storage.PRIVATE_FILE)
    return _RedactedHistory(str(path))


class _RedactedHistory(FileHistory):
    """The history of the prompt, stored on disk without secrets."""

    def store_string(self, string: str) -> None:
        # its patterns are slow to load: after the prompt
        from assistant.secrets.registered import redactor

        super().store_string(redactor().redact(string))
