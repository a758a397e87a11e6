"""What the keys do in the chat, beside those that edit a line as everywhere else."""

from collections.abc import Callable
from typing import Protocol

from prompt_toolkit.filters import Condition
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys

from assistant.cli.terminal.completion import pictures_named


class Hands(Protocol):
    """What the owner can do besides editing."""

    def enter(self) -> None:
        """Say it, answer it, or queue it."""

    def interrupt(self) -> None:
        """End what runs; never the chat."""

    def close(self) -> None:
        """End the chat, or say no to a question."""

    def suspend(self) -> None:
        """Give the terminal back to the shell until `fg`."""

    def edit(self) -> None:
        """Open what is typed in the owner's editor."""

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


def bindings(hands: Hands) -> KeyBindings:
    """The keys: Enter, Alt-Enter, Ctrl-C, Ctrl-D, Ctrl-Z, Ctrl-V, Ctrl-X Ctrl-E; arrows."""
    keys = KeyBindings()

    def on(*names: str, when: Callable[[], bool] = lambda: True) -> Callable[..., object]:
        return keys.add(*names, filter=Condition(when))

    @on("enter")
    def _enter(event: KeyPressEvent) -> None:
        state = event.current_buffer.complete_state
        if state and state.current_completion:
            event.current_buffer.apply_completion(state.current_completion)
        else:
            hands.enter()

    @on("escape", "enter")
    def _new_line(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    @on("down", when=lambda: hands.choosing)
    def _next(event: KeyPressEvent) -> None:
        hands.choose(1)

    @on("up", when=lambda: hands.choosing)
    def _previous(event: KeyPressEvent) -> None:
        hands.choose(-1)

    @on("c-c")
    def _interrupt(event: KeyPressEvent) -> None:
        hands.interrupt()

    @on("c-d", when=lambda: hands.empty)
    def _close(event: KeyPressEvent) -> None:
        hands.close()

    @on("c-z")
    def _suspend(event: KeyPressEvent) -> None:
        hands.suspend()

    @on("c-x", "c-e")
    def _edit(event: KeyPressEvent) -> None:
        hands.edit()

    @on("c-v")
    def _paste(event: KeyPressEvent) -> None:
        hands.paste()

    @on(Keys.BracketedPaste)
    def _pasted(event: KeyPressEvent) -> None:
        buffer, text = event.current_buffer, event.data.replace("\r\n", "\n").replace("\r", "\n")
        before = buffer.document.char_before_cursor
        apart = " " if before and not before.isspace() else ""
        named = pictures_named(text)
        buffer.insert_text(f"{apart}{named} " if named else text)

    return keys
