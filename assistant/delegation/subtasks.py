"""`delegate`: two or more subtasks at once, each a conversation of its own in a thread of its own.

Each is a session, `SESSION.1`, `SESSION.2`, …, which the parent's transcript names before it
begins. So after a crash those that were through are not done again, and the others go on.
"""

import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from queue import Empty, SimpleQueue
from typing import Annotated, Literal

from pydantic import Field

from assistant import events
from assistant.agent.interruption import Interruption
from assistant.conversation import Conversation
from assistant.display import counted, shortened
from assistant.errors import AssistantError, ToolError
from assistant.events import (
    ApprovalDecided,
    ApprovalRequested,
    Event,
    QuestionAsked,
    SubtaskMoved,
)
from assistant.quoting import one_line
from assistant.session import transcript
from assistant.session.entries import NO_USAGE, AssistantEntry, SubtasksEntry, ToolResultEntry
from assistant.session.history import group, last_text
from assistant.session.transcript import Transcript
from assistant.tools.base import Danger, Plan, Tool, ToolResult
from assistant.tools.policy import Decision
from assistant.tools.schema import tool
from assistant.tools.scratch import Scratch, scratch_tools
from assistant.workspace.checkpoints import Checkpoints

TICK = 0.05
"""Seconds between two looks at whether the owner interrupted."""
PATIENCE = 5.0
"""Seconds that a stopped subtask is waited for."""
TITLE = 60
"""Characters of a subtask's name."""
MOST = 8
"""Subtasks of one call."""
TOOL = "delegate"
KEPT_BACK = ("delegate", "ask", "remember", "note", "plan")
"""Tools of the parent's that no subtask has; of the last two it has its own."""
PROMPT = """\
{task}

(This is one of several subtasks that you have handed to yourself. Nobody reads along, and nobody \
can be asked but for approvals: do it alone, and answer with what came of it, whole and brief.)"""
State = Literal["running", "done", "failed", "stopped"]


@dataclass(frozen=True, slots=True)
class Limits:
    """What a subtask may take: requests to the model before it has to answer, tokens before it is
    stopped; and how many run `at_once`."""

    rounds: int = 15
    tokens: int = 200_000
    at_once: int = 4


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


Message = Moved | Asks


class Child:
    """A subtask that runs beside others. `tell` is given what it does, in its own thread."""

    def __init__(
        self,
        number: int,
        task: str,
        talk: Conversation,
        tokens: int,
        tell: Callable[[Message], None],
    ) -> None:
        self.number = number
        self.task = task
        self.talk = talk
        self.title = shortened(one_line(task), TITLE)
        self.thread = threading.Thread(target=self._run, name=f"subtask {number}", daemon=True)
        self._tokens = tokens
        self._tell = tell
        self._stopped = threading.Event()
        talk.approver = self

    @property
    def spent(self) -> int:
        """The tokens it has cost."""
        return self.talk.usage.input_tokens + self.talk.usage.output_tokens

    def stop(self) -> None:
        """Have it end at once; what it said until then is its reply."""
        self._stopped.set()
        self.talk.interruption.cancel()

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
        """Go through the events of its turn, or of the rest of it after a crash; how it ended."""
        turns = group(self.talk.transcript.entries)
        if turns and turns[-1].finished:
            return Moved(self.number, "done", reply=last_text(turns[-1].entries))
        if self._stopped.is_set():
            return Moved(self.number, "stopped", "it was stopped")
        ending = Moved(self.number, "failed", "it came to no end")
        over = False
        prompt = PROMPT.format(task=self.task)
        for event in self.talk.resume() if turns else self.talk.send(prompt):
            match event:
                case events.ToolStarted(compact=compact):
                    self._tell(Moved(self.number, "running", compact))
                case events.TurnFinished(reply=reply, interrupted=True):
                    why = f"its {self._tokens:,} tokens are used up" if over else "it was stopped"
                    ending = Moved(self.number, "stopped", why, reply)
                case events.TurnFinished(reply=reply):
                    ending = Moved(self.number, "done", reply=reply)
                case events.TurnFailed(message, cure):
                    entries, most = self.talk.transcript.entries, self.talk.max_rounds
                    rounds = sum(isinstance(entry, AssistantEntry) for entry in entries)
                    used_up = f"its {most} rounds are used up" if rounds >= most else ""
                    why = used_up or f"{message}. {cure}".strip()
                    ending = Moved(self.number, "failed", why)
            if not over and self.spent > self._tokens:
                over = True
                self.talk.interruption.cancel()
        return ending


class Team:
    """The subtasks of one call of the conversation that leads them."""

    def __init__(
        self, lead: Conversation, limits: Limits, call_id: str, tasks: Sequence[str]
    ) -> None:
        self._lead = lead
        self._limits = limits
        self._call_id = call_id
        self._messages: SimpleQueue[Message] = SimpleQueue()
        self._ended: dict[int, Moved] = {}
        records = self._records(tasks)
        self._children = [
            self._child(number, task, record)
            for number, task, record in zip(count(1), tasks, records, strict=False)
        ]

    def work(self) -> Generator[Event, None, ToolResult]:
        """Run them; their replies in one result. However this ends, none goes on.

        If the owner interrupts, what was done by then is the call's result.
        """
        waiting = list(self._children)
        try:
            while len(self._ended) < len(self._children):
                running = len(self._children) - len(waiting) - len(self._ended)
                for child in waiting[: self._limits.at_once - running]:
                    waiting.remove(child)
                    child.thread.start()
                    yield self._shown(Moved(child.number, "running"))
                if self._lead.interruption.wanted():
                    self._stop()
                try:
                    message = self._messages.get(timeout=TICK)
                except Empty:
                    continue
                if isinstance(message, Asks):
                    yield from self._put(message)
                    continue
                if message.state != "running":
                    self._ended[message.number] = message
                yield self._shown(message)
        except (KeyboardInterrupt, GeneratorExit):
            self._end(waiting)
            self._note_cost()
            kept = self._lead.toolbox.cleaned(self._result())
            self._lead.transcript.append(
                ToolResultEntry(self._call_id, TOOL, kept.content, kept.error, kept.compact)
            )
            raise
        finally:
            self._end(waiting)
        self._note_cost()
        return self._result()

    def _stop(self) -> None:
        for child in self._children:
            if child.number not in self._ended:
                child.stop()

    def _end(self, waiting: Sequence[Child]) -> None:
        """Stop those that are at work; whoever comes to no end was stopped."""
        self._stop()
        for child in self._children:
            child.talk.transcript.close() if child in waiting else child.thread.join(PATIENCE)
        while not self._messages.empty():
            message = self._messages.get()
            if isinstance(message, Moved) and message.state != "running":
                self._ended[message.number] = message
        for child in self._children:
            stopped = Moved(child.number, "stopped", "it was stopped")
            self._ended.setdefault(child.number, stopped)

    def _records(self, tasks: Sequence[str]) -> list[Transcript]:
        """The transcript of each, named in the parent's before it begins, or reopened."""
        parent = self._lead.transcript
        if parent.path is None:
            return [transcript.off_the_record() for _ in tasks]
        existing = next(self._named(), None)
        if existing is None:
            named = (entry for entry in parent.entries if isinstance(entry, SubtasksEntry))
            first = 1 + len({session for entry in named for session in entry.sessions})
            ids = (f"{parent.session}.{first + number}" for number in range(len(tasks)))
            existing = parent.append(SubtasksEntry(self._call_id, tuple(ids)))
        return [transcript.subtask(parent.path.parent, name) for name in existing.sessions]

    def _named(self) -> Iterator[SubtasksEntry]:
        """What the parent's transcript has of this call."""
        for entry in self._lead.transcript.entries:
            if isinstance(entry, SubtasksEntry) and entry.call_id == self._call_id:
                yield entry

    def _note_cost(self) -> None:
        """Write down, once, what they cost: it is part of what the session costs."""
        if not any(entry.usage != NO_USAGE for entry in self._named()):
            cost = sum((child.talk.usage for child in self._children), start=NO_USAGE)
            ids = tuple(child.talk.transcript.session for child in self._children)
            self._lead.transcript.append(SubtasksEntry(self._call_id, ids, cost))

    def _child(self, number: int, task: str, record: Transcript) -> Child:
        own, scratch = Interruption(), Scratch()
        talk = replace(
            self._lead,
            toolbox=self._lead.toolbox.without(KEPT_BACK, scratch_tools(scratch), own.event),
            transcript=record,
            interruption=own,
            scratch=scratch,
            max_rounds=self._limits.rounds,
            captures=False,
            untold=[],
            begun=lambda: None,
            daily=lambda _: (),
            checkpoints=Checkpoints(),  # what it changes belongs to the lead's turn
        )
        return Child(number, task, talk, self._limits.tokens, self._messages.put)

    def _put(self, asks: Asks) -> Generator[Event, None, None]:
        """Put a subtask's call before the owner, who is told whose it is."""
        who = self._children[asks.number - 1].title
        request = replace(asks.request, who=who)
        yield request
        decision = self._lead.approver.decide(request)
        asks.answer.put(decision)
        compact = f"{who}: {request.compact}"
        reason = self._lead.redactor.redact(decision.reason)
        yield ApprovalDecided(request.call_id, request.tool, compact, decision.kind, reason)

    def _shown(self, moved: Moved) -> SubtaskMoved:
        child = self._children[moved.number - 1]
        return SubtaskMoved(
            self._call_id,
            moved.number,
            child.title,
            child.talk.transcript.session,
            moved.state,
            self._lead.redactor.redact(moved.doing),
            child.spent,
        )

    def _result(self) -> ToolResult:
        parts = []
        for child in self._children:
            ending = self._ended[child.number]
            cost = f"session {child.talk.transcript.session}, {counted(child.spent, 'token')}"
            head = f"## {child.number}. {child.title} — {ending.state} ({cost})"
            why = f"[{ending.doing}]" if ending.doing else ""
            parts.append("\n".join(filter(None, [head, why, ending.reply.strip()])))
        done = sum(ending.state == "done" for ending in self._ended.values())
        compact = f"{done} of {counted(len(self._children), 'subtask')} done"
        return ToolResult("\n\n".join(parts), error=not done, compact=compact)


DEFAULT = Limits()


def delegating_tool(lead: Conversation, limits: Limits = DEFAULT) -> Tool:
    """`delegate` for the conversation that leads."""

    def delegate(
        tasks: Annotated[
            list[str],
            Field(min_length=2, max_length=MOST, description="Each whole: it knows nothing else."),
        ],
    ) -> Plan:
        """Have independent subtasks done at the same time, by helpers with your tools."""
        if not all(task.strip() for task in tasks) or len(set(tasks)) < len(tasks):
            raise ToolError("each subtask must say something of its own")

        def work(call_id: str) -> Generator[Event, None, ToolResult]:
            return Team(lead, limits, call_id, tasks).work()

        return Plan(_alone, Danger.MODERATE, tuple(tasks), work=work)

    return tool(delegate, restores=False)


def _alone() -> ToolResult:
    """Subtasks are run by the loop, which shows what they do."""
    raise ToolError("subtasks can only be run in a turn")
