"""A list to choose from: what is typed narrows it, the arrows move, Enter takes, Escape leaves."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from prompt_toolkit.application import Application, create_app_session
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.input import create_input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout.containers import HSplit, Window
from prompt_toolkit.layout.controls import BufferControl, FormattedTextControl
from prompt_toolkit.layout.layout import Layout
from prompt_toolkit.utils import get_cwidth

from assistant.cli.chat.region import STYLE, steady
from assistant.cli.chat.screen import Choice

HINT = "type to search · arrows move · Enter takes it · Esc leaves"
ROWS_BESIDE = 4
"""Rows of the screen that the list leaves free: its title, what is typed, the hint."""
ESCAPE_SECONDS = 0.05
"""How long a lone Escape waits for the rest of a longer key."""


@dataclass(slots=True)
class _List:
    """The choices that hold all the words that were typed, and the one that is pointed at."""

    choices: Sequence[Choice]
    words: Buffer
    rows: Callable[[], int]
    columns: Callable[[], int]
    place: int = 0

    @property
    def shown(self) -> list[Choice]:
        return [each for each in self.choices if each.holds(self.words.text)]

    @property
    def chosen(self) -> Choice | None:
        return next(iter(self.shown[self.place :]), None)

    def move(self, by: int) -> None:
        self.place = max(0, min(self.place + by, len(self.shown) - 1))

    def lines(self) -> StyleAndTextTuples:
        shown, room = self.shown, self.rows()
        first = max(0, self.place - room + 1)
        found: StyleAndTextTuples = []
        for number, each in enumerate(shown[first : first + room], start=first):
            here = number == self.place
            title, facts = _fitted(each, self.columns() - 2)
            found.append(("class:prompt" if here else "", f"{'›' if here else ' '} {title}"))
            found.append(("class:faint", f"  {facts}\n"))
        return found or [("class:faint", "  none of them\n")]


def _fitted(choice: Choice, columns: int) -> tuple[str, str]:
    """A title and its facts on one row: half of it is the title's, and what the facts leave."""
    title = _cut(choice.title, max(columns // 2, columns - 2 - get_cwidth(choice.facts)))
    return title, _cut(choice.facts, columns - 2 - get_cwidth(title))


def _cut(text: str, columns: int) -> str:
    while get_cwidth(text) > max(columns, 1):
        text = f"{text.removesuffix('…')[:-1]}…"
    return text


def pick(title: str, choices: Sequence[Choice]) -> Choice | None:
    """What the owner takes; None if they leave. The terminal must be free."""
    with create_app_session(input=create_input(), output=steady()):
        words = Buffer(multiline=False)
        app: Application[Choice | None]
        found = _List(
            choices,
            words,
            lambda: max(1, app.output.get_size().rows - ROWS_BESIDE),
            lambda: app.output.get_size().columns,
        )
        words.on_text_changed += lambda _: setattr(found, "place", 0)
        app = Application(
            Layout(_rows(title, found)),
            style=STYLE,
            include_default_pygments_style=False,
            key_bindings=_bindings(found),
            erase_when_done=True,
        )
        app.ttimeoutlen = ESCAPE_SECONDS
        return app.run(handle_sigint=False)


def _rows(title: str, found: _List) -> HSplit:
    prefix: StyleAndTextTuples = [("class:prompt", "search: ")]
    typed = Window(BufferControl(found.words), height=1, get_line_prefix=lambda *_: prefix)
    shown = FormattedTextControl(found.lines)
    return HSplit(
        [
            Window(FormattedTextControl([("class:question", title)]), height=1),
            typed,
            Window(shown, wrap_lines=False, dont_extend_height=True),
            Window(FormattedTextControl([("class:faint", HINT)]), height=1),
        ]
    )


def _bindings(found: _List) -> KeyBindings:
    keys = KeyBindings()

    def move(names: Sequence[str], by: Callable[[], int]) -> None:
        for name in names:
            keys.add(name)(lambda event: found.move(by()))

    move(("up", "c-p"), lambda: -1)
    move(("down", "c-n", "tab"), lambda: 1)
    move(("pageup",), lambda: -found.rows())
    move(("pagedown",), lambda: found.rows())

    @keys.add("enter")
    def _take(event: KeyPressEvent) -> None:
        event.app.exit(result=found.chosen)

    @keys.add("escape", eager=True)
    @keys.add("c-c")
    @keys.add("c-d")
    def _leave(event: KeyPressEvent) -> None:
        event.app.exit(result=None)

    return keys
