"""The chat at a terminal: each line is a turn or a command."""

import contextlib
import io
import time
from collections.abc import Iterator
from datetime import datetime

from assistant.app.chat import Chat
from assistant.cli.chat.screen import Kind, Screen
from assistant.cli.chat.slash import BEGINS, Host
from assistant.cli.chat.turn_view import TurnView, show_past
from assistant.cli.palette import BAD, faint, styled
from assistant.cli.questions import asked_by
from assistant.display import counted, spelled
from assistant.errors import AssistantError, MemoryFailure, UsageError
from assistant.events import Event
from assistant.session.history import group
from assistant.session.listing import LEFT, abandoned, title_of

ABANDONED = 3
"""Maximum number of interrupted sessions to list."""
SHORT_ID = 3
"""Number of last characters of a session's ID shown; they nearly always identify it."""


class ChatLoop(Host):
    """An open chat on a screen."""

    def __init__(self, chat: Chat, screen: Screen) -> None:
        super().__init__(chat, screen)
        self._show_status()

    def take(self, line: str) -> None:
        """Handle a line. Raises EOFError at `/quit`."""
        if line.startswith(BEGINS):
            self._command(line)
        else:
            self._send(line)

    def go_on(self) -> None:
        """Show the session's last exchange, and finish a turn that a crash interrupted."""
        talk = self.chat.conversation
        turns = group(talk.transcript.entries)
        title = title_of(talk.transcript.entries)
        self.screen.put(faint(f"continuing “{title}” · {counted(len(turns), 'turn')}"), "line")
        if turns:
            show_past(turns[-1].entries, self.screen)
        if talk.unfinished:
            self._turn(talk.resume())

    def name_abandoned(self) -> None:
        """List the sessions interrupted in a turn, with the command that continues each."""
        if not self.chat.conversation.trusted:
            return
        for session in abandoned(self.chat.workspace.sessions)[:ABANDONED]:
            left = f"“{session.title}” {LEFT[session.left]}"
            hint = f"/resume {session.id[-SHORT_ID:]} continues it"
            self.screen.put(faint(f"{left} · {hint}"), "line")

    def close(self) -> tuple[list[str], str]:
        """Close the chat; return the facts that it has written, oldest first, and the session's
        short ID, empty if there is nothing to resume."""
        record, facts = self.chat.conversation.transcript, []
        with contextlib.suppress(MemoryFailure):  # reported in the chat
            facts = [
                write.text
                for write in reversed(self.chat.memory.log())
                if write.origin.session == record.session
                and write.action != "undo"
                and not write.undone
                and datetime.fromisoformat(write.time) >= self.chat.opened
            ]
        self.chat.close()
        resumes = record.entries and not record.off_the_record
        return facts, record.session[-SHORT_ID:] if resumes else ""

    def _send(self, message: str) -> None:
        """Run a turn with the message and its attachments."""
        try:
            turn = self.chat.send(message, self.attachments)
        except UsageError as error:
            self.screen.put(styled(spelled(str(error)), BAD))
            self.screen.give_back(message)
            return
        self.attachments = {}
        self._turn(turn)

    def _turn(self, turn: Iterator[Event]) -> None:
        """Show one turn; Ctrl-C ends it."""
        talk, view, began = self.chat.conversation, TurnView(self.screen), time.monotonic()
        # the offline responder accepts no messages during a turn
        joinable = talk if talk.model.extracts else None
        with self.screen.working(joinable):
            try:
                for event in turn:
                    view.show(event)
            except KeyboardInterrupt:  # raised in the screen: also stop the turn
                talk.interruption.cancel()
                for event in turn:
                    view.show(event)
            finally:
                view.flush()
        seconds = time.monotonic() - began
        recalled = [f"{view.recalled} recalled"] if view.recalled else []
        self._show_status(f"{seconds:.0f} s", *recalled)

    def _command(self, line: str) -> None:
        output = _CommandOutput(self.screen)
        with self.screen.working(None), contextlib.ExitStack() as asking:
            is_asking = False

            def answer(question: str, draft: str) -> str:
                nonlocal is_asking
                if not is_asking:
                    asking.enter_context(self.screen.asking())
                    is_asking = True
                return self.screen.answer(question, draft=draft)

            try:
                redirected = contextlib.redirect_stdout(output)
                with redirected, contextlib.redirect_stderr(output), asked_by(answer):
                    self.run(line)
            except AssistantError as error:
                self.screen.put(styled(spelled(str(error)), BAD))
            except KeyboardInterrupt:
                self.screen.put("stopped", "line")
            finally:
                output.end()
        self._show_status()

    def _show_status(self, *turn_facts: str) -> None:
        """Show the status below the prompt, most important facts first."""
        talk = self.chat.conversation
        facts = [talk.model.name.rpartition("/")[2]]
        if talk.filled is not None:
            used, window = talk.filled
            facts.append(
                f"{_abbreviated(used)} of {_abbreviated(window)} tokens ({used / window:.0%})"
            )
        if talk.usage.cost:
            facts.append(f"${talk.usage.cost:.4f}")
        self.screen.draw(status=[*facts, *turn_facts], progress="")


def _abbreviated(tokens: int) -> str:
    return f"{tokens / 1000:.1f}k" if tokens >= 1000 else str(tokens)


class _CommandOutput(io.TextIOBase):
    """Shows a command's output on the screen, line by line."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._rest = ""
        self._kind: Kind = "block"

    def isatty(self) -> bool:
        """Return whether the screen is a terminal."""
        return True

    def write(self, text: str) -> int:
        """Show every complete line."""
        whole, end, self._rest = (self._rest + text).rpartition("\n")
        if end:
            self._put(whole)
        return len(text)

    def end(self) -> None:
        """Show the remaining text, which has no newline."""
        if self._rest:
            self._put(self._rest)

    def _put(self, text: str) -> None:
        self._screen.put(text, self._kind)
        self._kind = "more"
