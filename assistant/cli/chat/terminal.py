"""The chat in a terminal: the prompt appears at once, everything heavy loads behind it."""

import contextlib
import os
import shutil
import sys
import threading
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from prompt_toolkit.history import FileHistory, History, InMemoryHistory

from assistant import __version__, config
from assistant.cli.chat.completion import ChatCompleter
from assistant.cli.chat.live import LiveScreen
from assistant.cli.chat.palette import DUMB, PROMPT, faint
from assistant.cli.chat.plain import PlainScreen
from assistant.cli.chat.screen import Screen
from assistant.cli.opening import Opening
from assistant.disk import storage
from assistant.display import spelled
from assistant.errors import MemoryFailure

if TYPE_CHECKING:
    from assistant.cli.chat.sitting import Sitting


OPENING = "opening memory"
UNDOES = "`assistant undo` takes back the last turn"
OFF_THE_RECORD = "off the record "


def converse(opening: Opening, first: str = "") -> None:
    """Talk until the owner leaves; `first` is a message that they have written already."""
    place = opening.options.place()
    completer = ChatCompleter(place.root)
    with _screen(opening, completer) as screen:
        screen.put(faint(_header(place.root)), "line")
        behind = _Behind(opening, screen, completer)
        behind.start()
        with contextlib.suppress(EOFError):
            _talk(behind, screen, first)
    noted, how = behind.close()
    if noted:
        typer.echo("\n" + f"noted: {spelled('; '.join(noted))}" + faint(f" · {UNDOES}"))
    if how:
        where = f" -w {place.root}" if opening.options.directory else ""
        typer.echo("\n" + faint(f"go on with it: assistant{where} chat --resume {how}"))
    behind.leave()


def _header(root: Path) -> str:
    """One line, however long the path: what wraps lines loads rich, and the prompt waits for it."""
    before, after = f"assistant {__version__} · ", " · /help"
    room = max(shutil.get_terminal_size().columns - len(before + after), 1)
    place = str(root)
    return before + (place if len(place) <= room else f"…{place[1 - room :]}") + after


def _talk(behind: "_Behind", screen: Screen, first: str) -> None:
    """Take what the owner says, line by line. Raises EOFError when they leave."""
    if behind.goes_on:
        _sitting(behind, screen).go_on()
    if first:
        _sitting(behind, screen).take(first)
    while True:
        try:
            if line := screen.read().strip():
                _sitting(behind, screen).take(line)
        except KeyboardInterrupt:  # it ends what runs, and nothing did
            continue


def _sitting(behind: "_Behind", screen: Screen) -> "Sitting":
    with screen.working(None):
        screen.does(OPENING)
        return behind.opened()


class _Behind:
    """The chat, opened in a thread once the prompt has been drawn."""

    def __init__(self, opening: Opening, screen: Screen, completer: ChatCompleter) -> None:
        self.goes_on = bool(opening.wish.resume or opening.wish.latest)
        self._opening = opening
        self._screen = screen
        self._completer = completer
        self._opened: Future[Sitting] = Future()
        self._thread = threading.Thread(target=self._open, name="opening", daemon=True)

    def start(self) -> None:
        """Begin to open."""
        self._thread.start()

    def opened(self) -> "Sitting":
        """The chat on its screen, when it is there. Raises what kept it from opening."""
        return self._opened.result()

    def close(self) -> tuple[list[str], str]:
        """Close the chat, if it was opened; the facts it has noted, and what names its session."""
        if not self._opened.done() or self._opened.exception() is not None:
            return [], ""
        sitting, noted = self._opened.result(), []
        with contextlib.suppress(MemoryFailure):  # a memory that is lost was told of in the chat
            noted = sitting.noted
        sitting.chat.close()
        return noted, sitting.name

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
            from assistant.cli.chat.sitting import Sitting
            from assistant.cli.chat.slash import COMMANDS, values

            self._completer.commands = {
                name: (command.argument, command.help) for name, command in COMMANDS.items()
            }
            chat = self._opening.open(Asking(self._screen), progress=self._progress)
            self._completer.values = values(chat)
            sitting = Sitting(chat, self._screen)
            if not self.goes_on:
                sitting.name_abandoned()
            self._opened.set_result(sitting)
            chat.preload()
        except BaseException as error:  # carried to the thread that asks for the chat
            self._opened.set_exception(error)
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
    return _Prompts(str(path))


class _Prompts(FileHistory):
    """What was typed, for the next chat too; on disk without secrets."""

    def store_string(self, string: str) -> None:
        from assistant.secrets.current import redactor  # its patterns: behind the prompt

        super().store_string(redactor().redact(string))
