"""What the keys do in the chat, beside those that edit a line as everywhere else."""

from collections.abc import Callable
from typing import Protocol

from prompt_toolkit.filters import Condition
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys

from assistant.cli.terminal.completion import pictures_named
from assistant.cli.terminal.screen.canvas import Canvas


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
