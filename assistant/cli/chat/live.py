"""The screen that is drawn: finished text scrolls away above, a prompt stays below, always open.

The owner can type, edit and interrupt whatever the main thread does: keys and drawing have a thread
of their own. Methods without an underscore are for the main thread; what a key does happens in the
screen's. What a key means depends on the mode alone: `LiveScreen._bindings` has the table.
"""

import asyncio
import contextlib
import re
import signal
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from functools import lru_cache, partial
from queue import Queue
from typing import TYPE_CHECKING, Any, Literal, Unpack, get_args

from prompt_toolkit.application import Application, run_in_terminal
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

from assistant.cli.chat.completion import pictures_named
from assistant.cli.chat.palette import SGR, owner_text
from assistant.cli.chat.region import Canvas, Region, steady
from assistant.cli.chat.screen import QUIET, Choice, Kind, Moving

if TYPE_CHECKING:
    from assistant.conversation import Conversation

DRAWS_PER_SECOND = 20
ESCAPE_SECONDS = 0.05
"""How long a lone Escape waits for the rest of a longer key."""
LEAVE = "Ctrl-D leaves"
CHOOSING = "↑ ↓ choose · Enter answers"
NOT_SENT = "not sent: answer the question first; your text stays here"
FOR_THE_CHAT = ("/", "!")
"""What a line begins with that is for the chat and not for the turn that runs."""
NAMES_FILE = re.compile(r"(?<![^\s(])@\S")
"""What a message holds that has to be read first, and so is for the next turn."""
LONGEST_PASTE = 10
"""Lines of a paste that stands as it is in the prompt."""

Mode = Literal["search", "menu", "question", "working", "prompt"]
Action = Callable[[], object]


class LiveScreen:
    """A terminal with the chat on it, for `with`."""

    def __init__(
        self, prompt: str, history: History, completer: Completer, *, vi: bool = False
    ) -> None:
        message = Buffer(
            multiline=True, history=history, completer=completer, complete_while_typing=True
        )
        self._region = Region(message, prompt)
        self._region.queued = self._queued
        self._region.answer.on_text_changed += lambda _: setattr(self._region, "pointer", 0)
        output = steady()
        self._app: Application[None] = Application(
            self._region.layout(),
            include_default_pygments_style=False,
            editing_mode=EditingMode.VI if vi else EditingMode.EMACS,
            erase_when_done=True,
            min_redraw_interval=1 / DRAWS_PER_SECOND,
            terminal_size_polling_interval=None,
            output=output,
        )
        self._app.ttimeoutlen = ESCAPE_SECONDS
        self._canvas = Canvas(self._app, output)
        self._app.key_bindings = self._bindings()
        self._app.key_processor.before_key_press += self._on_key
        self._lines: Queue[str | BaseException] = Queue()
        self._busy = False
        self._talk: Conversation | None = None
        self._asked: Future[str] | None = None
        self._options: Sequence[str] = ()
        self._asking = False
        self._pastes: dict[str, str] = {}
        self._last_key = 0.0
        self._thread = threading.Thread(target=self._run, name="screen", daemon=True)
        self._last: Kind = "line"
        self._handlers: dict[int, Any] = {}

    def __enter__(self) -> "LiveScreen":
        """Draw the prompt; returns when it stands."""
        self._handlers = {
            signal.SIGINT: signal.signal(signal.SIGINT, self._interrupted),
            signal.SIGWINCH: signal.signal(signal.SIGWINCH, lambda *_: self._app.invalidate()),
        }
        self._thread.start()
        self._canvas.drawn.wait()
        self._region.render = self.render
        return self

    def __exit__(self, *_: object) -> None:
        """Take the moving part away and give the terminal back as it was."""
        self._do(self._app.exit)
        self._thread.join()
        for number, handler in self._handlers.items():
            signal.signal(number, handler)

    # What is shown

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows."""
        size = self._app.output.get_size()
        return size.columns, size.rows

    def render(self, markdown: str) -> str:
        """Markdown as this terminal shows it."""
        return _rendered(markdown, self.size[0])

    def put(self, text: str, kind: Kind = "block") -> None:
        """Write a text above the prompt, where it stays."""
        parted = kind != "more" and "block" in (kind, self._last)
        self._last = self._last if kind == "more" else kind
        columns = self.size[0]
        if any(get_cwidth(SGR.sub("", line)) > columns for line in text.split("\n")):
            from assistant.cli.chat.markdown import wrapped  # rich: behind the prompt

            text = wrapped(text, columns)
        self._do(partial(self._canvas.put, "\n" * parted + text + "\n"))

    def draw(self, **parts: Unpack[Moving]) -> None:
        """Change what the moving part shows."""
        fields: dict[str, object] = {**parts}
        if "doing" in parts:
            fields = {"since": time.monotonic(), "until": 0.0, **fields}

        def change() -> None:
            for name, value in fields.items():
                setattr(self._region, name, value)
            self._app.invalidate()

        self._do(change)

    # What the owner types

    def read(self) -> str:
        """The next line of the owner's, which then stands above. Raises EOFError when they
        leave."""
        line = self._lines.get()
        if isinstance(line, BaseException):
            raise line
        self.put(owner_text(line))
        return line

    def end(self, why: BaseException) -> None:
        """Have `read` raise this, from any thread."""
        self._lines.put(why)

    def give_back(self, text: str) -> None:
        """Put a message that was not sent into the prompt again, before what is typed by now."""

        def put() -> None:
            message = self._region.message
            typed = message.text and f"\n{message.text}"
            message.document = Document(text + typed, len(text))

        self._do(put)

    @contextlib.contextmanager
    def working(self, talk: "Conversation | None") -> Iterator[None]:
        """Something runs; what is typed meanwhile joins the turn of `talk`, or waits."""
        self._busy, self._talk = True, talk
        try:
            yield
        finally:
            self._busy, self._talk = False, None
            self.draw(doing="", growing="", thought="")

    def aside(self, action: Callable[[], object]) -> None:
        """Run what needs the terminal to itself."""
        done: Future[object] = Future()

        def run() -> None:
            termios.tcflush(sys.stdin, termios.TCIFLUSH)  # what was typed before is not for it
            try:
                done.set_result(action())
            except BaseException as error:  # carried to the thread that waits
                done.set_exception(error)

        self._do(lambda: run_in_terminal(run, in_executor=True))
        done.result()

    @contextlib.contextmanager
    def asking(self) -> Iterator[None]:
        """Wait until the keys are quiet; what is typed until then, or between two answers, stays in
        the prompt, unsent."""
        began = time.monotonic()
        self._asking = True
        try:
            while (left := max(began, self._last_key) + QUIET - time.monotonic()) > 0:
                time.sleep(left)
            yield
        finally:
            self._asking = False

    def answer(
        self, question: str, options: Sequence[str] = (), choices: Sequence[Choice] = ()
    ) -> str:
        """What the owner answers, at Enter; of `choices` the name of the one they take. Raises
        EOFError at Ctrl-D, KeyboardInterrupt."""
        answer: Future[str] = Future()

        def ask() -> None:
            self._asked, self._options = answer, options
            self._region.question, self._region.choices = question, choices
            self._region.hint = CHOOSING if options else ""
            if self._app.layout.is_searching:
                stop_search()
            self._app.layout.focus(self._region.answer)
            self._app.invalidate()

        self._do(ask)
        return answer.result()

    def pick(self, title: str, choices: Sequence[Choice]) -> Choice | None:
        """What the owner picks from a list; None for nothing."""
        try:
            name = self.answer(f"{title} ", choices=choices)
        except (EOFError, KeyboardInterrupt):
            return None
        return next(choice for choice in choices if choice.name == name)

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

    def _bindings(self) -> KeyBindings:
        """What each key does in each mode, beside those that edit a line as everywhere else."""
        keys = KeyBindings()
        closed = partial(self._answered, EOFError)
        typing: Sequence[Mode] = ("search", "menu", "working", "prompt")

        def bind(
            name: str, actions: Mapping[Mode, Action], only_if: Callable[[], bool] = lambda: True
        ) -> None:
            when = Condition(lambda: self._mode in actions and only_if())
            keys.add(*name.split(), filter=when, eager=name == "escape")(
                lambda event: actions[self._mode]()
            )

        bind("enter", {
            "search": accept_search,
            "menu": self._take_entry,
            "question": self._answer,
            "working": self._send,
            "prompt": self._send,
        })  # fmt: skip
        bind("escape", {
            "search": stop_search,
            "menu": lambda: self._app.current_buffer.cancel_completion(),
            "question": closed,
            "working": self._stop,
        }, self._alone)  # fmt: skip
        bind("c-c", {
            "search": stop_search,
            "menu": self._clear,
            "question": partial(self._answered, KeyboardInterrupt),
            "working": self._stop,
            "prompt": self._clear,
        })  # fmt: skip
        bind("c-d", {
            "question": closed,
            "working": self._leave,
            "prompt": self._leave,
        }, lambda: not self._app.current_buffer.text)  # fmt: skip
        for name, by in (("up", -1), ("down", 1), ("pageup", -10), ("pagedown", 10)):
            bind(name, {"question": partial(self._move, by)})
        bind("c-z", dict.fromkeys(get_args(Mode), self._suspend))
        bind("c-o", dict.fromkeys(get_args(Mode), self._unfold))
        bind("c-x c-e", dict.fromkeys(typing, lambda: self._app.current_buffer.open_in_editor()))
        bind("c-v", dict.fromkeys(typing, lambda: self._take("/paste")))
        keys.add("escape", "enter")(lambda event: event.current_buffer.insert_text("\n"))
        keys.add(Keys.BracketedPaste)(self._pasted)
        return keys

    def _suspend(self) -> None:
        """Give the terminal back to the shell until `fg`."""
        own = threading.get_ident()  # sent to all threads, it stops this one too late
        run_in_terminal(lambda: signal.pthread_kill(own, signal.SIGTSTP))

    def _alone(self) -> bool:
        """Whether Escape is meant: with a key right behind it, it is that key with Alt."""
        return not (self._app.key_processor.input_queue or vi_insert_mode())

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
        else:
            buffer.cancel_completion()
            self._send()

    def _send(self) -> None:
        """Send what is typed; with nothing typed, have what waits go on now."""
        message = self._region.message
        text = message.text.strip()
        for chip, pasted in self._pastes.items():
            text = text.replace(chip, pasted)
        if not text:
            if self._talk is not None:
                self._talk.hurry()
        elif self._asking:
            self._region.hint = NOT_SENT
        else:
            message.text = text  # a chip of an earlier message would stand for nothing
            message.append_to_history()
            message.reset()
            self._pastes.clear()
            self._take(text)

    def _take(self, text: str) -> None:
        for_the_chat = text.startswith(FOR_THE_CHAT) or NAMES_FILE.search(text)
        if self._talk is not None and not for_the_chat:
            self._talk.queue(text)
        else:
            self._lines.put(text)

    def _queued(self) -> tuple[Sequence[str], bool]:
        """What waits to be sent, where it waits, and whether Enter hurries it."""
        joining = self._talk.waiting if self._talk is not None else ()
        with self._lines.mutex:
            later = [line for line in self._lines.queue if isinstance(line, str)]
        return [*joining, *(later if self._busy else ())], bool(joining)

    def _stop(self) -> None:
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    def _clear(self) -> None:
        if not self._app.current_buffer.text:
            self._region.hint = LEAVE
        self._app.current_buffer.reset()

    def _leave(self) -> None:
        self._lines.put(EOFError())
        if self._busy:
            self._stop()

    def _move(self, by: int) -> None:
        """Point at another of the choices, or write another of the options into the answer."""
        region = self._region
        if region.choices:
            region.pointer = max(0, min(region.pointer + by, len(region.matching) - 1))
        elif self._options:
            written = region.answer.text
            first = 0 if by > 0 else len(self._options) - 1
            at = self._options.index(written) + by if written in self._options else first
            region.answer.document = Document(self._options[at % len(self._options)])

    def _answer(self) -> None:
        """Answer what is typed, or the name of the choice that is pointed at."""
        region = self._region
        if not region.choices:
            self._answered(region.answer.text)
        elif matching := region.matching:
            self._answered(matching[region.pointer].name)

    def _answered(self, answer: str | type[BaseException]) -> None:
        asked, self._asked, self._options = self._asked, None, ()
        self._region.question, self._region.choices = None, ()
        self._region.answer.reset()
        self._app.layout.focus(self._region.message)
        assert asked is not None
        if isinstance(answer, str):
            asked.set_result(answer)
        else:
            asked.set_exception(answer())

    # Between the threads

    def _run(self) -> None:
        """Draw and take keys until the application is told to exit."""
        try:
            self._app.run(set_exception_handler=False, handle_sigint=False, pre_run=self._begin)
        except BaseException as error:  # carried to the thread that reads
            self._lines.put(error)
        finally:
            self._canvas.drawn.set()

    def _begin(self) -> None:
        asyncio.get_running_loop().set_exception_handler(self._failed)
        self._app.create_background_task(self._tick())

    def _failed(self, loop: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
        error = context.get("exception")
        self._lines.put(error if isinstance(error, BaseException) else RuntimeError(str(context)))

    async def _tick(self) -> None:
        """Keep the seconds going while something runs."""
        while True:
            await asyncio.sleep(1)
            if self._region.doing:
                self._app.invalidate()

    def _on_key(self, _: object) -> None:
        self._last_key = time.monotonic()
        self._region.hint = ""

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
