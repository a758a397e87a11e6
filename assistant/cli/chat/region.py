"""The moving part at the bottom of the screen: what it shows, and how it is drawn."""

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

from assistant.cli.chat.palette import ACCENT, WARNING, faint, styled
from assistant.cli.chat.screen import Choice
from assistant.display import shortened, spelled

FIXED = ("linux", "rxvt", "eterm", "vt")
"""Terminals that cut a line when they get narrower; all others wrap it anew."""
BEGIN_UPDATE, END_OF_UPDATE = "\x1b[?2026h", "\x1b[?2026l"
"""Have a terminal that knows them show all between them at once; others pass over them."""
MENU_ROWS = 8
THOUGHT_ROWS = 4
BESIDE_LIST = 4
"""Rows of the screen that a list to pick from leaves free."""
SEPARATOR = " · "
STOPS = "Esc stops"
BESIDE = 24
"""Columns beside what runs: for how long, and the key that stops it."""
PICKING = "type to search · ↑ ↓ move · Enter picks · Esc closes"
HURRIES = "Enter again stops the reply and sends it now"


@dataclass(slots=True)
class Region:
    """What the moving part shows.

    `message` is what the owner types, `answer` what they type when they are asked `question`.
    Of `choices`, those that match the answer are listed, and the one at `pointer` is marked.
    `queued` says what waits to be sent, and whether Enter can hurry it. `progress` takes the place
    of the status; so does `hint`, until the next key. The rest is told of in `Moving`; `since` is
    when `doing` began.
    """

    message: Buffer
    prompt: str
    answer: Buffer = field(default_factory=lambda: Buffer(multiline=False))
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
    choices: Sequence[Choice] = ()
    pointer: int = 0

    def layout(self) -> Layout:
        """The windows over these fields."""
        asked = Condition(lambda: self.question is not None)
        search = SearchToolbar(backward_search_prompt="search: ")
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
            _shown(self._growing),
            _shown(self._doing),
            _shown(self._queued),
            ConditionalContainer(answer, asked),
            ConditionalContainer(message, ~asked),
            search,  # type: ignore[list-item]
            CompletionsMenu(max_height=MENU_ROWS),
            _shown(self._list),
            _shown(self._status),
        ]
        return Layout(HSplit(rows), focused_element=message)

    @property
    def matching(self) -> list[Choice]:
        """The choices that match what is typed."""
        return [choice for choice in self.choices if choice.matches(self.answer.text)]

    def _prompt(self, line: int, wrapped: int) -> ANSI:
        if line == wrapped == 0:
            return ANSI(styled(self.prompt, ACCENT, bold=True))
        return ANSI(" " * get_cwidth(self.prompt))

    def _question(self, line: int, wrapped: int) -> ANSI:
        return ANSI(styled(spelled(self.question or ""), bold=True) if line == wrapped == 0 else "")

    def _growing(self) -> str:
        size = get_app().output.get_size()
        if self.growing:
            rows = self.render(self.growing).split("\n")[-max(1, size.rows // 2) :]
        else:
            last = self.thought.strip().split("\n")[-THOUGHT_ROWS:] if self.thought.strip() else []
            rows = [typer.style(faint(row[: size.columns - 1]), italic=True) for row in last]
        return "\n".join([*rows, ""]) if rows else ""

    def _doing(self) -> str:
        if not self.doing or self.question is not None:
            return ""
        now, columns = time.monotonic(), get_app().output.get_size().columns
        if self.until > now:
            facts = [f"{self.doing} in {self.until - now:.0f} s", "Enter tries now", STOPS]
        else:
            seconds = int(now - self.since)
            doing = shortened(f"{self.doing} …", max(columns - BESIDE, BESIDE))
            facts = [doing, *([f"{seconds} s"] if seconds else []), STOPS]
        return faint(SEPARATOR.join(facts))

    def _queued(self) -> str:
        waiting, joins = self.queued()
        rows = [styled(f"queued: {spelled(text)}", WARNING) for text in waiting]
        return "\n".join([*rows, *([faint(HURRIES)] if joins else [])])

    def _list(self) -> str:
        if not self.choices:
            return ""
        size, matching = get_app().output.get_size(), self.matching
        most, room = max(1, size.rows - BESIDE_LIST), size.columns - 5
        first = max(0, self.pointer - most + 1)
        rows = []
        for number, choice in enumerate(matching[first : first + most], start=first):
            title = shortened(choice.title, max(room // 2, room - len(choice.facts)))
            facts = shortened(choice.facts, max(room - len(title), 1))
            mark, colour = ("›", ACCENT) if number == self.pointer else (" ", None)
            rows.append(f"{styled(f'{mark} {title}', colour)}  {faint(facts)}")
        return "\n".join(rows) or faint("  no match")

    def _status(self) -> str:
        columns = get_app().output.get_size().columns - 1
        instead = self.hint or (PICKING if self.choices else self.progress)
        facts = [instead] if instead else list(self.status)
        while facts and get_cwidth(SEPARATOR.join(facts)) > columns:
            facts.pop()
        return faint(SEPARATOR.join(facts)) if facts else ""


def _at_most_a_third() -> Dimension:
    return Dimension(min=1, max=max(1, get_app().output.get_size().rows // 3))


def _shown(text: Callable[[], str]) -> Container:
    """A window over a text with SGR sequences that is there only while the text is."""
    control = FormattedTextControl(lambda: ANSI(text()))
    window = Window(control, dont_extend_height=True, wrap_lines=False)
    return ConditionalContainer(window, Condition(lambda: bool(text())))


class SteadyOutput(Vt100_Output):
    """While `held` nothing is sent: what is erased and what takes its place arrive together, so
    nothing flickers."""

    held = False

    @property
    def responds_to_cpr(self) -> bool:
        """Never asked where its cursor is: the answer would come as keys that nobody pressed."""
        return False

    def flush(self) -> None:
        """Send what there is, unless it is held."""
        if not self.held:
            super().flush()


def steady() -> SteadyOutput:
    """Standard output, sent in whole pieces."""
    output = SteadyOutput.from_pty(sys.stdout, term=os.environ.get("TERM"))
    assert isinstance(output, SteadyOutput)
    return output


class Canvas:
    """Draws the region of an application anew each time, below the texts that were put above it.

    Nothing is drawn while another program has the terminal, and so texts wait meanwhile. `drawn`
    is set once the region has been.
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
        self._output.held = True
        self._output.write_raw(BEGIN_UPDATE)
        self._erase()
        for text in self._texts:
            self._output.write_raw(text)
        self._texts.clear()

    def _after_drawing(self, _: object) -> None:
        self._output.write_raw(END_OF_UPDATE)
        self._output.held = False
        self._output.flush()
        self.drawn.set()

    def _erase(self) -> None:
        """Take the region off the screen, wherever a resize has put it."""
        drawn, size = self._app.renderer.last_rendered_screen, self._output.get_size()
        if drawn is not None and size.columns != self._size.columns and wraps_anew():
            cursor = drawn.get_cursor_position(self._app.layout.current_window)
            above = rows_above(drawn, cursor.y, size.columns) + cursor.x // size.columns
            self._output.cursor_up(max(0, above - cursor.y))
        self._size = size
        self._app.renderer.erase()


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
    above = 0
    for number in range(row):
        cells = drawn.data_buffer[number].items()
        ends = (x + get_cwidth(cell.char) for x, cell in cells if cell.char.strip())
        above += max(1, -(-max(ends, default=0) // columns))
    return above
