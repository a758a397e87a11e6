"""What a slash command is, and what it may do with the chat it was typed in."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from assistant.app.chat import Chat
from assistant.cli.terminal.screen.base import Screen
from assistant.messages import Picture

BESIDE = "goes with your next message"


class Host(Protocol):
    """The chat on its screen."""

    chat: Chat
    screen: Screen
    given: dict[str, str | Picture]
    """What goes with the next message, by its title."""

    def go_on(self) -> None:
        """Show the session's last exchange, and finish a turn that was cut off."""


@dataclass(frozen=True, slots=True)
class Command:
    """A slash command: its argument as help shows it, and what it does with it.

    One that `asks` has the terminal to itself, and reads it line by line.
    """

    argument: str
    help: str
    run: Callable[[Host, str], None]
    asks: bool = False
