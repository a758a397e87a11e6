"""The region at the bottom of the live screen: its parts, and how it is drawn."""

import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import typer
from prompt_toolkit.application import Application, get_app
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import ANSI
from prompt_toolkit.layout.containers import ConditionalContainer, Container, HSplit, Window
from prompt_toolkit.layout.controls import BufferControl, FormattedTextControl
from prompt_toolkit.layout.dimension import Dimension
from prompt_toolkit.layout.layout import Layout
from prompt_toolkit.layout.menus import CompletionsMenu
from prompt_toolkit.layout.screen import Screen as Drawn
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.utils import get_cwidth
from prompt_toolkit.widgets import SearchToolbar

from assistant.cli.chat.screen import Choice
from assistant.cli.palette import ACCENT, WARNING, faint, styled
from assistant.display import shortened, spelled

FIXED = ("linux", "rxvt", "eterm", "vt")
"""Terminals that truncate lines when they get narrower; all others rewrap them."""
BEGIN_UPDATE, END_OF_UPDATE = "\x1b[?2026h", "\x1b[?2026l"
"""Synchronized update: terminals that support it show everything in between at once."""
MENU_ROWS = 8
THOUGHT_ROWS = 4
BESIDE_LIST = 4
"""Rows of the screen left free next to a list."""
SEPARATOR = " · "
STOPS = "Esc stops"
BESIDE = 24
"""Columns reserved for the elapsed time and the key that stops it."""
PICKING = "type to search · ↑ ↓ move · Enter picks · Esc closes"
HURRIES = "Enter stops the reply and sends it now"


@dataclass(slots=True)
class Region:
    """The region's state; `screen.Parts` describes the other fields.

    `message` is the owner's input, `answer` their answer to `question`. The `choices` that match
    the answer are listed, with the one at `pointer` marked. `queued` returns the waiting messages,
    and whether Enter sends them now. `hint` replaces the status until the next key, and so does
    `progress` while it is set. `since` is when `doing` began.
    """

    message: Buffer
    prompt: str
    answer: Buffer = field(default_factory=lambda: Buffer(multiline=False))
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
    choices: Sequence[Choice] = ()
    pointer: int = 0

    def layout(self) -> Layout:
        """Return the windows that show these fields."""
        is_question = Condition(lambda: self.question is not None)
        search = SearchToolbar(backward_search_prompt="search: ", ignore_case=True)
        message = Window(
            BufferControl(self.message, search_buffer_control=search.control, preview_search=True),
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
            Window(height=1),
            _text_window(self._growing),
            _text_window(self._doing),
            _text_window(self._queued),
            _text_window(lambda: "\n".join(self._question_rows()[:-1])),
            ConditionalContainer(answer, is_question),
            ConditionalContainer(message, ~is_question),
            search,  # type: ignore[list-item]
            CompletionsMenu(max_height=MENU_ROWS),
            _text_window(self._list),
            _text_window(self._status),
        ]
        return Layout(HSplit(rows), focused_element=message)

    @property
    def matching(self) -> list[Choice]:
        """The choices that match the answer."""
        return [choice for choice in self.choices if choice.matches(self.answer.text)]

    def _prompt(self, line: int, wrapped: int) -> ANSI:
        if line == wrapped == 0:
            return ANSI(styled(self.prompt, ACCENT, bold=True))
        return ANSI(" " * get_cwidth(self.prompt))

    def _question(self, line: int, wrapped: int) -> ANSI:
        return ANSI(self._question_rows()[-1] if line == wrapped == 0 else "")

    def _question_rows(self) -> list[str]:
        """Return the question wrapped between words; the answer is typed after its last row."""
        question = spelled(self.question or "")
        columns = get_app().output.get_size().columns
        if get_cwidth(question) > columns:
            from assistant.cli.chat.markdown import wrapped  # rich: after the prompt

            question = f"{wrapped(question, columns - 1)} "
        return [styled(row, bold=True) for row in question.split("\n")]

    def _growing(self) -> str:
        size = get_app().output.get_size()
        if self.growing:
            from assistant.cli.chat.markdown import rendered  # rich: after the prompt

            rows = rendered(self.growing, size.columns).split("\n")[-max(1, size.rows // 2) :]
        else:
            last = self.thought.strip().split("\n")[-THOUGHT_ROWS:] if self.thought.strip() else []
            rows = [typer.style(faint(row[: size.columns - 1]), italic=True) for row in last]
        return "\n".join([*rows, ""]) if rows else ""

    def _doing(self) -> str:
        if not self.doing or self.question is not None:
            return ""
        now, columns = time.monotonic(), get_app().output.get_size().columns
        if self.until > now:
            _, joins = self.queued()  # what Enter then does is shown below the queued messages
            hint = [] if joins else ["Enter tries now"]
            facts = [f"{self.doing} in {self.until - now:.0f} s", *hint, STOPS]
        else:
            seconds = int(now - self.since)
            doing = shortened(f"{self.doing} …", max(columns - BESIDE, BESIDE))
            facts = [doing, *([f"{seconds} s"] if seconds else []), STOPS]
        return _fitting(facts)

    def _queued(self) -> str:
        waiting, joins = self.queued()
        columns = get_app().output.get_size().columns
        shown = (shortened(f"queued: {spelled(text)}", columns) for text in waiting)
        rows = [styled(text, WARNING) for text in shown]
        return "\n".join([*rows, *([faint(HURRIES)] if joins else [])])

    def _list(self) -> str:
        if not self.choices:
            return ""
        size, matching = get_app().output.get_size(), self.matching
        height, room = max(1, size.rows - BESIDE_LIST), size.columns - 5
        first = max(0, self.pointer - height + 1)
        rows = []
        for number, choice in enumerate(matching[first : first + height], start=first):
            title = shortened(choice.title, max(room // 2, room - len(choice.facts)))
            facts = shortened(choice.facts, max(room - len(title), 1))
            mark, colour = ("›", ACCENT) if number == self.pointer else (" ", None)
            rows.append(f"{styled(f'{mark} {title}', colour)}  {faint(facts)}")
        return "\n".join(rows) or faint("  no match")

    def _status(self) -> str:
        override = self.hint or (PICKING if self.choices else self.progress)
        return _fitting(override.split(SEPARATOR) if override else self.status)


def _fitting(facts: Sequence[str]) -> str:
    """Return as many of the first facts as fit into a row."""
    fitting, columns = list(facts), get_app().output.get_size().columns - 1
    while fitting and get_cwidth(SEPARATOR.join(fitting)) > columns:
        fitting.pop()
    return faint(SEPARATOR.join(fitting)) if fitting else ""


def _at_most_a_third() -> Dimension:
    return Dimension(min=1, max=max(1, get_app().output.get_size().rows // 3))


def _text_window(text: Callable[[], str]) -> Container:
    """Return a window for a text with SGR sequences, hidden while the text is empty."""
    control = FormattedTextControl(lambda: ANSI(text()))
    window = Window(control, dont_extend_height=True, wrap_lines=False)
    return ConditionalContainer(window, Condition(lambda: bool(text())))


class SteadyOutput(Vt100_Output):
    """Sends nothing while `buffering`, so that erasing and redrawing cause no flicker."""

    buffering = False

    @property
    def responds_to_cpr(self) -> bool:
        """Always False: the answer to a query for the cursor's position would arrive as key
        presses."""
        return False

    def flush(self) -> None:
        """Send the output unless it is being buffered."""
        if not self.buffering:
            super().flush()


def steady() -> SteadyOutput:
    """Return standard output, sent one frame at a time."""
    output = SteadyOutput.from_pty(sys.stdout, term=os.environ.get("TERM"))
    assert isinstance(output, SteadyOutput)
    return output


class Canvas:
    """Redraws an application's region below the texts written above it.

    Texts wait while another program uses the terminal. `drawn` is set after the first drawing.
    """

    def __init__(self, app: Application[None], output: SteadyOutput) -> None:
        self.drawn = threading.Event()
        self._app = app
        self._output = output
        self._size = output.get_size()
        self._texts: list[str] = []
        app.before_render += self._before_drawing
        app.after_render += self._after_drawing

    def put(self, text: str) -> None:
        """Write a finished text above the region."""
        self._texts.append(text)
        self._app.invalidate()

    def _before_drawing(self, _: object) -> None:
        self._output.buffering = True
        self._output.write_raw(BEGIN_UPDATE)
        self._erase()
        for text in self._texts:
            self._output.write_raw(text)
        self._texts.clear()

    def _after_drawing(self, _: object) -> None:
        self._output.write_raw(END_OF_UPDATE)
        self._output.buffering = False
        self._output.flush()
        self.drawn.set()

    def _erase(self) -> None:
        """Erase the region, even if a resize has moved it."""
        drawn, size = self._app.renderer.last_rendered_screen, self._output.get_size()
        if drawn is not None and size.columns != self._size.columns and rewraps():
            cursor = drawn.get_cursor_position(self._app.layout.current_window)
            above = rows_above(drawn, cursor.y, size.columns) + cursor.x // size.columns
            self._output.cursor_up(max(0, above - cursor.y))
        self._size = size
        self._app.renderer.erase()


def rewraps() -> bool:
    """Return whether this terminal rewraps lines when its width changes."""
    term = os.environ.get("TERM", "")
    if "XTERM_VERSION" in os.environ or term.startswith(FIXED):
        return False
    return "TMUX" in os.environ or not term.startswith("screen")


def rows_above(drawn: Drawn, row: int, columns: int) -> int:
    """Return how many rows are now above the cursor, which was in row `row` of what was drawn.

    A row longer than the new width has become several.
    """
    above = 0
    for number in range(row):
        cells = drawn.data_buffer[number].items()
        ends = (x + get_cwidth(cell.char) for x, cell in cells if cell.char.strip())
        above += max(1, -(-max(ends, default=0) // columns))
    return above
