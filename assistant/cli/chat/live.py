"""The live screen: finished text scrolls away above a prompt that always accepts input.

A separate thread handles keys and drawing, so the owner can type, edit and interrupt at any time.
Public methods are called by the main thread, key handlers by the screen's. The table in
`LiveScreen._bindings` lists what each key does in each mode.
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
from functools import partial
from queue import Queue
from typing import TYPE_CHECKING, Any, Literal, Unpack, get_args

from prompt_toolkit.application import Application, run_in_terminal
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.document import Document
from prompt_toolkit.enums import EditingMode
from prompt_toolkit.filters import Condition, vi_insert_mode
from prompt_toolkit.history import History
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.search import accept_search, stop_search
from prompt_toolkit.utils import get_cwidth

from assistant.app.options import ENDING
from assistant.cli.chat.completion import ChatCompleter, picture_mentions
from assistant.cli.chat.region import Canvas, Region, steady
from assistant.cli.chat.screen import QUIET, Choice, Kind, Parts
from assistant.cli.options import run_pager
from assistant.cli.palette import SGR, owner_text
from assistant.display import spelled
from assistant.errors import UsageError

if TYPE_CHECKING:
    from assistant.conversation import Conversation

DRAWS_PER_SECOND = 20
ESCAPE_SECONDS = 0.05
"""Seconds that a lone Escape waits for the rest of an escape sequence."""
LEAVE = "Ctrl-D leaves"
CHOOSING = "↑ ↓ choose · Enter answers"
NOT_SENT = "not sent: answer the question first; your text stays here"
FOR_THE_CHAT = ("/", "!")
"""First characters of lines that are commands, which never join a running turn."""
NAMES_FILE = re.compile(r"(?<![^\s(])@\S")
"""A mention of a file, which must be read first, so that the message waits for the next turn."""
LONGEST_PASTE = 10
"""Maximum number of lines of a paste that the prompt shows unfolded."""

Mode = Literal["search", "menu", "question", "working", "prompt"]
Action = Callable[[], object]


class LiveScreen:
    """A terminal with a prompt below a growing scrollback; a context manager."""

    def __init__(
        self, prompt: str, history: History, completer: ChatCompleter, *, vi: bool = False
    ) -> None:
        self._completer = completer
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
        self._submitting = threading.Lock()
        self._busy = self._leaving = self._paging = False
        self._talk: Conversation | None = None
        self._pending: Future[str] | None = None
        self._options: Sequence[str] = ()
        self._asking = False
        self._pastes: dict[str, str] = {}
        self._last_key = 0.0
        self._thread = threading.Thread(target=self._run, name="screen", daemon=True)
        self._last: Kind = "line"
        self._handlers: dict[int, Any] = {}

    def __enter__(self) -> "LiveScreen":
        """Draw the prompt, and return when it is on the screen."""
        self._handlers = {
            signal.SIGINT: signal.signal(signal.SIGINT, self._on_sigint),
            **{number: signal.signal(number, self._on_end) for number in ENDING},
            signal.SIGWINCH: signal.signal(signal.SIGWINCH, lambda *_: self._app.invalidate()),
        }
        self._thread.start()
        self._canvas.drawn.wait()
        return self

    def __exit__(self, *_: object) -> None:
        """Erase the region and restore the terminal."""
        self._do(self._app.exit)
        self._thread.join()
        for number, handler in self._handlers.items():
            signal.signal(number, handler)

    # Output

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows."""
        size = self._app.output.get_size()
        return size.columns, size.rows

    def render(self, markdown: str) -> str:
        """Render markdown for this terminal."""
        from assistant.cli.chat.markdown import rendered  # rich: after the prompt

        return rendered(markdown, self.size[0])

    def put(self, text: str, kind: Kind = "block") -> None:
        """Write a text permanently above the prompt. It may contain only SGR sequences
        (colours)."""
        separated = kind != "more" and "block" in (kind, self._last)
        self._last = self._last if kind == "more" else kind
        columns = self.size[0]
        if any(get_cwidth(SGR.sub("", line)) > columns for line in text.split("\n")):
            from assistant.cli.chat.markdown import wrapped  # rich: after the prompt

            text = wrapped(text, columns)
        self._do(partial(self._canvas.put, "\n" * separated + text + "\n"))

    def draw(self, **parts: Unpack[Parts]) -> None:
        """Update the region."""
        fields: dict[str, object] = {**parts}
        if "doing" in parts:
            fields = {"since": time.monotonic(), "until": 0.0, **fields}

        def change() -> None:
            for name, value in fields.items():
                setattr(self._region, name, value)
            self._app.invalidate()

        self._do(change)

    # Input

    def read(self) -> str:
        """Read a line and echo it above the prompt.

        Raises EOFError when the owner leaves; messages still queued are then shown as not sent.
        """
        line = self._lines.get()
        if self._leaving:
            for unsent in (line, *self._lines.queue):
                if isinstance(unsent, str):
                    self.put(f"not sent: {spelled(unsent)}", "line")
            raise EOFError
        if isinstance(line, BaseException):
            raise line
        self.put(owner_text(line))
        return line

    def end(self, error: BaseException) -> None:
        """Make `read` raise this error; callable from any thread."""
        self._lines.put(error)

    def give_back(self, text: str) -> None:
        """Put an unsent message back into the prompt, before any text typed since."""

        def put() -> None:
            message = self._region.message
            typed = message.text and f"\n{message.text}"
            message.document = Document(text + typed, len(text))

        self._do(put)

    @contextlib.contextmanager
    def working(self, talk: "Conversation | None") -> Iterator[None]:
        """While something runs, let typed messages join the turn of `talk`; without one, queue
        them.

        Messages that came too late to join are read next, before any text typed after them.
        """
        self._busy, self._talk = True, talk
        try:
            yield
        finally:
            with self._submitting:
                self._busy, self._talk = False, None
                late = talk.interruption.take() if talk is not None else []
                with self._lines.mutex:
                    self._lines.queue.extendleft(reversed(late))
            self.draw(doing="", growing="", thought="")

    def aside(self, action: Callable[[], object]) -> None:
        """Run an action that needs the terminal for itself."""
        done: Future[object] = Future()

        def run() -> None:
            termios.tcflush(sys.stdin, termios.TCIFLUSH)  # drop keys typed before
            try:
                done.set_result(action())
            except BaseException as error:  # re-raised in the waiting thread
                done.set_exception(error)

        self._do(lambda: run_in_terminal(run, in_executor=True))
        done.result()

    def view(self, text: str) -> bool:
        """Show a text in the owner's pager; False if it cannot be run."""
        self._paging = True  # Ctrl-C is the pager's
        try:
            self.aside(partial(run_pager, text))
        except UsageError:
            return False
        finally:
            self._paging = False
        return True

    @contextlib.contextmanager
    def asking(self) -> Iterator[None]:
        """Wait until no key has been pressed for a while; text typed before a question, or between
        two, stays in the prompt, unsent."""
        began = time.monotonic()
        self._asking = True
        try:
            while (left := max(began, self._last_key) + QUIET - time.monotonic()) > 0:
                time.sleep(left)
            yield
        finally:
            self._asking = False

    def answer(
        self,
        question: str,
        options: Sequence[str] = (),
        choices: Sequence[Choice] = (),
        *,
        draft: str = "",
    ) -> str:
        """Return the owner's answer, prefilled with `draft`; with `choices` the name of the picked
        one.

        Raises EOFError at Ctrl-D, KeyboardInterrupt at Ctrl-C.
        """
        answer: Future[str] = Future()

        def ask() -> None:
            self._pending, self._options = answer, options
            self._region.question, self._region.choices = question, choices
            self._region.pointer = 0
            self._region.hint = CHOOSING if options else ""
            if self._app.layout.is_searching:
                stop_search()
            self._region.answer.document = Document(draft)
            self._app.layout.focus(self._region.answer)
            self._app.invalidate()

        self._do(ask)
        return answer.result()

    def pick(self, title: str, choices: Sequence[Choice]) -> Choice | None:
        """Return the choice that the owner picks from a list; None if they close it."""
        try:
            name = self.answer(f"{title} ", choices=choices)
        except (EOFError, KeyboardInterrupt):
            return None
        return next(choice for choice in choices if choice.name == name)

    # Keys, in the screen's thread

    @property
    def _mode(self) -> Mode:
        """The mode, which decides what a key does."""
        if self._app.layout.is_searching:
            return "search"
        if self._app.current_buffer.complete_state:
            return "menu"
        if self._pending is not None:
            return "question"
        return "working" if self._busy else "prompt"

    def _bindings(self) -> KeyBindings:
        """Return what each key does in each mode, in addition to the usual editing keys."""
        keys = KeyBindings()
        close = partial(self._finish_question, EOFError)
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
            "menu": self._accept_completion,
            "question": self._answer,
            "working": self._send,
            "prompt": self._send,
        })  # fmt: skip
        bind("escape", {
            "search": stop_search,
            "menu": lambda: self._app.current_buffer.cancel_completion(),
            "question": close,
            "working": self._stop,
            "prompt": lambda: None,  # unbound, it would wait for another key and treat it as Alt's
        }, self._is_lone_escape)  # fmt: skip
        bind("c-c", {
            "search": stop_search,
            "menu": self._clear,
            "question": partial(self._finish_question, KeyboardInterrupt),
            "working": self._stop,
            "prompt": self._clear,
        })  # fmt: skip
        bind("c-d", {
            "question": close,
            "working": self._leave,
            "prompt": self._leave,
        }, lambda: not self._app.current_buffer.text)  # fmt: skip
        for name, by in (("up", -1), ("down", 1), ("pageup", -10), ("pagedown", 10)):
            bind(name, {"question": partial(self._move, by)})
        bind("c-z", dict.fromkeys(get_args(Mode), self._suspend))
        bind("c-o", dict.fromkeys(get_args(Mode), self._show_folded))
        bind("c-x c-e", dict.fromkeys(typing, lambda: self._app.current_buffer.open_in_editor()))
        bind("c-v", dict.fromkeys(typing, lambda: self._submit("/paste")))
        keys.add("escape", "enter")(lambda event: event.current_buffer.insert_text("\n"))
        keys.add(Keys.BracketedPaste)(self._paste)
        return keys

    def _suspend(self) -> None:
        """Suspend the program until `fg`."""
        own = threading.get_ident()  # a signal to the whole process would stop this thread too late
        run_in_terminal(lambda: signal.pthread_kill(own, signal.SIGTSTP))

    def _is_lone_escape(self) -> bool:
        """Return whether Escape was pressed alone: followed by another key at once, it means
        Alt."""
        return not (self._app.key_processor.input_queue or vi_insert_mode())

    def _paste(self, event: KeyPressEvent) -> None:
        """Insert a paste: paths of pictures as mentions, many lines as a chip."""
        buffer, text = event.current_buffer, event.data.replace("\r\n", "\n").replace("\r", "\n")
        before = buffer.document.char_before_cursor
        space = " " if before and not before.isspace() else ""
        if mentions := picture_mentions(text):
            buffer.insert_text(f"{space}{mentions} ")
        elif text.count("\n") > LONGEST_PASTE and not self._app.layout.is_searching:
            chip = f"[paste {len(self._pastes) + 1}: {len(text.splitlines())} lines]"
            self._pastes[chip] = text
            buffer.insert_text(chip)
        else:
            buffer.insert_text(text)

    def _show_folded(self) -> None:
        if self._region.folded:
            self.put(self._region.folded)

    def _accept_completion(self) -> None:
        """Accept the selected completion, or the first one if the text is unfinished; otherwise
        send the message."""
        buffer = self._app.current_buffer
        state = buffer.complete_state
        chosen = state.current_completion if state else None
        if state and self._completer.is_unfinished(state.original_document.text_before_cursor):
            chosen = chosen or next(iter(state.completions), None)
        if chosen:
            buffer.apply_completion(chosen)
        else:
            buffer.cancel_completion()
            self._send()

    def _send(self) -> None:
        """Send the message; an empty one sends the queued messages now."""
        message = self._region.message
        text = self._unfolded(message.text.strip())
        if not text:
            if self._talk is not None:
                self._talk.hurry()
        elif self._asking:
            self._region.hint = NOT_SENT
        else:
            message.text = text  # history needs the text, not its chips
            message.append_to_history()
            message.reset()
            self._pastes.clear()
            self._submit(text)

    def _unfolded(self, text: str) -> str:
        """Return the text with each chip replaced by its paste."""
        for chip, pasted in self._pastes.items():
            text = text.replace(chip, pasted)
        return text

    def _submit(self, text: str) -> None:
        """Queue a line. A message joins the running turn unless a line before it waits."""
        waits = text.startswith(FOR_THE_CHAT) or NAMES_FILE.search(text)
        with self._submitting:
            if self._talk is None or waits or not self._lines.empty():
                self._lines.put(text)
            else:
                self._talk.queue(text)

    def _queued(self) -> tuple[Sequence[str], bool]:
        """Return the queued messages, and whether Enter sends them now."""
        joining = self._talk.interruption.waiting if self._talk is not None else ()
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
            self._leaving = True
            self._stop()

    def _move(self, by: int) -> None:
        """Select another choice, or put another option into the answer."""
        region = self._region
        if region.choices:
            region.pointer = max(0, min(region.pointer + by, len(region.matching) - 1))
        elif self._options:
            text = region.answer.text
            first = 0 if by > 0 else len(self._options) - 1
            index = self._options.index(text) + by if text in self._options else first
            region.answer.document = Document(self._options[index % len(self._options)])

    def _answer(self) -> None:
        """Answer with the typed text, or with the name of the selected choice."""
        region = self._region
        if not region.choices:
            self._finish_question(self._unfolded(region.answer.text))
        elif matching := region.matching:
            self._finish_question(matching[region.pointer].name)

    def _finish_question(self, answer: str | type[BaseException]) -> None:
        pending, self._pending, self._options = self._pending, None, ()
        self._region.question, self._region.choices = None, ()
        self._region.answer.reset()
        self._app.layout.focus(self._region.message)
        assert pending is not None
        if isinstance(answer, str):
            pending.set_result(answer)
        else:
            pending.set_exception(answer())

    # Threads

    def _run(self) -> None:
        """Run the application until it is told to exit."""
        try:
            self._app.run(set_exception_handler=False, handle_sigint=False, pre_run=self._begin)
        except BaseException as error:  # re-raised by `read`
            self._lines.put(error)
        finally:
            self._canvas.drawn.set()

    def _begin(self) -> None:
        asyncio.get_running_loop().set_exception_handler(self._on_error)
        self._app.create_background_task(self._tick())

    def _on_error(self, loop: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
        error = context.get("exception")
        self._lines.put(error if isinstance(error, BaseException) else RuntimeError(str(context)))

    async def _tick(self) -> None:
        """Redraw each second while something runs, to update its clock."""
        while True:
            await asyncio.sleep(1)
            if self._region.doing:
                self._app.invalidate()

    def _on_key(self, _: object) -> None:
        self._last_key = time.monotonic()
        self._region.hint = ""

    def _do(self, action: Callable[[], object]) -> None:
        """Schedule an action in the screen's thread if it is still running."""
        loop, context = self._app.loop, self._app.context
        if loop is not None:
            loop.call_soon_threadsafe(action, context=context)

    def _on_sigint(self, *_: object) -> None:
        if self._busy and not self._paging:
            raise KeyboardInterrupt

    def _on_end(self, *_: object) -> None:
        """Leave and stop a running turn: the window was closed, or the process is being
        terminated."""
        self._do(lambda: self._lines.put(EOFError()))  # if the terminal is gone, `_run` has put one
        self._leaving = True
        self._on_sigint()
