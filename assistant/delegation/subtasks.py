"""The `delegate` tool: run two or more subtasks at once, each a conversation in its own thread.

The sessions of the subtasks are `SESSION.1`, `SESSION.2`, …, and the parent's transcript names them
before they begin. So after a crash the finished ones are not repeated, and the others continue.
"""

import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from queue import Empty, SimpleQueue
from typing import Annotated, Literal

from pydantic import Field

from assistant import events
from assistant.agent.loop import Interruption
from assistant.agent.prompt import without_owner
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
from assistant.session.entries import (
    NO_USAGE,
    InterruptedEntry,
    SubtasksEntry,
    ToolResultEntry,
)
from assistant.session.history import group, last_text
from assistant.session.transcript import Transcript
from assistant.tools.base import Danger, Plan, Tool, ToolResult, tool
from assistant.tools.policy import Decision
from assistant.tools.scratch import Scratch, scratch_tools
from assistant.workspace.checkpoints import Checkpoints

TICK = 0.05
"""Seconds between checks for an interruption."""
PATIENCE = 5.0
"""Seconds to wait for a stopped subtask to end."""
TITLE = 60
"""Characters of a subtask's name."""
MOST = 8
"""The most subtasks of one call."""
TOOL = "delegate"
KEPT_BACK = ("delegate", "ask", "remember", "remind", "note", "plan")
"""The parent's tools that a subtask does not get; it has its own `note` and `plan`."""
PROMPT = """\
{task}

(This is one of several subtasks that you have handed to yourself. Nobody is watching, and nobody \
can be asked except for approvals: do it alone, and answer with the result, complete and brief.)"""
State = Literal["running", "done", "failed", "stopped"]


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a subtask: requests to the model before it must answer, and tokens before it is
    stopped; and how many subtasks run `at_once`."""

    rounds: int = 15
    tokens: int = 200_000
    at_once: int = 4


@dataclass(frozen=True, slots=True)
class Moved:
    """The progress of a subtask, or its end."""

    number: int
    state: State
    doing: str = ""
    reply: str = ""


@dataclass(frozen=True, slots=True)
class Asks:
    """A subtask's call waits for the owner's approval; the answer is put into the queue."""

    number: int
    request: ApprovalRequested
    answer: "SimpleQueue[Decision]"


Message = Moved | Asks


class Child:
    """A subtask that runs beside others. It calls `tell` with its progress, in its own thread."""

    def __init__(
        self,
        number: int,
        task: str,
        talk: Conversation,
        tell: Callable[[Message], None],
    ) -> None:
        self.number = number
        self.task = task
        self.talk = talk
        self.title = shortened(one_line(task), TITLE)
        self.thread = threading.Thread(target=self._run, name=f"subtask {number}", daemon=True)
        self._tell = tell
        self._stopped = threading.Event()
        talk.approver = self

    @property
    def spent(self) -> int:
        """The tokens it has used."""
        return self.talk.usage.tokens

    def stop(self) -> None:
        """Stop it at once; what it has said so far is its reply."""
        self._stopped.set()
        self.talk.interruption.cancel()

    # The approver of its conversation

    def decide(self, request: ApprovalRequested) -> Decision:
        """Wait until the owner has decided; they are asked about one call at a time."""
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
            ending = self._run_turn()
        except AssistantError as error:
            ending = Moved(self.number, "failed", str(error))
        except Exception as error:  # whatever goes wrong here must not stop the others
            ending = Moved(self.number, "failed", f"{type(error).__name__}: {error}")
        finally:
            self.talk.transcript.close()
        self._tell(ending)

    def _run_turn(self) -> Moved:
        """Run its turn, or the rest of it after a crash; return how it ended."""
        turns = group(self.talk.transcript.entries)
        if turns and turns[-1].finished:
            entries = turns[-1].entries
            if isinstance(last := entries[-1], InterruptedEntry):
                return Moved(self.number, "failed", last.text, last_text(entries))
            return Moved(self.number, "done", reply=last_text(entries))
        if self._stopped.is_set():
            return Moved(self.number, "stopped", "it was stopped")
        ending = Moved(self.number, "failed", "it did not finish")
        prompt = PROMPT.format(task=self.task)
        for event in self.talk.resume() if turns else self.talk.send(prompt):
            match event:
                case events.ToolStarted(compact=compact):
                    self._tell(Moved(self.number, "running", compact))
                case events.TurnFinished(reply=reply, interrupted=True):
                    ending = Moved(self.number, "stopped", "it was stopped", reply)
                case events.TurnFinished(reply=reply):
                    ending = Moved(self.number, "done", reply=reply)
                case events.TurnFailed(message, cure):
                    reason = ". ".join(filter(None, (message, cure)))
                    reply = last_text(group(self.talk.transcript.entries)[-1].entries)
                    ending = Moved(self.number, "failed", reason, reply)
        return ending


class Team:
    """The subtasks of one call of the lead conversation."""

    def __init__(
        self, lead: Conversation, limits: Limits, call_id: str, tasks: Sequence[str]
    ) -> None:
        self._lead = lead
        self._limits = limits
        self._call_id = call_id
        self._messages: SimpleQueue[Message] = SimpleQueue()
        self._ended: dict[int, Moved] = {}
        records = self._open_transcripts(tasks)
        self._children = [
            self._child(number, task, record, self._tokens_each(len(tasks)))
            for number, task, record in zip(count(1), tasks, records, strict=False)
        ]

    def work(self) -> Generator[Event, None, ToolResult]:
        """Run the subtasks; return their replies in one result. None of them outlives this call.

        If the owner interrupts, the replies so far are the call's result.
        """
        pending = list(self._children)
        try:
            while len(self._ended) < len(self._children):
                running = len(self._children) - len(pending) - len(self._ended)
                for child in pending[: self._limits.at_once - running]:
                    pending.remove(child)
                    child.thread.start()
                    yield self._event(Moved(child.number, "running"))
                if self._lead.interruption.wanted():
                    self._stop()
                try:
                    message = self._messages.get(timeout=TICK)
                except Empty:
                    continue
                if isinstance(message, Asks):
                    yield from self._ask_owner(message)
                    continue
                if message.state != "running":
                    self._ended[message.number] = message
                yield self._event(message)
        except (KeyboardInterrupt, GeneratorExit):
            self._end(pending)
            self._note_cost()
            result = self._lead.toolbox.clean(self._result())
            self._lead.transcript.append(
                ToolResultEntry(self._call_id, TOOL, result.content, result.error, result.compact)
            )
            raise
        finally:
            self._end(pending)
        self._note_cost()
        return self._result()

    def _stop(self) -> None:
        for child in self._children:
            if child.number not in self._ended:
                child.stop()

    def _end(self, pending: Sequence[Child]) -> None:
        """Stop the subtasks that are running; one that reports no end counts as stopped."""
        self._stop()
        for child in self._children:
            child.talk.transcript.close() if child in pending else child.thread.join(PATIENCE)
        while not self._messages.empty():
            message = self._messages.get()
            if isinstance(message, Moved) and message.state != "running":
                self._ended[message.number] = message
        for child in self._children:
            stopped = Moved(child.number, "stopped", "it was stopped")
            self._ended.setdefault(child.number, stopped)

    def _open_transcripts(self, tasks: Sequence[str]) -> list[Transcript]:
        """Create or reopen the transcript of each, naming it in the parent's transcript first."""
        parent = self._lead.transcript
        if parent.path is None:
            return [transcript.off_the_record() for _ in tasks]
        existing = next(self._call_entries(), None)
        if existing is None:
            entries = (entry for entry in parent.entries if isinstance(entry, SubtasksEntry))
            first = 1 + len({session for entry in entries for session in entry.sessions})
            ids = (f"{parent.session}.{first + number}" for number in range(len(tasks)))
            existing = parent.append(SubtasksEntry(self._call_id, tuple(ids)))
        return [transcript.subtask(parent.path.parent, name) for name in existing.sessions]

    def _call_entries(self) -> Iterator[SubtasksEntry]:
        """The entries of the parent's transcript about this call."""
        for entry in self._lead.transcript.entries:
            if isinstance(entry, SubtasksEntry) and entry.call_id == self._call_id:
                yield entry

    def _note_cost(self) -> None:
        """Write down once what the subtasks cost, as it counts towards the session's cost."""
        if not any(entry.usage != NO_USAGE for entry in self._call_entries()):
            cost = sum((child.talk.usage for child in self._children), start=NO_USAGE)
            ids = tuple(child.talk.transcript.session for child in self._children)
            self._lead.transcript.append(SubtasksEntry(self._call_id, ids, cost))

    def _tokens_each(self, number: int) -> int:
        """The tokens for each of the subtasks: together no more than the lead has left."""
        if self._lead.max_tokens is None:
            return self._limits.tokens
        remaining = max(0, self._lead.max_tokens - self._lead.usage.tokens)
        return min(self._limits.tokens, remaining // number)

    def _child(self, number: int, task: str, record: Transcript, tokens: int) -> Child:
        interruption, scratch = Interruption(), Scratch()
        talk = replace(
            self._lead,
            toolbox=self._lead.toolbox.without(
                KEPT_BACK, scratch_tools(scratch), interruption.event
            ),
            transcript=record,
            interruption=interruption,
            scratch=scratch,
            recipe=without_owner(self._lead.parts),
            max_rounds=self._limits.rounds,
            max_tokens=tokens,
            captures=False,
            untold=[],
            begun=lambda: None,
            daily=lambda *_: (),
            checkpoints=Checkpoints(),  # what it changes belongs to the lead's turn
        )
        return Child(number, task, talk, self._messages.put)

    def _ask_owner(self, asks: Asks) -> Generator[Event, None, None]:
        """Ask the owner to approve a subtask's call, naming the subtask."""
        title = self._children[asks.number - 1].title
        request = replace(asks.request, who=title)
        yield request
        decision = self._lead.approver.decide(request)
        asks.answer.put(decision)
        compact = f"{title}: {request.compact}"
        reason = self._lead.redactor.redact(decision.reason)
        yield ApprovalDecided(request.call_id, request.tool, compact, decision.kind, reason)

    def _event(self, moved: Moved) -> SubtaskMoved:
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
            reason = f"[{ending.doing}]" if ending.doing else ""
            parts.append("\n".join(filter(None, [head, reason, ending.reply.strip()])))
        succeeded = sum(ending.state == "done" for ending in self._ended.values())
        compact = f"{succeeded} of {counted(len(self._children), 'subtask')} done"
        return ToolResult("\n\n".join(parts), error=not succeeded, compact=compact)


DEFAULT = Limits()


def delegating_tool(lead: Conversation, limits: Limits = DEFAULT) -> Tool:
    """The `delegate` tool of a lead conversation."""

    def delegate(
        tasks: Annotated[
            list[str],
            Field(
                min_length=2,
                max_length=MOST,
                description="Each complete: a subtask sees nothing else.",
            ),
        ],
    ) -> Plan:
        """Have independent subtasks done at the same time, by helpers with your tools."""
        if not all(task.strip() for task in tasks) or len(set(tasks)) < len(tasks):
            raise ToolError("the subtasks must be different, and none empty")

        def work(call_id: str) -> Generator[Event, None, ToolResult]:
            return Team(lead, limits, call_id, tasks).work()

        return Plan(danger=Danger.MODERATE, subjects=tuple(tasks), work=work)

    return tool(delegate, restores=False)
