"""The chat in a terminal: the prompt appears at once, everything heavy loads behind it."""

import contextlib
import os
import shutil
import sys
import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING

import typer
from prompt_toolkit.history import FileHistory, History, InMemoryHistory

from assistant import __version__, config
from assistant.cli.chat.completion import ChatCompleter
from assistant.cli.chat.live import LiveScreen
from assistant.cli.chat.palette import DUMB, PROMPT, faint, owner_text
from assistant.cli.chat.plain import PlainScreen
from assistant.cli.chat.screen import Screen
from assistant.cli.opening import Opening
from assistant.disk import storage
from assistant.display import shortened, spelled
from assistant.errors import MemoryFailure

if TYPE_CHECKING:
    from assistant.cli.chat.loop import ChatLoop

OPENING = "opening memory"
UNDOES = "`assistant undo` takes back the last turn"
OFF_THE_RECORD = "off the record "


def converse(opening: Opening, first: str = "") -> None:
    """Talk until the owner leaves; `first` is a message that they have written already."""
    place = opening.options.place()
    completer = ChatCompleter(place.root)
    with _screen(opening, completer) as screen:
        header = f"assistant {__version__} · /help · {place.root}"  # a longer line would load rich
        screen.put(faint(shortened(header, shutil.get_terminal_size().columns)), "line")
        background = _Background(opening, screen, completer)
        with contextlib.suppress(EOFError):
            _talk(background, screen, first)
    noted, session = background.close()
    if noted:
        typer.echo("\n" + f"noted: {spelled('; '.join(noted))}" + faint(f" · {UNDOES}"))
    if session:
        where = f" -w {place.root}" if opening.options.directory else ""
        typer.echo("\n" + faint(f"to continue: assistant{where} chat --resume {session}"))
    background.leave()


def _talk(background: "_Background", screen: Screen, first: str) -> None:
    """Take what the owner says, line by line. Raises EOFError when they leave."""
    if background.goes_on:
        background.loop().go_on()
    if first:
        screen.put(owner_text(first))
        background.loop().take(first)
    while True:
        try:
            if line := screen.read().strip():
                background.loop().take(line)
        except KeyboardInterrupt:  # it ends what runs, and nothing did
            continue


class _Background:
    """Opens the chat in a thread of its own, once the prompt has been drawn."""

    def __init__(self, opening: Opening, screen: Screen, completer: ChatCompleter) -> None:
        self.goes_on = bool(opening.wish.resume or opening.wish.latest)
        self._opening = opening
        self._screen = screen
        self._completer = completer
        self._loop: Future[ChatLoop] = Future()
        self._thread = threading.Thread(target=self._open, name="opening", daemon=True)
        self._thread.start()

    def loop(self) -> "ChatLoop":
        """The chat on its screen, once it is open. Raises what kept it from opening."""
        with self._screen.working(None):
            self._screen.draw(doing=OPENING)
            return self._loop.result()

    def close(self) -> tuple[list[str], str]:
        """Close the chat, if it was opened; the facts it has noted, and what names its session."""
        if not self._loop.done() or self._loop.exception() is not None:
            return [], ""
        loop, noted = self._loop.result(), []
        with contextlib.suppress(MemoryFailure):  # a memory that is lost was told of in the chat
            noted = loop.noted
        loop.chat.close()
        return noted, loop.name

    def leave(self) -> None:
        """End the process at once if modules are still being imported.

        litellm's destructors import as well, and would wait for that import for ever.
        """
        if self._thread.is_alive():
            sys.stdout.flush()
            os._exit(0)

    def _open(self) -> None:
        try:
            from assistant.cli.chat.approval import Asking  # the agent: behind the prompt
            from assistant.cli.chat.loop import ChatLoop
            from assistant.cli.chat.slash import COMMANDS, values

            self._completer.commands = COMMANDS
            chat = self._opening.open(Asking(self._screen), progress=self._progress)
            self._completer.values = values(chat)
            loop = ChatLoop(chat, self._screen)
            if not self.goes_on:
                loop.name_abandoned()
            self._loop.set_result(loop)
            chat.preload()
        except BaseException as error:  # carried to the thread that asks for the chat
            self._loop.set_exception(error)
            self._screen.end(error)

    def _progress(self, what: str, done: int, total: int) -> None:
        over = 0 < total <= done
        self._screen.draw(
            progress="" if over else f"{what}: {done:,}" + f" of {total:,}" * bool(total)
        )


def _screen(opening: Opening, completer: ChatCompleter) -> LiveScreen | PlainScreen:
    prompt = OFF_THE_RECORD + PROMPT if opening.wish.off_the_record else PROMPT
    if opening.plain or os.environ.get("TERM", "") in DUMB:
        return PlainScreen(prompt)
    history = InMemoryHistory() if opening.wish.off_the_record else _history()
    vi = config.load().get("chat", {}).get("keys") == "vi"  # unchecked: that is heavy
    return LiveScreen(prompt, history, completer, vi=vi)


def _history() -> History:
    path = config.state_dir() / "prompts"
    storage.private_directory(path.parent)
    path.touch(mode=storage.PRIVATE_FILE)
    return _RedactedHistory(str(path))


class _RedactedHistory(FileHistory):
    """What was typed, for the next chat too; on disk without secrets."""

    def store_string(self, string: str) -> None:
        from assistant.secrets.current import redactor  # its patterns: behind the prompt

        super().store_string(redactor().redact(string))
