"""The `delegate` tool: runs two or more subtasks in parallel, each a conversation in its own
thread.

The sessions of the subtasks are `SESSION.1`, `SESSION.2`, …, and the parent's transcript names them
before they begin. So after a crash the finished ones are not repeated, and the others continue.
"""

import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from queue import Empty, SimpleQueue
from typing import Annotated, Literal

from pydantic import Field

from assistant import events
from assistant.agent.loop import Interruption
from assistant.agent.prompt import TEXT, without_owner
from assistant.conversation import Conversation
from assistant.display import counted, shortened
from assistant.errors import AssistantError, ToolError
from assistant.events import Event
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
from assistant.tools.base import Plan, Tool, ToolResult, tool
from assistant.tools.policy import Decision
from assistant.tools.scratch import Scratch, scratch_tools
from assistant.workspace.checkpoints import Checkpoints

TICK = 0.05
"""Seconds between checks for an interruption."""
PATIENCE = 5.0
"""Seconds to wait for a stopped subtask to end."""
TITLE = 60
"""Maximum characters of a subtask's name."""
MOST = 8
"""Maximum number of subtasks of one call."""
TOOL = "delegate"
KEPT_BACK = ("delegate", "ask", "remember", "remind", "note", "plan")
"""The parent's tools that a subtask does not get; it has its own `note` and `plan`."""
STOPPED = "it was stopped"
State = Literal["waiting", "running", "done", "failed", "stopped"]


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a subtask: requests to the model before it must answer, and tokens before it is
    stopped; and how many subtasks run `at_once`."""

    rounds: int = 15
    tokens: int = 200_000
    at_once: int = 4


@dataclass(eq=False)
class Child:
    """A subtask that runs in parallel with others. It calls `tell` with its events, in its own
    thread.

    `state` is how it ended, with its `reply` and the reason (`doing`), when it has ended.
    """

    call_id: str
    number: int
    task: str
    talk: Conversation
    tell: Callable[[tuple["Child", Event]], None]
    state: State = field(default="waiting", init=False)
    doing: str = field(default="", init=False)
    reply: str = field(default="", init=False)

    def __post_init__(self) -> None:
        self.title = shortened(one_line(self.task), TITLE)
        self.decision: SimpleQueue[Decision] = SimpleQueue()
        """Receives the owner's decision on the waiting call."""
        name = f"subtask {self.number}"
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._stopped = threading.Event()
        self.talk.approver = self

    @property
    def spent(self) -> int:
        """The tokens it has used."""
        return self.talk.usage.tokens

    @property
    def ended(self) -> bool:
        """Whether it has ended."""
        return self.state not in ("waiting", "running")

    def start(self) -> None:
        """Run it in its thread."""
        self._move("running")
        self._thread.start()

    def stop(self) -> None:
        """Stop it at once; its text so far is its reply."""
        self._stopped.set()
        self.talk.interruption.cancel()

    def join(self) -> None:
        """Wait until it has ended; one that does not end counts as stopped."""
        if self.state == "waiting":
            self.talk.transcript.close()
        else:
            self._thread.join(PATIENCE)
        if not self.ended:
            self.state, self.doing = "stopped", STOPPED

    # The approver of its conversation

    def decide(self, request: events.ApprovalRequested) -> Decision:
        """Wait for the owner's decision; they are asked about one call at a time."""
        self.tell((self, replace(request, who=self.title)))
        while not self._stopped.is_set():
            try:
                return self.decision.get(timeout=TICK)
            except Empty:
                continue
        return Decision("no", "the subtask was stopped")

    def answer(self, asked: events.QuestionAsked) -> str | None:
        """Return None: nobody answers a subtask's questions."""
        return None

    def _move(self, state: State, doing: str = "") -> None:
        session, doing = self.talk.transcript.session, self.talk.redactor.redact(doing)
        moved = events.SubtaskMoved(
            self.call_id, self.number, self.title, session, state, doing, self.spent
        )
        self.tell((self, moved))
        self.state, self.doing = state, doing

    def _run(self) -> None:
        state: State = "failed"
        try:
            state, reason, self.reply = self._run_turn()
        except AssistantError as error:
            reason = str(error)
        except Exception as error:  # no error here may stop the others
            reason = f"{type(error).__name__}: {error}"
        finally:
            self.talk.transcript.close()
        self._move(state, reason)

    def _run_turn(self) -> tuple[State, str, str]:
        """Run its turn, or the rest of it after a crash; return its state, reason and reply."""
        turns = group(self.talk.transcript.entries)
        if turns and turns[-1].finished:
            entries = turns[-1].entries
            if isinstance(last := entries[-1], InterruptedEntry):
                return "failed", last.text, last_text(entries)
            return "done", "", last_text(entries)
        if self._stopped.is_set():
            return "stopped", STOPPED, ""
        ending: tuple[State, str, str] = ("failed", "it did not finish", "")
        prompt = TEXT["subtask"].format(task=self.task)
        for event in self.talk.resume() if turns else self.talk.send(prompt):
            match event:
                case events.ToolStarted(compact=compact):
                    self._move("running", compact)
                case events.TurnFinished(reply=reply, interrupted=interrupted):
                    ending = ("stopped", STOPPED, reply) if interrupted else ("done", "", reply)
                case events.TurnFailed(message, cure):
                    reason = ". ".join(filter(None, (message, cure)))
                    reply = last_text(group(self.talk.transcript.entries)[-1].entries)
                    ending = ("failed", reason, reply)
        return ending


class Team:
    """The subtasks of one call of the lead conversation."""

    def __init__(
        self, lead: Conversation, limits: Limits, call_id: str, tasks: Sequence[str]
    ) -> None:
        self._lead = lead
        self._limits = limits
        self._call_id = call_id
        self._messages: SimpleQueue[tuple[Child, Event]] = SimpleQueue()
        records = self._open_transcripts(tasks)
        self._children = [
            self._child(number, task, record, self._tokens_each(len(tasks)))
            for number, task, record in zip(count(1), tasks, records, strict=False)
        ]

    def work(self) -> Generator[Event, None, ToolResult]:
        """Run the subtasks; return their replies in one result. None of them outlives this call.

        If the owner interrupts, the replies so far are the call's result.
        """
        try:
            while not (all(child.ended for child in self._children) and self._messages.empty()):
                running = sum(child.state == "running" for child in self._children)
                waiting = [child for child in self._children if child.state == "waiting"]
                for child in waiting[: self._limits.at_once - running]:
                    child.start()
                if self._lead.interruption.wanted():
                    self._stop()
                try:
                    child, event = self._messages.get(timeout=TICK)
                except Empty:
                    continue
                yield event
                if isinstance(event, events.ApprovalRequested):
                    yield self._decide(child, event)
        except KeyboardInterrupt:
            self._end()
            return replace(self._result(), interrupted=True)
        except GeneratorExit:
            self._end()
            result = self._lead.toolbox.clean(self._result())
            self._lead.transcript.append(
                ToolResultEntry(
                    self._call_id,
                    TOOL,
                    result.content,
                    result.error,
                    result.compact,
                    whole=result.whole,
                )
            )
            raise
        finally:
            self._end()
        return self._result()

    def _stop(self) -> None:
        for child in self._children:
            if not child.ended:
                child.stop()

    def _end(self) -> None:
        """Stop the subtasks that are still running."""
        self._stop()
        for child in self._children:
            child.join()
        self._note_cost()

    def _open_transcripts(self, tasks: Sequence[str]) -> list[Transcript]:
        """Create or reopen the transcript of each, after naming it in the parent's transcript."""
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
        """Yield the entries of the parent's transcript about this call."""
        for entry in self._lead.transcript.entries:
            if isinstance(entry, SubtasksEntry) and entry.call_id == self._call_id:
                yield entry

    def _note_cost(self) -> None:
        """Record once the cost of the subtasks, which counts towards the session's."""
        if not any(entry.usage != NO_USAGE for entry in self._call_entries()):
            cost = sum((child.talk.usage for child in self._children), start=NO_USAGE)
            ids = tuple(child.talk.transcript.session for child in self._children)
            self._lead.transcript.append(SubtasksEntry(self._call_id, ids, cost))

    def _tokens_each(self, number: int) -> int:
        """Return the tokens for each subtask: together no more than the lead has left."""
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
            recipe=without_owner(self._lead.recipe),
            max_rounds=self._limits.rounds,
            max_tokens=tokens,
            captures=False,
            untold=[],
            begun=lambda: None,
            daily=lambda *_: (),
            checkpoints=Checkpoints(),  # its changes belong to the lead's turn
        )
        return Child(self._call_id, number, task, talk, self._messages.put)

    def _decide(self, child: Child, request: events.ApprovalRequested) -> events.ApprovalDecided:
        """Ask the owner to approve a subtask's call, naming the subtask."""
        decision = self._lead.approver.decide(request)
        child.decision.put(decision)
        compact = f"{child.title}: {request.compact}"
        reason = self._lead.redactor.redact(decision.reason)
        return events.ApprovalDecided(request.call_id, request.tool, compact, decision.kind, reason)

    def _result(self) -> ToolResult:
        parts = []
        for child in self._children:
            cost = f"session {child.talk.transcript.session}, {counted(child.spent, 'token')}"
            head = f"## {child.number}. {child.title} — {child.state} ({cost})"
            reason = f"[{child.doing}]" if child.doing else ""
            parts.append("\n".join(filter(None, [head, reason, child.reply.strip()])))
        succeeded = sum(child.state == "done" for child in self._children)
        compact = f"{succeeded} of {counted(len(self._children), 'subtask')} done"
        return ToolResult("\n\n".join(parts), error=not succeeded, compact=compact)


DEFAULT = Limits()


def delegating_tool(lead: Conversation, limits: Limits = DEFAULT) -> Tool:
    """Return the `delegate` tool of a lead conversation."""

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
        """Have independent subtasks done at the same time, by helpers with your tools. Use it when
        a request has two or more."""
        if not all(task.strip() for task in tasks) or len(set(tasks)) < len(tasks):
            raise ToolError("the subtasks must be different, and none empty")

        def work(call_id: str) -> Generator[Event, None, ToolResult]:
            return Team(lead, limits, call_id, tasks).work()

        return Plan(subjects=tuple(tasks), work=work)

    return tool(delegate, restores=False)
