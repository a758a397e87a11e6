"""The screen's own thread: what the owner types, and what they are asked.

Everything in here happens in that thread. `live.py` is its door to the main one.
"""

import asyncio
import re
import signal
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future
from queue import SimpleQueue

from prompt_toolkit.application import Application
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import Completer
from prompt_toolkit.document import Document
from prompt_toolkit.enums import EditingMode
from prompt_toolkit.history import History
from prompt_toolkit.widgets import SearchToolbar

from assistant.cli.terminal.screen.base import QUIET, During
from assistant.cli.terminal.screen.canvas import Canvas
from assistant.cli.terminal.screen.keys import bindings
from assistant.cli.terminal.screen.output import steady
from assistant.cli.terminal.screen.region import STYLE, Region

DRAWS_PER_SECOND = 20
LEAVE = "Ctrl-D leaves"
CHOOSING = "↑ ↓ choose · Enter answers"
WAITS = ("/", "!")
"""What a line begins with that is for the chat and not for the turn that runs."""
PASTE = "/paste"
NAMES_FILE = re.compile(r"(?<![^\s(])@\S")
"""What a message holds that is to be read first, and so is for the next turn."""


class Desk:
    """What lies before the owner: the prompt and a question. `said` is what they say."""

    def __init__(self, prompt: str, history: History, completer: Completer, *, vi: bool) -> None:
        message = Buffer(
            multiline=True, history=history, completer=completer, complete_while_typing=True
        )
        self.region = Region(message, Buffer(multiline=False), SearchToolbar(), prompt)
        self.said: SimpleQueue[str | BaseException] = SimpleQueue()
        self.busy = False
        self.during: During | None = None
        output = steady()
        self.app: Application[None] = Application(
            self.region.layout(),
            style=STYLE,
            include_default_pygments_style=False,
            editing_mode=EditingMode.VI if vi else EditingMode.EMACS,
            erase_when_done=True,
            min_redraw_interval=1 / DRAWS_PER_SECOND,
            terminal_size_polling_interval=None,
            output=output,
        )
        self.canvas = Canvas(self.app, self.region, output)
        self.app.key_bindings = bindings(self, self.canvas)
        self.app.key_processor.before_key_press += self._key
        self._last_key = 0.0
        self._asked: Future[str] | None = None
        self._options: Sequence[str] = ()

    def run(self) -> None:
        """Draw and take keys until the application is told to exit."""
        try:
            self.app.run(set_exception_handler=False, handle_sigint=False, pre_run=self._begin)
        except BaseException as error:  # carried to the thread that reads
            self.said.put(error)
        finally:
            self.canvas.drawn.set()

    # What the keys do

    @property
    def empty(self) -> bool:
        """Whether nothing is typed where the cursor is."""
        return not self.app.current_buffer.text

    def enter(self) -> None:
        """Answer what is asked; else say what is typed, or with nothing typed, hurry it."""
        if self._asked is not None:
            self._answered(self.region.answer.text)
            return
        message = self.region.message
        text = message.text.strip()
        if text:
            message.append_to_history()
            message.reset()
            self._say(text)
        elif self.region.joins and self.during is not None:
            self.during.hurry()

    @property
    def choosing(self) -> bool:
        """Whether there are answers to choose from."""
        return bool(self._options)

    def choose(self, by: int) -> None:
        """Write the next of the offered answers, or with -1 the one before."""
        written = self.region.answer.text
        first = 0 if by > 0 else len(self._options) - 1
        place = self._options.index(written) + by if written in self._options else first
        chosen = self._options[place % len(self._options)]
        self.region.answer.document = Document(chosen)

    def interrupt(self) -> None:
        """End what runs, or clear what is typed; never the chat."""
        if self._asked is not None:
            self._answered(KeyboardInterrupt())
        elif self.busy:
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        elif self.empty:
            self.region.hint = LEAVE
        self.app.current_buffer.reset()

    def close(self) -> None:
        """Say no to a question; else leave."""
        if self._asked is not None:
            self._answered(EOFError())
            return
        self.said.put(EOFError())
        if self.busy:
            self.interrupt()

    def paste(self) -> None:
        """Have the clipboard's picture go with the message; what is typed of it stays."""
        if self._asked is None:
            self._say(PASTE)

    def heard(self, text: str) -> None:
        """What was queued waits no more."""
        if text in self.region.waiting:
            self.region.waiting.remove(text)
            self.region.joins = self.region.joins and bool(self.region.waiting)
            self.app.invalidate()

    def _say(self, text: str) -> None:
        if self.busy:
            self.region.waiting.append(text)
        if self.busy and self.during is not None and not _is_for_the_chat(text):
            self.during.queue(text)
            self.region.joins = True
        else:
            self.said.put(text)

    # Questions

    def settle(self, quiet: Future[None]) -> None:
        """Say when no key has been pressed for a while."""
        began = time.monotonic()

        async def wait() -> None:
            while (left := max(began, self._last_key) + QUIET - time.monotonic()) > 0:
                await asyncio.sleep(left)
            quiet.set_result(None)

        self.app.create_background_task(wait())

    def ask(self, question: str, options: Sequence[str], answer: Future[str]) -> None:
        """Put a question in the place of the prompt; what is typed there stays."""
        self._asked, self.region.question = answer, question
        self._options, self.region.hint = options, CHOOSING if options else ""
        self.app.layout.focus(self.region.answer)
        self.app.invalidate()

    def _answered(self, answer: str | BaseException) -> None:
        asked, self._asked, self.region.question = self._asked, None, None
        self._options = ()
        self.region.answer.reset()
        self.app.layout.focus(self.region.message)
        assert asked is not None
        if isinstance(answer, BaseException):
            asked.set_exception(answer)
        else:
            asked.set_result(answer)

    def _begin(self) -> None:
        asyncio.get_running_loop().set_exception_handler(self._failed)
        self.app.create_background_task(self._tick())

    def _failed(self, loop: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
        error = context.get("exception")
        self.said.put(error if isinstance(error, BaseException) else RuntimeError(str(context)))

    async def _tick(self) -> None:
        """Keep the seconds going while something runs."""
        while True:
            await asyncio.sleep(1)
            if self.region.doing:
                self.app.invalidate()

    def _key(self, _: object) -> None:
        self._last_key = time.monotonic()
        self.region.hint = ""


def _is_for_the_chat(text: str) -> bool:
    return text.startswith(WAITS) or bool(NAMES_FILE.search(text))
