"""The moving part at the bottom of the screen."""

import asyncio
import base64
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from prompt_toolkit.application import Application, get_app, in_terminal
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import ANSI, AnyFormattedText, StyleAndTextTuples
from prompt_toolkit.layout.containers import ConditionalContainer, Container, HSplit, Window
from prompt_toolkit.layout.controls import BufferControl, FormattedTextControl
from prompt_toolkit.layout.dimension import Dimension
from prompt_toolkit.layout.layout import Layout
from prompt_toolkit.layout.menus import CompletionsMenu
from prompt_toolkit.layout.screen import Screen as Drawn
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.styles import Style
from prompt_toolkit.utils import get_cwidth
from prompt_toolkit.widgets import SearchToolbar

from assistant.cli.chat.palette import ACCENT, FAINT, WARNING, hexadecimal
from assistant.display import shortened

FIXED = ("linux", "rxvt", "eterm", "vt")
"""Terminals that cut a line when they get narrower; all others wrap it anew."""


BEGIN_UPDATE, END_OF_UPDATE = "\x1b[?2026h", "\x1b[?2026l"
"""Have a terminal that knows them show all between them at once; others pass over them."""


class SteadyOutput(Vt100_Output):
    """Between `hold` and `release` nothing is sent: what is erased and what takes its place arrive
    together, so nothing flickers."""

    _held = False

    @property
    def responds_to_cpr(self) -> bool:
        """Never asked where its cursor is: the answer would come as keys that nobody pressed."""
        return False

    def hold(self) -> None:
        """Send nothing until `release`."""
        if not self._held:
            self.write_raw(BEGIN_UPDATE)
        self._held = True

    def release(self) -> None:
        """Send what was held back."""
        self._held = False
        self.write_raw(END_OF_UPDATE)
        self.flush()

    def flush(self) -> None:
        """Send what there is, unless it is held back."""
        if not self._held:
            super().flush()


def steady() -> SteadyOutput:
    """Standard output, sent in whole pieces."""
    output = SteadyOutput.from_pty(sys.stdout, term=os.environ.get("TERM"))
    assert isinstance(output, SteadyOutput)
    return output


def wraps_anew() -> bool:
    """Whether this terminal wraps its lines anew when its width changes."""
    term = os.environ.get("TERM", "")
    if "XTERM_VERSION" in os.environ or term.startswith(FIXED):
        return False
    return "TMUX" in os.environ or not term.startswith("screen")


def rows_above(drawn: Drawn, row: int, columns: int) -> int:
    """How many rows there are now above the cursor's, which was the `row`-th of what was drawn.

    Every row that was longer than the new width has become several.
    """
    widths = [_row_width(drawn, each) for each in range(row)]
    return sum(max(1, -(-width // columns)) for width in widths)


def _row_width(drawn: Drawn, row: int) -> int:
    cells = drawn.data_buffer[row]
    seen = {x: cell.char for x, cell in cells.items() if cell.char.strip()}
    return max((x + get_cwidth(char) for x, char in seen.items()), default=0)


MENU_ROWS = 8
THOUGHT_ROWS = 4
SEPARATOR = " · "
STOPS = "Esc stops"
BESIDE = 24
"""Columns beside what runs: for how long, and the key that stops it."""
HURRIES = "\nEnter again stops the reply for it"
STYLE = Style.from_dict(
    {
        "prompt": f"{hexadecimal(ACCENT)} bold",
        "faint": hexadecimal(FAINT),
        "warning": hexadecimal(WARNING),
        "question": "bold",
    }
)


@dataclass(slots=True)
class Region:
    """What the moving part shows.

    `render` turns markdown into a terminal's text. `growing` is the markdown of the block that is
    not finished, `thought` what the model reasons, `doing` what runs, since `since` (monotonic
    seconds), or what comes at `until`. `queued` says what waits to be heard, and whether Enter can
    hurry it. `question` is
    what the owner is asked, None while they are not. `progress` of something in the background
    stands in the place of the status; `hint` too, until the next key.
    """

    message: Buffer
    answer: Buffer
    search: SearchToolbar
    prompt: str
    render: Callable[[str], str] = str
    growing: str = ""
    thought: str = ""
    doing: str = ""
    since: float = 0.0
    until: float = 0.0
    queued: Callable[[], tuple[Sequence[str], bool]] = lambda: ((), False)
    status: Sequence[str] = ()
    folded: str = ""
    progress: str = ""
    hint: str = ""
    question: str | None = None

    @property
    def is_tall(self) -> bool:
        """Whether anything stands above the cursor's row.

        Such rows are drawn whole each time: what was erased at the end of a row is still a part of
        it for some terminals (tmux) when they wrap it anew.
        """
        shown = self.growing or self.thought or self.doing or self.queued()[0]
        return bool(shown or "\n" in self.message.text)

    def layout(self) -> Layout:
        """The windows over these fields."""
        asked = Condition(lambda: self.question is not None)
        message = Window(
            BufferControl(
                self.message, search_buffer_control=self.search.control, preview_search=True
            ),
            get_line_prefix=self._prompt,
            wrap_lines=True,
            height=_at_most_a_third,
            dont_extend_height=True,
        )
        answer = Window(
            BufferControl(self.answer),
            get_line_prefix=self._question,
            wrap_lines=True,
            dont_extend_height=True,
        )
        rows: list[Container] = [
            _blank(lambda: True),
            _shown(self._growing),
            _blank(lambda: bool(self.growing or self.thought)),
            _shown(self._doing),
            _shown(self._queued),
            ConditionalContainer(answer, asked),
            ConditionalContainer(message, ~asked),
            self.search,  # type: ignore[list-item]
            CompletionsMenu(max_height=MENU_ROWS),
            _shown(self._status),
        ]
        return Layout(HSplit(rows), focused_element=message)

    def _prompt(self, line: int, wrapped: int) -> StyleAndTextTuples:
        first = line == 0 and wrapped == 0
        return [("class:prompt", self.prompt if first else " " * get_cwidth(self.prompt))]

    def _question(self, line: int, wrapped: int) -> StyleAndTextTuples:
        return [("class:question", self.question or "")] if line == wrapped == 0 else []

    def _growing(self) -> AnyFormattedText:
        size = get_app().output.get_size()
        if self.growing:
            rows = self.render(self.growing).split("\n")[-max(1, size.rows // 2) :]
            return ANSI("\n".join(rows))
        rows = self.thought.strip().split("\n")[-THOUGHT_ROWS:] if self.thought.strip() else []
        return _lines("class:faint italic", [row[: size.columns - 1] for row in rows])

    def _doing(self) -> StyleAndTextTuples:
        if not self.doing or self.question is not None:
            return []
        now, room = time.monotonic(), get_app().output.get_size().columns
        if self.until > now:
            facts = [f"{self.doing} in {self.until - now:.0f} s", "Enter tries now", STOPS]
        else:
            seconds = int(now - self.since)
            doing = shortened(f"{self.doing} …", max(room - BESIDE, BESIDE))
            facts = [doing, *([f"{seconds} s"] if seconds else []), STOPS]
        return [("class:faint", SEPARATOR.join(facts))]

    def _queued(self) -> StyleAndTextTuples:
        waiting, joins = self.queued()
        queued = _lines("class:warning", [f"queued: {text}" for text in waiting])
        return [*queued, ("class:faint", HURRIES)] if joins else queued

    def _status(self) -> AnyFormattedText:
        room = get_app().output.get_size().columns - 1
        instead = self.hint or self.progress
        parts = [instead] if instead else list(self.status)
        while parts and get_cwidth(SEPARATOR.join(parts)) > room:
            parts.pop()
        return [("class:faint", SEPARATOR.join(parts))] if parts else []


def _at_most_a_third() -> Dimension:
    return Dimension(min=1, max=max(1, get_app().output.get_size().rows // 3))


def _lines(style: str, texts: Sequence[str]) -> StyleAndTextTuples:
    return [(style, "\n".join(texts))] if texts else []


def _blank(wanted: Callable[[], bool]) -> Container:
    return ConditionalContainer(Window(height=1), Condition(wanted))


def _shown(text: Callable[[], AnyFormattedText]) -> Container:
    """A window over a text that is there only while the text is."""
    window = Window(FormattedTextControl(text), dont_extend_height=True, wrap_lines=False)
    return ConditionalContainer(window, Condition(lambda: bool(text())))


STOPS_WITHIN = 1.0
"""Seconds until a shell that cannot stop us has had its chance."""


class Canvas:
    """Where an application draws its region; `drawn` and `resumed` say that it did, and is back."""

    def __init__(self, app: Application[None], region: Region, output: SteadyOutput) -> None:
        self.drawn = threading.Event()
        self.resumed = threading.Event()
        self._app = app
        self._region = region
        self._output = output
        self._size = output.get_size()
        self._was_tall = False
        self._away = False
        self._unseen: list[str] = []
        app.before_render += self._before_drawing
        app.after_render += self._after_drawing

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows."""
        size = self._output.get_size()
        return size.columns, size.rows

    def put(self, text: str, growing: str | None = None) -> None:
        """Write a finished text above the moving part, which shows `growing` from then on.

        While another program has the screen, it waits.
        """
        self._region.growing = self._region.growing if growing is None else growing
        if self._away:
            self._unseen.append(text)
            return
        self._output.hold()
        self._forget()
        self._output.write_raw(text)
        self._app.invalidate()

    def copy(self, text: str) -> None:
        """Have the terminal take a text to its clipboard (OSC 52)."""
        self._output.write_raw(f"\x1b]52;c;{base64.b64encode(text.encode()).decode()}\x07")
        self._output.flush()

    def step_aside(self, begun: threading.Event, over: asyncio.Event) -> None:
        """Leave the terminal to another program until that is over."""

        async def wait() -> None:
            async with in_terminal():
                self._output.release()
                begun.set()
                await over.wait()
            self._back()

        self._away = True
        self._app.create_background_task(wait())

    def suspend(self) -> None:
        """Give the terminal back to the shell until `fg`."""

        async def stop() -> None:
            async with in_terminal():
                self._output.release()
                self.resumed.clear()
                os.kill(0, signal.SIGTSTP)  # another thread may be the one that takes it
                self.resumed.wait(STOPS_WITHIN)

        self._app.create_background_task(stop())

    def edit(self) -> None:
        """Open what is typed in the owner's editor."""
        self._away = True
        self._output.release()
        self._app.current_buffer.open_in_editor().add_done_callback(lambda _: self._back())

    def _back(self) -> None:
        self._away = False
        unseen, self._unseen = self._unseen, []
        for text in unseen:
            self.put(text)

    def _before_drawing(self, _: object) -> None:
        self._output.hold()
        drawn = self._app.renderer.last_rendered_screen
        resized = self._output.get_size() != self._size
        tall = self._region.is_tall
        if drawn is not None and (resized or tall or self._was_tall or self._shrinks(drawn)):
            self._forget()
        self._size, self._was_tall = self._output.get_size(), tall

    def _after_drawing(self, _: object) -> None:
        self._output.release()
        self.drawn.set()

    def _shrinks(self, drawn: Drawn) -> bool:
        rows, columns = self._size
        wanted = self._app.layout.container.preferred_height(columns, rows)
        return wanted.preferred < drawn.height

    def _forget(self) -> None:
        """Take the moving part off the screen, wherever a resize has put it."""
        drawn, size = self._app.renderer.last_rendered_screen, self._output.get_size()
        if drawn is not None and size.columns != self._size.columns and wraps_anew():
            cursor = drawn.get_cursor_position(self._app.layout.current_window)
            above = rows_above(drawn, cursor.y, size.columns) + cursor.x // size.columns
            self._output.cursor_up(max(0, above - cursor.y))
        self._size = size
        self._app.renderer.erase()
