"""One subtask: a conversation of its own, carried through in a thread, whatever becomes of it."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Literal

from assistant import events
from assistant.conversation import Conversation
from assistant.errors import AssistantError
from assistant.events import ApprovalRequested, Event, QuestionAsked
from assistant.session.entries import AssistantEntry
from assistant.session.history import group, last_said
from assistant.tools.policy import Decision

TICK = 0.1
"""Seconds between two looks at whether a subtask was stopped while it waits for a yes."""
FRAMED = """\
{task}

(This is one of several subtasks that you have handed to yourself. Nobody reads along, and nobody \
can be asked but for approvals: do it alone, and answer with what came of it, whole and brief.)"""
State = Literal["running", "done", "failed", "stopped"]


@dataclass(frozen=True, slots=True)
class Moved:
    """A subtask does something, or has come to its end."""

    number: int
    state: State
    doing: str = ""
    reply: str = ""


@dataclass(frozen=True, slots=True)
class Asks:
    """A subtask's call waits for the owner; the answer goes into its queue."""

    number: int
    request: ApprovalRequested
    answer: "SimpleQueue[Decision]"


Said = Moved | Asks


class Child:
    """A subtask that runs beside others. `tell` is given what it does, in its own thread."""

    def __init__(
        self, number: int, task: str, talk: Conversation, tokens: int, tell: Callable[[Said], None]
    ) -> None:
        self.number = number
        self.task = task
        self.talk = talk
        self._tokens = tokens
        self._tell = tell
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"subtask {number}", daemon=True)
        talk.approver = self

    @property
    def spent(self) -> int:
        """The tokens it has cost."""
        return self.talk.usage.input_tokens + self.talk.usage.output_tokens

    def start(self) -> None:
        """Begin, or go on after a crash."""
        self._thread.start()

    def stop(self) -> None:
        """Have it end at once; what it said until then is its reply."""
        self._stopped.set()
        self.talk.interruption.cancel()

    def ended(self, seconds: float) -> None:
        """Wait for its thread."""
        self._thread.join(seconds)

    # The owner, as its conversation knows them

    def decide(self, request: ApprovalRequested) -> Decision:
        """Wait until the owner has decided, which they do one call at a time."""
        answer: SimpleQueue[Decision] = SimpleQueue()
        self._tell(Asks(self.number, request, answer))
        while not self._stopped.is_set():
            try:
                return answer.get(timeout=TICK)
            except Empty:
                continue
        return Decision("no", "the subtask was stopped")

    def answer(self, asked: QuestionAsked) -> str | None:
        """Nobody answers a subtask's questions."""
        return None

    def _run(self) -> None:
        try:
            ending = self._carried_out()
        except AssistantError as error:
            ending = Moved(self.number, "failed", str(error))
        except Exception as error:  # the border: whatever went wrong, the others go on
            ending = Moved(self.number, "failed", f"{type(error).__name__}: {error}")
        finally:
            self.talk.transcript.close()
        self._tell(ending)

    def _carried_out(self) -> Moved:
        """Go through the events of its turn; how it ended."""
        turns = group(self.talk.transcript.entries)
        if turns and turns[-1].finished:
            return Moved(self.number, "done", reply=last_said(turns[-1].entries))
        ending = Moved(self.number, "failed", "it came to no end")
        over = False
        for event in self._turn(go_on=bool(turns)):
            match event:
                case events.ToolStarted(compact=compact):
                    self._tell(Moved(self.number, "running", compact))
                case events.TurnFinished(reply=reply, interrupted=True):
                    why = f"its {self._tokens:,} tokens are used up" if over else "it was stopped"
                    ending = Moved(self.number, "stopped", why, reply)
                case events.TurnFinished(reply=reply):
                    ending = Moved(self.number, "done", reply=reply)
                case events.TurnFailed(message, cure):
                    why = self._out_of_rounds() or f"{message}. {cure}".strip()
                    ending = Moved(self.number, "failed", why)
            if not over and self.spent > self._tokens:
                over = True
                self.talk.interruption.cancel()
        return ending

    def _out_of_rounds(self) -> str:
        """Why it came to no end, if it has asked as often as it may."""
        asked = sum(isinstance(each, AssistantEntry) for each in self.talk.transcript.entries)
        most = self.talk.max_rounds
        return f"its {most} rounds are used up" if asked >= most else ""

    def _turn(self, *, go_on: bool) -> Iterator[Event]:
        if self._stopped.is_set():
            return iter((events.TurnFinished("", interrupted=True),))
        return self.talk.resume() if go_on else self.talk.send(FRAMED.format(task=self.task))
