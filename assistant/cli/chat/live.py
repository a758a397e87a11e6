"""The screen that is drawn: finished text scrolls away above, a prompt stays below, always open.

The owner can type, edit and interrupt whatever the main thread does: keys and drawing have a thread
of their own. Methods without an underscore are for the main thread; what a key does happens in the
screen's. What a key means depends on the mode alone: `LiveScreen._keys` is the table.
"""

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
from queue import Queue
from typing import Any, Literal, Unpack

from prompt_toolkit.application import Application
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import Completer
from prompt_toolkit.document import Document
from prompt_toolkit.enums import EditingMode
from prompt_toolkit.filters import Condition, vi_insert_mode
from prompt_toolkit.history import History
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.search import accept_search, stop_search
from prompt_toolkit.utils import get_cwidth
from prompt_toolkit.widgets import SearchToolbar

from assistant.cli.chat.completion import pictures_named
from assistant.cli.chat.palette import SGR, said
from assistant.cli.chat.region import STYLE, Canvas, Region, steady
from assistant.cli.chat.screen import QUIET, Choice, During, Kind, Line, Moving

DRAWS_PER_SECOND = 20
ESCAPE_SECONDS = 0.05
"""How long a lone Escape waits for the rest of a longer key."""
LEAVE = "Ctrl-D leaves"
CHOOSING = "↑ ↓ choose · Enter answers"
NOT_SENT = "not sent: first a question; what you typed stays here"
FOR_THE_CHAT = ("/", "!")
"""What a line begins with that is for the chat and not for the turn that runs."""
NAMES_FILE = re.compile(r"(?<![^\s(])@\S")
"""What a message holds that has to be read first, and so is for the next turn."""

LONGEST_PASTE = 10
"""Lines of a paste that stands as it is in the prompt."""

Mode = Literal["search", "menu", "question", "working", "prompt"]
Table = dict[str, dict[Mode, Callable[[], object]]]


class LiveScreen:
    """A terminal with the chat on it, for `with`."""

    def __init__(
        self, prompt: str, history: History, completer: Completer, *, vi: bool = False
    ) -> None:
        message = Buffer(
            multiline=True, history=history, completer=completer, complete_while_typing=True
        )
        self._region = Region(message, Buffer(multiline=False), SearchToolbar(), prompt)
        self._region.queued = self._queued
        output = steady()
        self._app: Application[None] = Application(
            self._region.layout(),
            style=STYLE,
            include_default_pygments_style=False,
            editing_mode=EditingMode.VI if vi else EditingMode.EMACS,
            erase_when_done=True,
            min_redraw_interval=1 / DRAWS_PER_SECOND,
            terminal_size_polling_interval=None,
            output=output,
        )
        self._app.ttimeoutlen = ESCAPE_SECONDS
        self._canvas = Canvas(self._app, self._region, output)
        self._app.key_bindings = self._bindings()
        self._app.key_processor.before_key_press += self._on_key
        self._said: Queue[str | BaseException] = Queue()
        self._busy = False
        self._during: During | None = None
        self._asked: Future[str] | None = None
        self._options: Sequence[str] = ()
        self._asking = False
        self._pastes: dict[str, str] = {}
        self._last_key = 0.0
        self._thread = threading.Thread(target=self._run, name="screen", daemon=True)
        self._last: Kind = "line"
        self._before: dict[int, Any] = {}

    def __enter__(self) -> "LiveScreen":
        """Draw the prompt; returns when it stands."""
        self._before = {
            signal.SIGINT: signal.signal(signal.SIGINT, self._interrupted),
            signal.SIGWINCH: signal.signal(signal.SIGWINCH, lambda *_: self._app.invalidate()),
            signal.SIGCONT: signal.signal(signal.SIGCONT, lambda *_: self._canvas.resumed.set()),
        }
        self._thread.start()
        self._canvas.drawn.wait()
        self._region.render = self.render
        return self

    def __exit__(self, *_: object) -> None:
        """Take the moving part away and give the terminal back as it was."""
        self._do(self._app.exit)
        self._thread.join()
        for number, handler in self._before.items():
            signal.signal(number, handler)

    # What is shown

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows."""
        return self._canvas.size

    def render(self, markdown: str) -> str:
        """Markdown as this terminal shows it."""
        return _rendered(markdown, self.size[0])

    def put(self, text: str, kind: Kind = "block", growing: str | None = None) -> None:
        """Put a text up, where it stays; with it, what grows changes."""
        parted = kind != "more" and "block" in (kind, self._last)
        self._last = self._last if kind == "more" else kind
        columns = self.size[0]
        if any(get_cwidth(SGR.sub("", line)) > columns for line in text.split("\n")):
            from assistant.cli.chat.markdown import wrapped  # rich: behind the prompt

            text = wrapped(text, columns)
        self._do(partial(self._canvas.put, "\n" * parted + text + "\n", growing))

    def echo(self, text: str) -> None:
        """Show what the owner said above the answer."""
        self.put(said(text))

    def draw(self, **parts: Unpack[Moving]) -> None:
        """Change what the moving part shows."""
        self._set(**parts)

    def does(self, what: str, *, seconds: float = 0.0) -> None:
        """Say what runs and for how long, or count `seconds` down; empty for nothing."""
        now = time.monotonic()
        self._set(doing=what, since=now, until=now + seconds if seconds else 0.0)

    def show(self, lines: Sequence[Line], *, more: bool = False) -> None:
        """Put the lines of a question up."""
        self.put("\n".join(line.styled for line in lines), "more" if more else "block")

    # What is said

    def read(self) -> str:
        """What the owner says next. Raises EOFError when they leave."""
        line = self._said.get()
        self._app.invalidate()
        if isinstance(line, BaseException):
            raise line
        return line

    def end(self, why: BaseException) -> None:
        """Have `read` raise this, from any thread."""
        self._said.put(why)

    def give_back(self, text: str) -> None:
        """Put a message that was refused into the prompt again, before what is typed by now."""

        def put() -> None:
            message = self._region.message
            typed = message.text and f"\n{message.text}"
            message.document = Document(text + typed, len(text))

        self._do(put)

    def copy(self, text: str) -> bool:
        """Hand a text to the terminal's own clipboard, if it lets us: it does not say."""
        self._do(partial(self._canvas.copy, text))
        return True

    @contextlib.contextmanager
    def working(self, during: During | None) -> Iterator[None]:
        """Something runs; what is typed meanwhile is for it, or waits if it takes nothing."""
        self._busy, self._during = True, during
        try:
            yield
        finally:
            self._busy, self._during = False, None
            self._set(doing="", growing="", thought="", until=0.0)

    @contextlib.contextmanager
    def aside(self) -> Iterator[None]:
        """The terminal belongs to another program meanwhile."""
        begun, over = threading.Event(), asyncio.Event()
        self._do(partial(self._canvas.step_aside, begun, over))
        begun.wait()
        termios.tcflush(sys.stdin, termios.TCIFLUSH)  # what was typed before answers nothing
        try:
            yield
        finally:
            self._do(over.set)

    @contextlib.contextmanager
    def asking(self) -> Iterator[None]:
        """Wait until the keys are quiet; what is typed until then, or between two answers, stays in
        the prompt, unsent."""
        began, quiet = time.monotonic(), threading.Event()
        self._asking = True

        async def wait() -> None:
            while (left := max(began, self._last_key) + QUIET - time.monotonic()) > 0:
                await asyncio.sleep(left)
            quiet.set()

        self._do(lambda: self._app.create_background_task(wait()))
        quiet.wait()
        try:
            yield
        finally:
            self._asking = False

    def answer(self, question: str, options: Sequence[str] = ()) -> str:
        """What the owner answers, at Enter. Raises EOFError at Ctrl-D, KeyboardInterrupt."""
        answer: Future[str] = Future()

        def ask() -> None:
            self._asked, self._region.question = answer, question
            self._options, self._region.hint = options, CHOOSING if options else ""
            if self._app.layout.is_searching:
                stop_search()
            self._app.layout.focus(self._region.answer)
            self._app.invalidate()

        self._do(ask)
        return answer.result()

    def pick(self, title: str, choices: Sequence[Choice]) -> Choice | None:
        """What the owner takes of a list; None for nothing."""
        from assistant.cli.chat.picker import pick  # few chats need it

        with self.aside(), contextlib.redirect_stdout(sys.__stdout__):
            return pick(title, choices)

    # What the keys do: from here on in the screen's own thread

    @property
    def _mode(self) -> Mode:
        """What a key is for now."""
        if self._app.layout.is_searching:
            return "search"
        if self._app.current_buffer.complete_state:
            return "menu"
        if self._asked is not None:
            return "question"
        return "working" if self._busy else "prompt"

    def _keys(self) -> Table:
        """What each key does in each mode, beside those that edit a line as everywhere else."""
        return {
            "enter": {
                "search": accept_search,
                "menu": self._take_entry,
                "question": self._answer_typed,
                "working": self._say,
                "prompt": self._say,
            },
            "escape": {
                "search": stop_search,
                "menu": self._close_menu,
                "question": lambda: self._answered(EOFError()),
                "working": self._stop,
            },
            "c-c": {
                "search": stop_search,
                "menu": self._clear,
                "question": lambda: self._answered(KeyboardInterrupt()),
                "working": self._stop,
                "prompt": self._clear,
            },
            "c-d": {
                "question": lambda: self._answered(EOFError()),
                "working": self._leave,
                "prompt": self._leave,
            },
        }

    def _bindings(self) -> KeyBindings:
        keys = KeyBindings()
        only_when: dict[str, Callable[[], bool]] = {
            # alone: with a key right behind it, it is that key with Alt
            "escape": lambda: not (self._app.key_processor.input_queue or vi_insert_mode()),
            "c-d": lambda: not self._app.current_buffer.text,
        }

        def bind(name: str, actions: dict[Mode, Callable[[], object]]) -> None:
            allowed = only_when.get(name, lambda: True)
            when = Condition(lambda: self._mode in actions and allowed())
            eager = name == "escape"
            keys.add(name, filter=when, eager=eager)(lambda event: actions[self._mode]())

        def on(do: Callable[[], object], *names: str, when: Callable[[], bool]) -> None:
            keys.add(*names, filter=Condition(when))(lambda event: do())

        for name, actions in self._keys().items():
            bind(name, actions)
        on(self._canvas.suspend, "c-z", when=lambda: True)
        on(self._canvas.edit, "c-x", "c-e", when=lambda: self._asked is None)
        on(lambda: self._take("/paste"), "c-v", when=lambda: self._asked is None)
        on(self._unfold, "c-o", when=lambda: True)
        on(lambda: self._choose(1), "down", when=lambda: bool(self._options))
        on(lambda: self._choose(-1), "up", when=lambda: bool(self._options))
        keys.add("escape", "enter")(lambda event: event.current_buffer.insert_text("\n"))
        keys.add(Keys.BracketedPaste)(self._pasted)
        return keys

    def _pasted(self, event: KeyPressEvent) -> None:
        """Take in what was pasted: pictures by their names, many lines as a chip that stands for
        them, all else as it is."""
        buffer, text = event.current_buffer, event.data.replace("\r\n", "\n").replace("\r", "\n")
        before = buffer.document.char_before_cursor
        apart = " " if before and not before.isspace() else ""
        if named := pictures_named(text):
            buffer.insert_text(f"{apart}{named} ")
        elif text.count("\n") > LONGEST_PASTE and buffer is self._region.message:
            chip = f"[paste {len(self._pastes) + 1}: {len(text.splitlines())} lines]"
            self._pastes[chip] = text
            buffer.insert_text(chip)
        else:
            buffer.insert_text(text)

    def _unfold(self) -> None:
        if self._region.folded:
            self.put(self._region.folded)

    def _take_entry(self) -> None:
        """Take what the menu points at; where it points at nothing, Enter is as without one."""
        buffer = self._app.current_buffer
        state = buffer.complete_state
        if state and state.current_completion:
            buffer.apply_completion(state.current_completion)
            return
        buffer.cancel_completion()
        if self._asked is None:
            self._say()
        else:
            self._answer_typed()

    def _close_menu(self) -> None:
        self._app.current_buffer.cancel_completion()

    def _answer_typed(self) -> None:
        self._answered(self._region.answer.text)

    def _say(self) -> None:
        """Send what is typed; with nothing typed, have what waits go on now."""
        message = self._region.message
        text = message.text.strip()
        for chip, pasted in self._pastes.items():
            text = text.replace(chip, pasted)
        if not text:
            if self._during is not None:
                self._during.hurry()
        elif self._asking:
            self._region.hint = NOT_SENT
        else:
            message.append_to_history()
            message.reset()
            self._pastes.clear()
            self._take(text)

    def _take(self, text: str) -> None:
        for_the_chat = text.startswith(FOR_THE_CHAT) or NAMES_FILE.search(text)
        if self._during is not None and not for_the_chat:
            self._during.queue(text)
        else:
            self._said.put(text)

    def _queued(self) -> tuple[Sequence[str], bool]:
        """What waits to be heard, as it stands where it waits, and whether Enter hurries it."""
        joining = self._during.waiting if self._during is not None else ()
        with self._said.mutex:
            later = [each for each in self._said.queue if isinstance(each, str)]
        return [*joining, *(later if self._busy else ())], bool(joining)

    def _stop(self) -> None:
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    def _clear(self) -> None:
        if not self._app.current_buffer.text:
            self._region.hint = LEAVE
        self._app.current_buffer.reset()

    def _leave(self) -> None:
        self._said.put(EOFError())
        if self._busy:
            self._stop()

    def _choose(self, by: int) -> None:
        """Write the next of the offered answers, or with -1 the one before."""
        written = self._region.answer.text
        first = 0 if by > 0 else len(self._options) - 1
        place = self._options.index(written) + by if written in self._options else first
        self._region.answer.document = Document(self._options[place % len(self._options)])

    def _answered(self, answer: str | BaseException) -> None:
        asked, self._asked, self._region.question = self._asked, None, None
        self._options = ()
        self._region.answer.reset()
        self._app.layout.focus(self._region.message)
        assert asked is not None
        if isinstance(answer, BaseException):
            asked.set_exception(answer)
        else:
            asked.set_result(answer)

    # Between the threads

    def _run(self) -> None:
        """Draw and take keys until the application is told to exit."""
        try:
            self._app.run(set_exception_handler=False, handle_sigint=False, pre_run=self._begin)
        except BaseException as error:  # carried to the thread that reads
            self._said.put(error)
        finally:
            self._canvas.drawn.set()

    def _begin(self) -> None:
        asyncio.get_running_loop().set_exception_handler(self._failed)
        self._app.create_background_task(self._tick())

    def _failed(self, loop: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
        error = context.get("exception")
        self._said.put(error if isinstance(error, BaseException) else RuntimeError(str(context)))

    async def _tick(self) -> None:
        """Keep the seconds going while something runs."""
        while True:
            await asyncio.sleep(1)
            if self._region.doing:
                self._app.invalidate()

    def _on_key(self, _: object) -> None:
        self._last_key = time.monotonic()
        self._region.hint = ""

    def _set(self, **fields: object) -> None:
        """Change what the moving part shows."""
        for name, value in fields.items():
            setattr(self._region, name, value)
        self._app.invalidate()

    def _do(self, action: Callable[[], object]) -> None:
        """Have something done in the screen's thread; nothing once it has ended."""
        loop, context = self._app.loop, self._app.context
        if loop is not None:
            loop.call_soon_threadsafe(action, context=context)

    def _interrupted(self, *_: object) -> None:
        if self._busy:
            raise KeyboardInterrupt


@lru_cache(maxsize=8)
def _rendered(markdown: str, columns: int) -> str:
    from assistant.cli.chat.markdown import Renderer  # rich: behind the prompt

    return Renderer(columns).markdown(markdown)
