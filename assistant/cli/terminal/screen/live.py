"""The screen that is drawn: finished text scrolls away above, a prompt stays below, always open.

The owner can type, edit and interrupt whatever the main thread is at: keys and drawing have a
thread of their own (`desk.py`). What is asked of it here is done there, in order.
"""

import asyncio
import contextlib
import signal
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from functools import lru_cache, partial
from typing import Any

from prompt_toolkit.completion import Completer
from prompt_toolkit.history import History
from prompt_toolkit.utils import get_cwidth

from assistant.cli.terminal.dialogue import Line
from assistant.cli.terminal.palette import SGR, said
from assistant.cli.terminal.screen.base import Choice, During, Kind
from assistant.cli.terminal.screen.desk import Desk


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
        from assistant.cli.terminal.screen.picker import pick  # few chats need it

        with self.aside(), contextlib.redirect_stdout(sys.__stdout__):
            return pick(title, choices)

    def _fitted(self, text: str) -> str:
        columns = self.size[0]
        if all(get_cwidth(SGR.sub("", line)) <= columns for line in text.split("\n")):
            return text
        from assistant.cli.terminal.markdown import wrapped  # rich: behind the prompt

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
    from assistant.cli.terminal.markdown import Renderer  # rich: behind the prompt

    return Renderer(columns).markdown(markdown)
