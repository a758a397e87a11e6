"""The owner and the assistant at one terminal: a turn or a command for each line that is said."""

import contextlib
import io
import time
from collections.abc import Iterator
from datetime import datetime

import typer

from assistant.app.chat import Chat
from assistant.cli.chat.palette import BAD, faint, styled
from assistant.cli.chat.screen import Kind, Screen
from assistant.cli.chat.slash import BEGINS, named
from assistant.cli.chat.turn_view import TurnView, show_past
from assistant.cli.options import asked_by
from assistant.display import counted, spelled
from assistant.errors import AssistantError, UsageError
from assistant.events import Event
from assistant.messages import Picture
from assistant.session.history import group
from assistant.session.listing import LEFT, abandoned, title_of

THOUSAND = 1000


def status(chat: Chat, seconds: float | None = None, recalled: int = 0) -> list[str]:
    """The facts, most important first; `seconds` is what the last turn took."""
    talk = chat.conversation
    facts = [talk.model.name.rpartition("/")[2]]
    if talk.filled is not None:
        used, window = talk.filled
        facts.append(f"{_short(used)} of {_short(window)} tokens ({used / window:.0%})")
    if talk.usage.cost:
        facts.append(f"${talk.usage.cost:.4f}")
    if seconds is not None:
        facts.append(f"{seconds:.0f} s")
    if recalled:
        facts.append(f"{recalled} recalled")
    return facts


def _short(tokens: int) -> str:
    return f"{tokens / THOUSAND:.1f}k" if tokens >= THOUSAND else str(tokens)


STOPPED = "stopped"
ABANDONED = 3
"""Sessions left in the middle that are named, at most."""
SHORT = 3
"""Characters of a session's id that tell it from others, but for a rare chance."""


class Sitting:
    """An open chat on a screen."""

    def __init__(self, chat: Chat, screen: Screen) -> None:
        self.chat = chat
        self.screen = screen
        self.given: dict[str, str | Picture] = {}
        screen.draw(status=status(chat), progress="")

    def take(self, line: str) -> None:
        """Do what a line says, and what was said into it too late. Raises EOFError at `/quit`."""
        self.screen.echo(line)
        if line.startswith(BEGINS):
            self._command(line)
            return
        self._say(line)
        while late := self.chat.conversation.late():
            self.screen.echo(late)
            self._say(late)

    def go_on(self) -> None:
        """Show the session's last exchange, and finish a turn that a crash cut off."""
        talk = self.chat.conversation
        turns = group(talk.transcript.entries)
        about = title_of(talk.transcript.entries)
        facts = f"going on with “{about}” · {counted(len(turns), 'turn')}"
        self.screen.put(faint(facts), "line")
        if turns:
            show_past(turns[-1].entries, self.screen)
        if talk.unfinished:
            self.turn(talk.resume())

    def name_abandoned(self) -> None:
        """Name the sessions that were left in the middle of a turn, and say how to go on."""
        if not self.chat.conversation.trusted:
            return
        for each in abandoned(self.chat.place.sessions)[:ABANDONED]:
            how = f"/resume {each.id[-SHORT:]} goes on with it"
            self.screen.put(faint(f"“{each.title}” {LEFT[each.left]} · {how}"), "line")

    @property
    def noted(self) -> list[str]:
        """The facts that stand in memory from this chat, since it was opened, oldest first.

        Raises MemoryFailure.
        """
        session, since = self.chat.conversation.transcript.session, self.chat.opened
        return [
            each.text
            for each in reversed(self.chat.memory.log())
            if each.origin.session == session
            and each.action != "undo"
            and not each.undone
            and datetime.fromisoformat(each.time) >= since
        ]

    @property
    def name(self) -> str:
        """What the session can be resumed by; empty if there is nothing to resume."""
        record = self.chat.conversation.transcript
        return "" if record.off_the_record or not record.entries else record.session[-SHORT:]

    def turn(self, turn: Iterator[Event]) -> None:
        """Show one turn; Ctrl-C ends it, wherever it hits."""
        talk, view, began = self.chat.conversation, TurnView(self.screen), time.monotonic()
        with self.screen.working(talk if talk.model.extracts else None):  # else nobody listens
            try:
                for event in turn:
                    view.show(event)
            except KeyboardInterrupt:  # it hit the screen and not the turn: end that too
                talk.interruption.cancel()
                for event in turn:
                    view.show(event)
            finally:
                view.flush()
        self.screen.draw(
            status=status(self.chat, time.monotonic() - began, view.recalled), progress=""
        )

    def _say(self, message: str) -> None:
        """A turn on a message and what goes with it."""
        try:
            turn = self.chat.send(message, self.given)
        except UsageError as error:
            self.screen.put(styled(spelled(str(error)), BAD))
            self.screen.give_back(message)
            return
        self.given = {}
        self.turn(turn)

    def _command(self, line: str) -> None:
        above = _Above(self.screen)
        with self.screen.working(None):
            try:
                self._carry_out(line, above)
            except AssistantError as error:
                self.screen.put(styled(spelled(str(error)), BAD))
            except KeyboardInterrupt:
                self.screen.put(STOPPED, "line")
            finally:
                above.end()
        self.screen.draw(status=status(self.chat), progress="")

    def _carry_out(self, line: str, above: "_Above") -> None:
        command, argument = named(line)
        if command.asks:
            with self.screen.aside():
                typer.echo()
                command.run(self, argument)
        else:
            shown = contextlib.redirect_stdout(above)
            with shown, contextlib.redirect_stderr(above), asked_by(self.screen.answer):
                command.run(self, argument)


class _Above(io.TextIOBase):
    """What a command prints, on the screen line by line."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._rest = ""
        self._kind: Kind = "block"

    def isatty(self) -> bool:
        """As the screen is."""
        return True

    def write(self, text: str) -> int:
        """Put up every whole line."""
        whole, end, self._rest = (self._rest + text).rpartition("\n")
        if end:
            self._put(whole)
        return len(text)

    def end(self) -> None:
        """Put up a last line that has no end."""
        if self._rest:
            self._put(self._rest)

    def _put(self, text: str) -> None:
        self._screen.put(text, self._kind)
        self._kind = "more"
