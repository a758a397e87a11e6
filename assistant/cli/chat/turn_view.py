"""One turn on the screen: the reply grows and then stands, all else is a quiet line beside it."""

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from assistant import events
from assistant.cli.chat.markdown import finished_blocks, newest
from assistant.cli.chat.palette import BAD, FAINT, GOOD, WARNING, faint, said, styled
from assistant.cli.chat.screen import Screen
from assistant.cli.session_text import branches, call_text, entry_text, result_text
from assistant.display import counted, outcome, spelled
from assistant.events import Event, State
from assistant.messages import ToolCall
from assistant.session.entries import AssistantEntry, Entry, ToolResultEntry, UserEntry

SHOWN_PASSAGES = 3
"""Recalled passages that are named."""
SHOWN_ROWS = 3
"""Lines of a command's output that stand below it."""
SHOWN_CHANGES = 8
"""Changed lines that stand below what changed them."""
PRINTING = ("shell", "read_job")
"""Tools whose result is shown as it is."""
CHANGED = re.compile(r"[+-](?!\+\+ |-- )")
"""How a row of a unified diff begins that was added or removed."""
NO_OUTPUT = "(no output)"
COLOURS = {"+": GOOD, "-": BAD}
SLOW = 1.0
"""Seconds from which on it is said how long a tool took."""
INTERRUPTED = "(stopped to hear you)"


def lines_of(event: Event) -> Iterator[str]:
    """The lines that an event is worth to a person; none for most."""
    if isinstance(event, events.Recalled) and event.texts and not event.weak:
        passages = list(zip(event.texts, event.citations, strict=True))
        shown = [f"{spelled(text)} {faint(at)}" for text, at in passages[:SHOWN_PASSAGES]]
        if more := passages[SHOWN_PASSAGES:]:
            shown.append(faint(f"{len(more)} more"))
        yield faint("recalled ") + faint(" · ").join(shown)
    for text, colour in _lines_of(event):
        yield styled(spelled(text), colour)


def _lines_of(event: Event) -> Iterator[tuple[str, int]]:
    match event:
        case events.Attached(title, lines, picture):
            yield f"with it: {title} · {picture or counted(lines, 'line')}", FAINT
        case events.SkillLoaded(skill, _, trigger):
            yield f"skill {skill} loaded: “{trigger}”", FAINT
        case events.ApprovalDecided(compact=compact, decision="no" as decision, reason=reason):
            yield outcome(compact, decision, reason), WARNING
        case events.Reminded(text):
            yield f"the model was told: {text}", FAINT
        case events.Notice(text):
            yield f"note: {text}", WARNING
        case events.Retrying():
            yield event.said, WARNING
        case events.Compacted(turns, before, after):
            yield f"compacted {counted(turns, 'turn')}: {before:,} → {after:,} tokens", FAINT
        case events.FactsCaptured(facts, waiting):
            yield from ((f"kept in memory: {fact}", FAINT) for fact in facts)
            if waiting:
                yield f"{counted(waiting, 'fact')} for your review: /review", WARNING
        case events.TurnFailed(message, cure):
            yield f"{message}. {cure}".rstrip(". ") + ".", BAD
        case events.TurnFinished(interrupted=True):
            yield "stopped", WARNING


DOING = {State.INITIALIZING: "recalling", State.THINKING: "thinking"}
MARKS = {"running": "⋯", "done": "✓", "failed": "✗", "stopped": "✗"}
"""Before a subtask, by its state."""
STEPS = {"facts": "looking for facts", "summary": "summarising"}


class TurnView:
    """Shows the events of one turn. What is finished is put up for good; the last block grows."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._text = ""
        self._thought = ""
        self._running: dict[str, tuple[Mapping[str, Any], float]] = {}
        self._refused: set[str] = set()
        self._subtasks: dict[int, events.SubtaskMoved] = {}
        self.recalled = 0
        """Passages that went into the prompt."""

    def show(self, event: Event) -> None:
        """Show one event."""
        match event:
            case events.TextDelta(text):
                self._write(text)
            case events.ReasoningDelta(text):
                self._thought += spelled(text)
                self._screen.draw(thought=self._thought)
            case events.Retrying(delay=delay):
                self._tell(event)
                self._screen.does("trying again" if delay else DOING[State.THINKING], seconds=delay)
            case events.StateChanged(state=state) if state in DOING:
                self._screen.does(DOING[state])
            case events.Compacting(step, done, total):
                self._screen.does(f"compacting: {STEPS[step]}, {done} of {total} turns")
            case events.ToolStarted():
                self.flush()
                self._running[event.call_id] = event.arguments, time.monotonic()
                self._screen.does(spelled(call_text(event.tool, event.arguments)))
            case events.ToolPrinted(text=text):
                self._screen.draw(thought=spelled(text))
            case events.ToolFinished():
                self._finish(event)
            case events.SubtaskMoved():
                self._subtasks[event.number] = event
                self._screen.draw(growing=_branches(list(self._subtasks.values())))
            case events.MessageJoined(text, interrupting):
                self.flush()
                if interrupting:
                    self._screen.put(faint(INTERRUPTED), "line")
                self._screen.put(said(text))
            case events.ApprovalRequested() | events.QuestionAsked():
                self.flush()  # what was said stands before the question that it led to
            case _:
                self._tell(event)

    def flush(self) -> None:
        """Put up what there is of the last block."""
        if self._text.strip():
            self._screen.put(self._screen.render(self._text), growing="")
        self._text = ""
        self._screen.draw(growing="", thought="")

    def _tell(self, event: Event) -> None:
        match event:
            case events.ApprovalDecided(call_id=id, decision="no"):
                self._refused.add(id)
            case events.Recalled(citations=citations):
                self.recalled = len(citations)
        for line in lines_of(event):
            self.flush()
            self._screen.put(line, "line")
        if isinstance(event, events.TurnFinished | events.TurnFailed):
            self.flush()

    def _write(self, text: str) -> None:
        if self._thought:
            self._thought = ""
            self._screen.draw(thought="")
        self._text += spelled(text)
        if "\n" in text:  # a block ends with a line
            done, self._text = finished_blocks(self._text)
            if done.strip():
                self._screen.put(self._screen.render(done), growing=self._growing)
                return
        self._screen.draw(growing=self._growing)

    @property
    def _growing(self) -> str:
        return newest(self._text, 2 * self._screen.size[1])

    def _finish(self, event: events.ToolFinished) -> None:
        self.flush()
        self._subtasks.clear()
        arguments, began = self._running.pop(event.call_id, ({}, time.monotonic()))
        if event.call_id in self._refused:  # the line on the owner's decision says it
            return
        took = time.monotonic() - began
        done = result_text(event.tool, arguments, event.compact, event.content, event.error)
        first, *rest = spelled(event.compact if event.diff else done).split("\n")
        first += f" · {took:.0f} s" if took >= SLOW else ""
        mark, colour = ("✗", BAD) if event.error else ("·", FAINT)
        rows = [f"{mark} {first}", *(f"  {row}" for row in rest)]
        shown, whole = [styled(row, colour) for row in rows], event.content.split("\n")
        prints = event.tool in PRINTING and event.content != NO_OUTPUT
        below, most = whole if prints else [], SHOWN_ROWS
        if event.diff:
            whole = event.diff.split("\n")
            below, most = [row for row in whole if CHANGED.match(row)], SHOWN_CHANGES
        shown += [f"  {_coloured(row, event.diff)}" for row in below[:most]]
        if len(below) > most:
            more = counted(len(below) - most, "more line")
            shown.append(faint(f"  … {more} · Ctrl-O shows all"))
        self._screen.put("\n".join(shown), "line")
        self._screen.draw(folded="\n".join(_coloured(row, event.diff) for row in whole))


def _coloured(row: str, diff: str) -> str:
    """A row of a diff, or of what a tool printed."""
    changed = CHANGED.match(row) if diff else None
    return styled(spelled(row), COLOURS[changed[0]] if changed else FAINT)


def _branches(subtasks: Sequence[events.SubtaskMoved]) -> str:
    """What each subtask does, as a tree."""
    lines = [
        f"{MARKS[each.state]} {each.title} · {each.tokens:,} tokens"
        + (f" · {each.doing}" if each.doing else "")
        for each in subtasks
    ]
    shown = "\n".join(branches([spelled(line).replace("`", "'") for line in lines]))
    return f"```\n{shown}\n```"


def show_past(entries: Sequence[Entry], screen: Screen) -> None:
    """Put up what the owner and the assistant said, and what tools did."""
    calls: dict[str, ToolCall] = {}
    for entry in entries:
        match entry:
            case UserEntry(text=text):
                screen.put(said(text))
            case AssistantEntry(text=text, tool_calls=asked):
                calls |= {call.id: call for call in asked}
                if text.strip():
                    screen.put(screen.render(spelled(text)))
            case ToolResultEntry():
                screen.put(entry_text(entry, calls), "line")
