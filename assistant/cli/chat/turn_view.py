"""One turn on the screen: the reply, block by block, and a faint line for each other event."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from assistant import events
from assistant.cli.chat.markdown import finished_blocks, newest
from assistant.cli.chat.screen import Screen
from assistant.cli.palette import (
    BAD,
    FAINT,
    GOOD,
    WARNING,
    diff_colour,
    diff_rows,
    faint,
    owner_text,
    styled,
)
from assistant.cli.session_text import branches, call_text, entry_text, result_text
from assistant.display import counted, outcome, spelled
from assistant.events import Event, State
from assistant.messages import ToolCall
from assistant.session.entries import AssistantEntry, Entry, ToolResultEntry, UserEntry

SHOWN_PASSAGES = 3
"""Maximum number of recalled passages shown."""
SHOWN_ROWS = 3
"""Maximum number of output lines of a command shown."""
SHOWN_CHANGES = 8
"""Maximum number of changed lines of a diff shown."""
PRINTING = ("shell", "execute_code", "read_job")
"""Tools whose output is shown."""
NO_OUTPUT = "(no output)"
SLOW = 1.0
"""A tool's running time is shown from this many seconds on."""
DOING = {State.INITIALIZING: "recalling", State.THINKING: "thinking"}
STEPS = {"facts": "looking for facts", "summary": "summarising"}
MARKS = {"running": "⋯", "done": "✓", "failed": "✗", "stopped": "✗"}
"""The mark in front of a subtask, by its state."""


class TurnView:
    """Shows the events of one turn. Finished blocks are written permanently; the last one grows."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._text = ""
        self._thought = ""
        self._running: dict[str, Mapping[str, Any]] = {}
        self._refused: set[str] = set()
        self._is_folded = False
        """Whether a line has said that Ctrl-O shows the full text."""
        self._subtasks: dict[int, events.SubtaskMoved] = {}
        self.recalled = 0
        """Number of passages in the prompt that are clearly relevant to the message."""

    def show(self, event: Event) -> None:
        """Show one event."""
        for line in event_lines(event):
            self.flush()
            self._screen.put(line, "line")
        match event:
            case events.TextDelta(text):
                self._write(text)
            case events.ReasoningDelta(text):
                self._thought += spelled(text)
                self._screen.draw(thought=self._thought)
            case events.StateChanged(state=state) if state in DOING:
                self._screen.draw(doing=DOING[state])
            case events.Recalled(texts=texts):
                self.recalled = len(list(filter(None, texts)))
            case events.Compacting(step, done, total):
                self._screen.draw(doing=f"compacting: {STEPS[step]}, {done} of {total} turns")
            case events.Retrying(delay=delay):
                until = time.monotonic() + delay if delay else 0.0
                self._screen.draw(doing="trying again" if delay else "thinking", until=until)
            case events.ToolStarted(id, tool, arguments):
                self.flush()
                self._running[id] = arguments
                self._screen.draw(doing=spelled(call_text(tool, arguments)))
            case events.ToolPrinted(text=text):
                self._screen.draw(thought=spelled(text))
            case events.ToolFinished():
                self._finish(event)
            case events.SubtaskMoved():
                self._subtasks[event.number] = event
                self._screen.draw(growing=_tree(self._subtasks.values()))
            case events.ApprovalDecided(call_id=id, decision="no"):
                self._refused.add(id)
            case events.MessageJoined(text):
                self.flush()
                self._screen.put(owner_text(text))
            case events.ApprovalRequested() | events.QuestionAsked():
                self.flush()  # the reply so far comes before the question
            case events.TurnFinished():
                self.flush()

    def flush(self) -> None:
        """Write the last block, even if unfinished."""
        if self._text.strip():
            self._screen.put(self._screen.render(self._text))
        self._text = ""
        self._screen.draw(growing="", thought="")

    def _write(self, text: str) -> None:
        self._thought = ""
        self._text += spelled(text)
        if "\n" in text:  # a block ends at the end of a line
            finished, self._text = finished_blocks(self._text)
            if finished.strip():
                self._screen.put(self._screen.render(finished))
        self._screen.draw(growing=newest(self._text, 2 * self._screen.size[1]), thought="")

    def _finish(self, event: events.ToolFinished) -> None:
        """Show what a tool did, with the first lines that it printed or changed."""
        self.flush()
        self._subtasks.clear()
        arguments = self._running.pop(event.call_id, None)  # None for a call that was not run
        if event.call_id in self._refused:  # the line on the owner's decision has already said so
            return
        output = (event.diff or event.content).split("\n")
        if event.diff:
            text, rows_of, limit = event.compact, diff_rows, SHOWN_CHANGES
            details = [
                row
                for above, row in pairwise(("", *output))
                if diff_colour(above if row.startswith("\\") else row) in (GOOD, BAD)
            ]
        else:
            text = result_text(event, arguments or {})
            rows_of, limit = _faint_rows, SHOWN_ROWS
            prints = event.tool in PRINTING and event.content != NO_OUTPUT
            details = output if prints else []
        first, *rest = spelled(text).split("\n")
        first += f" · {event.seconds:.0f} s" if event.seconds >= SLOW else ""
        mark, colour = ("✗", BAD) if event.error else ("·", FAINT)
        rows = [styled(row, colour) for row in (f"{mark} {first}", *(f"  {row}" for row in rest))]
        rows += [f"  {row}" for row in rows_of(details[:limit])]
        if (more := len(details) - limit) > 0:
            rows.append(faint(f"  … {counted(more, 'more line')} · Ctrl-O shows all"))
        self._screen.put("\n".join(rows), "line")
        if arguments is not None and (more > 0 or not self._is_folded):
            self._is_folded = more > 0
            self._screen.draw(folded="\n".join(rows_of(output)))


def event_lines(event: Event) -> Iterator[str]:
    """Yield the lines shown for an event; none for most."""
    match event:
        case events.Recalled(citations, _, weak, texts) if any(texts) and not weak:
            passages = [(text, at) for text, at in zip(texts, citations, strict=True) if text]
            shown = [f"{spelled(text)} {faint(at)}" for text, at in passages[:SHOWN_PASSAGES]]
            if more := passages[SHOWN_PASSAGES:]:
                shown.append(faint(f"{len(more)} more"))
            yield faint("recalled ") + faint(" · ").join(shown)
        case events.Attached(title, lines, picture):
            yield faint(f"attached: {title} · {picture or counted(lines, 'line')}")
        case events.SkillLoaded(skill, _, trigger):
            yield faint(f"skill {skill} loaded: “{trigger}”")
        case events.ApprovalDecided(compact=compact, decision="no" as decision, reason=reason):
            yield _warning(outcome(compact, decision, reason))
        case events.MessageJoined(interrupting=True):
            yield faint("(stopped for your message)")
        case events.Reminded(text):
            yield faint(f"the model was told: {text}")
        case events.Notice(text):
            yield _warning(f"note: {text}")
        case events.Retrying():
            yield _warning(event.text)
        case events.Compacted(turns, before, after):
            yield faint(f"compacted {counted(turns, 'turn')}: {before:,} → {after:,} tokens")
        case events.FactsCaptured(facts, waiting):
            yield from (faint(f"kept in memory: {fact}") for fact in facts)
            if waiting:
                yield _warning(f"{counted(waiting, 'fact')} for your review: /review")
        case events.TurnFailed(message, cure):
            yield styled(spelled(f"{message}. {cure}".rstrip(". ") + "."), BAD)
        case events.TurnFinished(interrupted=True):
            yield _warning("stopped")


def _warning(text: str) -> str:
    return styled(spelled(text), WARNING)


def _faint_rows(rows: Sequence[str]) -> list[str]:
    return list(map(faint, rows))


def _tree(subtasks: Iterable[events.SubtaskMoved]) -> str:
    """Return the subtasks with their current steps, as a tree in a code block."""
    lines = []
    for task in subtasks:
        facts = [f"{MARKS[task.state]} {task.title}", f"{task.tokens:,} tokens"]
        lines.append(" · ".join([*facts, *([task.doing] if task.doing else [])]))
    tree = "\n".join(branches([spelled(line).replace("`", "'") for line in lines]))
    return f"```\n{tree}\n```"


def show_past(entries: Sequence[Entry], screen: Screen) -> None:
    """Show past messages and tool calls."""
    calls: dict[str, ToolCall] = {}
    for entry in entries:
        match entry:
            case UserEntry(text=text):
                screen.put(owner_text(text))
            case AssistantEntry(text=text, tool_calls=new_calls):
                calls |= {call.id: call for call in new_calls}
                if text.strip():
                    screen.put(screen.render(spelled(text)))
            case ToolResultEntry():
                screen.put(entry_text(entry, calls), "line")
