"""Subtasks beside each other: what they do is shown as it happens, and each is a result at last.

Each is a session of its own, `SESSION.1`, `SESSION.2`, …, which the parent's transcript names
before it begins. So after a crash those that were through are not done again, and the others go on.
"""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from queue import Empty, SimpleQueue

from assistant.agent.interruption import Interruption
from assistant.conversation import Conversation
from assistant.delegation.child import Asks, Child, Moved, Said
from assistant.display import counted, shortened
from assistant.events import ApprovalDecided, Event, SubtaskMoved
from assistant.quoting import one_line
from assistant.session import transcript
from assistant.session.entries import NO_USAGE, SubtasksEntry, ToolResultEntry
from assistant.session.transcript import Transcript
from assistant.tools.base import ToolResult
from assistant.tools.scratch import Scratch, scratch_tools
from assistant.workspace.checkpoints import Checkpoints

TICK = 0.05
"""Seconds between two looks at whether the owner interrupted."""
PATIENCE = 5.0
"""Seconds that a stopped subtask is waited for."""
TITLE = 60
"""Characters of a subtask's name."""
TOOL = "delegate"
STOPPED = "it was stopped"
KEPT_BACK = ("delegate", "ask", "remember", "note", "plan")
"""Tools of the parent's that no subtask has; of the last two it has its own."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a subtask may take: requests to the model before it has to answer, tokens before it is
    stopped; and how many run `at_once`."""

    rounds: int = 15
    tokens: int = 200_000
    at_once: int = 4


class Team:
    """The subtasks of one call of the conversation that leads them."""

    def __init__(
        self, lead: Conversation, limits: Limits, call_id: str, tasks: Sequence[str]
    ) -> None:
        self._lead = lead
        self._limits = limits
        self._call_id = call_id
        self._heard: SimpleQueue[Said] = SimpleQueue()
        records = self._records(tasks)
        self._children = [
            self._child(number, task, record)
            for number, task, record in zip(count(1), tasks, records, strict=False)
        ]
        self._ended: dict[int, Moved] = {}

    def work(self) -> Generator[Event, None, ToolResult]:
        """Run them; their replies in one result. However this ends, none goes on.

        If the owner interrupts, what was done by then is the call's result.
        """
        waiting = list(self._children)
        running = 0
        try:
            while len(self._ended) < len(self._children):
                while waiting and running < self._limits.at_once:
                    child = waiting.pop(0)
                    child.start()
                    running += 1
                    yield self._told(Moved(child.number, "running"))
                if self._lead.interruption.wanted():
                    self._stop()
                try:
                    said = self._heard.get(timeout=TICK)
                except Empty:
                    continue
                if isinstance(said, Asks):
                    yield from self._put(said)
                    continue
                if said.state != "running":
                    self._ended[said.number] = said
                    running -= 1
                yield self._told(said)
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

    def _end(self, waiting: Sequence[Child]) -> None:
        """Stop those that are at work; whoever comes to no end was stopped."""
        self._stop()
        for child in self._children:
            child.talk.transcript.close() if child in waiting else child.ended(PATIENCE)
        while not self._heard.empty():
            said = self._heard.get()
            if isinstance(said, Moved) and said.state != "running":
                self._ended[said.number] = said
        for child in self._children:
            self._ended.setdefault(child.number, Moved(child.number, "stopped", STOPPED))

    def _records(self, tasks: Sequence[str]) -> list[Transcript]:
        """The transcript of each, named in the parent's before it begins, or reopened."""
        parent = self._lead.transcript
        if parent.path is None:
            return [transcript.off_the_record() for _ in tasks]
        known = next(self._named(), None)
        if known is None:
            named = (each for each in parent.entries if isinstance(each, SubtasksEntry))
            first = 1 + len({session for each in named for session in each.sessions})
            ids = (f"{parent.session}.{first + place}" for place in range(len(tasks)))
            known = parent.append(SubtasksEntry(self._call_id, tuple(ids)))
        return [transcript.subtask(parent.path.parent, each) for each in known.sessions]

    def _named(self) -> Iterator[SubtasksEntry]:
        """What the parent's transcript has of this call."""
        for each in self._lead.transcript.entries:
            if isinstance(each, SubtasksEntry) and each.call_id == self._call_id:
                yield each

    def _note_cost(self) -> None:
        """Write down, once, what they cost: it is part of what the session costs."""
        if not any(each.usage != NO_USAGE for each in self._named()):
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
        return Child(number, task, talk, self._limits.tokens, self._heard.put)

    def _put(self, said: Asks) -> Generator[Event, None, None]:
        """Put a subtask's call before the owner, who is told whose it is."""
        who = _title(self._children[said.number - 1].task)
        request = replace(said.request, who=who)
        yield request
        decision = self._lead.approver.decide(request)
        said.answer.put(decision)
        compact = f"{who}: {request.compact}"
        reason = self._lead.redactor.redact(decision.reason)
        yield ApprovalDecided(request.call_id, request.tool, compact, decision.kind, reason)

    def _told(self, moved: Moved) -> SubtaskMoved:
        child = self._children[moved.number - 1]
        doing = self._lead.redactor.redact(moved.doing)
        session = child.talk.transcript.session
        title = _title(child.task)
        return SubtaskMoved(
            self._call_id, moved.number, title, session, moved.state, doing, child.spent
        )

    def _stop(self) -> None:
        for child in self._children:
            if child.number not in self._ended:
                child.stop()

    def _result(self) -> ToolResult:
        parts = []
        for child in self._children:
            ending = self._ended[child.number]
            cost = f"session {child.talk.transcript.session}, {counted(child.spent, 'token')}"
            head = f"## {child.number}. {_title(child.task)} — {ending.state} ({cost})"
            why = f"[{ending.doing}]" if ending.doing else ""
            parts.append("\n".join(filter(None, [head, why, ending.reply.strip()])))
        done = sum(each.state == "done" for each in self._ended.values())
        compact = f"{done} of {counted(len(self._children), 'subtask')} done"
        return ToolResult("\n\n".join(parts), error=not done, compact=compact)


def _title(task: str) -> str:
    """A subtask's name: the beginning of what it is."""
    return shortened(one_line(task), TITLE)
