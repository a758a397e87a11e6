"""The drawn screen."""

import asyncio
import contextlib
import re
import signal
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from functools import lru_cache, partial
from queue import SimpleQueue
from typing import Any, Protocol

from prompt_toolkit.application import Application
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import Completer
from prompt_toolkit.document import Document
from prompt_toolkit.enums import EditingMode
from prompt_toolkit.filters import Condition
from prompt_toolkit.history import History
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.utils import get_cwidth
from prompt_toolkit.widgets import SearchToolbar

from assistant.cli.chat.completion import pictures_named
from assistant.cli.chat.palette import SGR, said
from assistant.cli.chat.region import STYLE, Canvas, Region, steady
from assistant.cli.chat.screen import QUIET, Choice, During, Kind, Line


class Hands(Protocol):
    """What the owner can do besides editing."""

    def enter(self) -> None:
        """Say it, answer it, or queue it."""

    def interrupt(self) -> None:
        """End what runs; never the chat."""

    def close(self) -> None:
        """End the chat, or say no to a question."""

    def paste(self) -> None:
        """Have the clipboard's picture go with the message."""

    def choose(self, by: int) -> None:
        """Write another of the offered answers."""

    @property
    def choosing(self) -> bool:
        """Whether answers are offered."""

    @property
    def empty(self) -> bool:
        """Whether nothing is typed."""


def bindings(hands: Hands, canvas: Canvas) -> KeyBindings:
    """The keys: Enter, Alt-Enter, Ctrl-C, Ctrl-D, Ctrl-Z, Ctrl-V, Ctrl-X Ctrl-E; arrows."""
    keys = KeyBindings()

    def on(do: Callable[[], None], *names: str, when: Callable[[], bool] = lambda: True) -> None:
        keys.add(*names, filter=Condition(when))(lambda event: do())

    on(hands.interrupt, "c-c")
    on(hands.close, "c-d", when=lambda: hands.empty)
    on(canvas.suspend, "c-z")
    on(canvas.edit, "c-x", "c-e")
    on(hands.paste, "c-v")
    on(lambda: hands.choose(1), "down", when=lambda: hands.choosing)
    on(lambda: hands.choose(-1), "up", when=lambda: hands.choosing)
    keys.add("escape", "enter")(lambda event: event.current_buffer.insert_text("\n"))
    keys.add(Keys.BracketedPaste)(_pasted)

    @keys.add("enter")
    def _enter(event: KeyPressEvent) -> None:
        state = event.current_buffer.complete_state
        if state and state.current_completion:
            event.current_buffer.apply_completion(state.current_completion)
        else:
            hands.enter()

    return keys


def _pasted(event: KeyPressEvent) -> None:
    """Take in what was pasted: the names of pictures with spaces around them, all else as it is."""
    buffer, text = event.current_buffer, event.data.replace("\r\n", "\n").replace("\r", "\n")
    before = buffer.document.char_before_cursor
    apart = " " if before and not before.isspace() else ""
    named = pictures_named(text)
    buffer.insert_text(f"{apart}{named} " if named else text)


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


class LiveScreen:
    """A terminal with the chat on it, for `with`. For the main thread."""

    def __init__(
        self, prompt: str, history: History, completer: Completer, *, vi: bool = False
    ) -> None:
        self._desk = Desk(prompt, history, completer, vi=vi)
        self._thread = threading.Thread(target=self._desk.run, name="screen", daemon=True)
        self._last: Kind = "line"
        self._before: dict[int, Any] = {}

    def __enter__(self) -> "LiveScreen":
        """Draw the prompt; returns when it stands."""
        self._before = {
            signal.SIGINT: signal.signal(signal.SIGINT, self._interrupted),
            signal.SIGWINCH: signal.signal(signal.SIGWINCH, self._resized),
            signal.SIGCONT: signal.signal(signal.SIGCONT, self._resumed),
        }
        self._thread.start()
        self._desk.canvas.drawn.wait()
        self._desk.region.render = self.render
        return self

    def __exit__(self, *_: object) -> None:
        """Take the moving part away and give the terminal back as it was."""
        self._do(self._desk.app.exit)
        self._thread.join()
        for number, handler in self._before.items():
            signal.signal(number, handler)

    # What is shown

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows."""
        return self._desk.canvas.size

    def render(self, markdown: str) -> str:
        """Markdown as this terminal shows it."""
        return _rendered(markdown, self.size[0])

    def put(self, text: str, kind: Kind = "block", growing: str | None = None) -> None:
        """Put a text up, where it stays; with it, what grows changes."""
        parted = kind != "more" and "block" in (kind, self._last)
        self._last = self._last if kind == "more" else kind
        self._do(partial(self._desk.canvas.put, "\n" * parted + self._fitted(text) + "\n", growing))

    def echo(self, text: str) -> None:
        """Let what the owner said stand above the answer."""
        self.put(said(text))

    def grow(self, markdown: str) -> None:
        """Show the newest of a block that is not finished; empty takes it away."""
        self._set(growing=markdown)

    def think(self, text: str) -> None:
        """Show the end of what a model reasons."""
        self._set(thought=text)

    def does(self, what: str) -> None:
        """Say what runs, and for how long; empty for nothing."""
        self._set(doing=what, since=time.monotonic())

    def progress(self, text: str) -> None:
        """Show how far something in the background is; empty when it is through."""
        self._set(progress=text)

    def tell(self, status: Sequence[str]) -> None:
        """The status, most important first."""
        self._set(status=tuple(status), progress="")

    def show(self, lines: Sequence[Line], *, more: bool = False) -> None:
        """Put the lines of a question up."""
        self.put("\n".join(line.styled for line in lines), "more" if more else "block")

    # What is said

    def read(self) -> str:
        """What the owner says next. Raises EOFError when they leave."""
        line = self._desk.said.get()
        if isinstance(line, BaseException):
            raise line
        self.joined(line)
        return line

    def end(self, why: BaseException) -> None:
        """Have `read` raise this, from any thread."""
        self._desk.said.put(why)

    def joined(self, text: str) -> None:
        """What was queued has been heard."""
        self._do(partial(self._desk.heard, text))

    def copy(self, text: str) -> bool:
        """Hand a text to the terminal's own clipboard, if it lets us: it does not say."""
        self._do(partial(self._desk.canvas.copy, text))
        return True

    @contextlib.contextmanager
    def working(self, during: During | None) -> Iterator[None]:
        """Something runs; what is typed meanwhile is for it, or waits if it takes nothing."""
        self._desk.busy, self._desk.during = True, during
        try:
            yield
        finally:
            self._desk.busy, self._desk.during = False, None
            self._set(doing="", growing="", thought="")

    @contextlib.contextmanager
    def aside(self) -> Iterator[None]:
        """The terminal belongs to another program meanwhile."""
        begun, over = threading.Event(), asyncio.Event()
        self._do(partial(self._desk.canvas.step_aside, begun, over))
        begun.wait()
        termios.tcflush(sys.stdin, termios.TCIFLUSH)  # what was typed before answers nothing
        try:
            yield
        finally:
            self._do(over.set)

    def settle(self) -> None:
        """Wait until the keys are quiet; what is typed until then stays in the prompt."""
        quiet: Future[None] = Future()
        self._do(partial(self._desk.settle, quiet))
        quiet.result()

    def answer(self, question: str, options: Sequence[str] = ()) -> str:
        """What the owner answers, at Enter. Raises EOFError at Ctrl-D, KeyboardInterrupt."""
        answer: Future[str] = Future()
        self._do(partial(self._desk.ask, question, options, answer))
        return answer.result()

    def pick(self, title: str, choices: Sequence[Choice]) -> Choice | None:
        """What the owner takes of a list; None for nothing."""
        from assistant.cli.chat.picker import pick  # few chats need it

        with self.aside(), contextlib.redirect_stdout(sys.__stdout__):
            return pick(title, choices)

    def _fitted(self, text: str) -> str:
        columns = self.size[0]
        if all(get_cwidth(SGR.sub("", line)) <= columns for line in text.split("\n")):
            return text
        from assistant.cli.chat.markdown import wrapped  # rich: behind the prompt

        return wrapped(text, columns)

    # Between the threads

    def _set(self, **fields: object) -> None:
        """Change what the moving part shows."""
        for name, value in fields.items():
            setattr(self._desk.region, name, value)
        self._desk.app.invalidate()

    def _do(self, action: Callable[[], object]) -> None:
        """Have something done in the screen's thread; nothing once it has ended."""
        loop, context = self._desk.app.loop, self._desk.app.context
        if loop is not None:
            loop.call_soon_threadsafe(action, context=context)

    def _interrupted(self, *_: object) -> None:
        if self._desk.busy:
            raise KeyboardInterrupt

    def _resumed(self, *_: object) -> None:
        self._desk.canvas.resumed.set()

    def _resized(self, *_: object) -> None:
        self._desk.app.invalidate()


@lru_cache(maxsize=8)
def _rendered(markdown: str, columns: int) -> str:
    from assistant.cli.chat.markdown import Renderer  # rich: behind the prompt

    return Renderer(columns).markdown(markdown)
