"""The moving part at the bottom of the screen: what grows, what runs, the prompt, the status.

Everything finished stands above it and moves no more. Its fields may be set from any thread; the
screen's own draws them.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from prompt_toolkit.application import get_app
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import ANSI, AnyFormattedText, StyleAndTextTuples
from prompt_toolkit.layout.containers import ConditionalContainer, Container, HSplit, Window
from prompt_toolkit.layout.controls import BufferControl, FormattedTextControl
from prompt_toolkit.layout.dimension import Dimension
from prompt_toolkit.layout.layout import Layout
from prompt_toolkit.layout.menus import CompletionsMenu
from prompt_toolkit.styles import Style
from prompt_toolkit.utils import get_cwidth
from prompt_toolkit.widgets import SearchToolbar

from assistant.cli.terminal.palette import ACCENT, FAINT, WARNING, hexadecimal

MENU_ROWS = 8
THOUGHT_ROWS = 4
SEPARATOR = " · "
STOPS = "\nEnter again stops the reply for it"
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
    seconds). `waiting` was typed in the meantime, and some of it `joins` what runs. `question` is
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
    waiting: list[str] = field(default_factory=list)
    joins: bool = False
    status: tuple[str, ...] = ()
    progress: str = ""
    hint: str = ""
    question: str | None = None

    @property
    def is_tall(self) -> bool:
        """Whether anything stands above the cursor's row.

        Such rows are drawn whole each time: what was erased at the end of a row is still a part of
        it for some terminals (tmux) when they wrap it anew.
        """
        shown = self.growing or self.thought or self.doing or self.waiting
        return bool(shown or "\n" in self.message.text)

    def layout(self) -> Layout:
        """The windows over these fields."""
        asked = Condition(lambda: self.question is not None)
        message = Window(
            BufferControl(self.message, search_buffer_control=self.search.control),
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
        seconds = int(time.monotonic() - self.since)
        facts = [f"{self.doing} …", *([f"{seconds} s"] if seconds else []), "Ctrl-C stops"]
        return [("class:faint", SEPARATOR.join(facts))]

    def _queued(self) -> StyleAndTextTuples:
        if not self.waiting:
            return []
        queued = _lines("class:warning", [f"queued: {text}" for text in self.waiting])
        return [*queued, ("class:faint", STOPS)] if self.joins else queued

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
