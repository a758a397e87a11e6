"""A turn and a slash command in the terminal: events shown, approvals asked, typing taken in."""

import contextlib
import sys
from collections.abc import Iterator

from rich.console import Console
from rich.text import Text

from assistant.app import Chat
from assistant.cli.terminal import approval
from assistant.cli.terminal.linewise import LineDialogue
from assistant.cli.terminal.render import TurnView
from assistant.cli.terminal.slash import Quit, run_command
from assistant.cli.terminal.typeahead import TypeAhead
from assistant.display import spelled
from assistant.errors import AssistantError
from assistant.events import ApprovalRequested, Event
from assistant.tools.policy import Decision


class Terminal:
    """The screen and the keyboard during turns; also the `Approver` who asks the owner there."""

    def __init__(self) -> None:
        self.console = Console()
        self._view: TurnView | None = None
        self._keys: TypeAhead | None = None

    def turn(self, chat: Chat, turn: Iterator[Event]) -> str:
        """Show one turn; returns what the owner had begun to type when it ended."""
        keys = TypeAhead(chat.conversation.interject)
        with keys, TurnView(self.console, lambda: keys.typed) as view:
            self._view, self._keys = view, keys
            try:
                for event in turn:
                    view.show(event)
            except KeyboardInterrupt:  # it hit the screen and not the turn: end that too
                chat.conversation.cancel()
                for event in turn:
                    view.show(event)
        return keys.typed

    def command(self, chat: Chat, line: str) -> bool:
        """Carry out a slash command; False when the owner leaves."""
        try:
            run_command(chat, self.console, line)
        except Quit:
            return False
        except AssistantError as error:
            self.console.print(Text(spelled(str(error)), style="red"))
        return True

    def decide(self, request: ApprovalRequested) -> Decision:
        """Ask the owner about a dangerous call, with the moving parts off the screen."""
        dialogue = LineDialogue(sys.stdin, sys.stdout)
        with self._paused(dialogue):
            return approval.ask(request, dialogue)

    @contextlib.contextmanager
    def _paused(self, dialogue: LineDialogue) -> Iterator[None]:
        if self._view is None or self._keys is None:
            yield
            return
        self._view.pause()
        self._keys.__exit__(None, None, None)
        try:
            yield
        finally:
            self._keys.__enter__()
            self._keys.take(dialogue.kept)
            self._view.resume()
