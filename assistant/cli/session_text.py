"""Sessions as text: the list of them, a session's entries, and tool calls on one line."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import typer

from assistant import events
from assistant.app.undo import TakenBack
from assistant.cli.memory_text import undone_lines
from assistant.cli.palette import echo, faint
from assistant.display import abbreviated, compact_call, counted, local_time, outcome, spelled
from assistant.messages import ToolCall
from assistant.session import entries, listing
from assistant.session.entries import Entry
from assistant.session.listing import SessionSummary

REMEMBERED = {
    "stored": "remembered",
    "exists": "already known",
    "superseded": "remembered, in place of an older fact,",
    "waiting": "waits for your review:",
}
SUBTASK = re.compile(r"^## \d+\. (.* — (?:done|failed|stopped) \(session .*\))$", re.MULTILINE)
"""The heading of each reply in the result of `delegate`."""

FORMATS: Mapping[type, str] = {
    entries.AttachmentEntry: "({0.title})\n{0.text}",
    entries.SkillEntry: "(skill {0.name}, {0.path})",
    entries.CompactionEntry: "(summary of what came before)\n{0.summary}",
    entries.NoticeEntry: "note: {0.text}",
    entries.ReminderEntry: "(the model was told: {0.text})",
    entries.InterruptedEntry: "({0.text})",
    entries.TitleEntry: "(named: {0.text})",
}
"""The formats of the simple kinds of entries."""


def show_sessions(sessions: Sequence[SessionSummary]) -> None:
    """Print the sessions, a line each."""
    if not sessions:
        echo("No sessions yet.", err=True)
    for session in sessions:
        facts = faint(session_facts(session))
        typer.echo(f"{spelled(session.id)}  {facts}  {session.title}")


def session_facts(session: SessionSummary) -> str:
    """Return when a session was last used, its length and cost, and whether it was interrupted."""
    if session.fault:
        return spelled(session.fault)
    tokens = session.usage.tokens
    facts = [local_time(session.updated), counted(session.turns, "turn"), counted(tokens, "token")]
    if session.usage.cost is not None:
        facts.append(f"${session.usage.cost:.4f}")
    if session.origin:
        facts.append(f"in {spelled(session.origin)}")
    if session.left:
        facts.append(listing.LEFT[session.left].removeprefix("was "))
    return " · ".join(facts)


def undo_lines(request: str, back: TakenBack) -> Iterator[str]:
    """Yield what the undo of a request has restored and what it has not, a line each."""
    is_undone = back.files or back.removed or back.writes or back.dropped
    yield f"{'Undone' if is_undone else 'Nothing was undone of'}: “{request}”"
    yield from (f"  {path} is restored" for path in back.files)
    yield from (f"  {path} is removed" for path in back.removed)
    yield from (f"  {line}" for write in back.writes for line in undone_lines(write))
    yield from (f"  no longer waits for review: {text}" for text in back.dropped)
    yield from (f"  not undone: {what}" for what in back.left)


def session_lines(session: Iterable[Entry], *, thoughts: bool = False) -> Iterator[str]:
    """Yield the entries of a session as text, with the model's reasoning if `thoughts`."""
    calls: dict[str, ToolCall] = {}
    for entry in session:
        if isinstance(entry, entries.AssistantEntry):
            calls |= {call.id: call for call in entry.tool_calls}
            if thoughts and entry.reasoning.strip():
                yield typer.style(faint(entry.reasoning.strip()), italic=True)
        if line := entry_text(entry, calls):
            yield line


def entry_text(entry: Entry, calls: Mapping[str, ToolCall]) -> str:
    """Return an entry as text; empty for one that is not shown."""
    match entry:
        case entries.UserEntry(text=text):
            return spelled(f"› {text}")
        case entries.AssistantEntry(text=text):
            return spelled(text)
        case entries.QuestionEntry(question=question, options=options):
            return spelled(" · ".join([f"? {question}", *options]))
        case _:
            text = _other_text(entry, calls)
            return faint(text) if text else ""


def _other_text(entry: Entry, calls: Mapping[str, ToolCall]) -> str:
    """Return the text of an entry that is not a message."""
    match entry:
        case entries.ApprovalEntry(call_id=id, decision=decision, reason=reason) if decision:
            call = calls.get(id)
            what = " ".join([call.name, *map(str, call.arguments.values())]) if call else id
            return outcome(what, decision, reason)
        case entries.ToolResultEntry(call_id=id):
            arguments = calls[id].arguments if id in calls else {}
            return f"{'✗' if entry.error else '·'} {result_text(entry, arguments)}"
        case entries.RetryEntry(model=model, reason=reason, delay=delay, attempt=attempt):
            return events.Retrying(model, reason, delay, attempt).text
        case _:
            return FORMATS.get(type(entry), "").format(entry)


def result_text(
    result: entries.ToolResultEntry | events.ToolFinished, arguments: Mapping[str, Any]
) -> str:
    """Return the result of a call on one line; a plan and subtasks take more lines."""
    tool, compact = result.tool, result.compact
    if tool == "plan" and not result.error:
        return f"plan: {compact}\n{result.content}"
    if tool == "remember" and not result.error:
        status, _, position = compact.partition(" ")
        fact = abbreviated(arguments.get("fact", ""))
        return f'{REMEMBERED.get(status, status)} "{fact}" {position}'.rstrip()
    if tool == "delegate" and (heads := SUBTASK.findall(result.content)):
        return "\n".join([f"delegate: {compact}", *branches(heads)])
    if tool == "ask" and not result.error:
        return f"you answered: {compact}"
    call = call_text(tool, arguments)
    return f"{call} → {compact}" if compact else call


def call_text(tool: str, arguments: Mapping[str, Any]) -> str:
    """Return a call on one line."""
    return compact_call(f"{tool}:" if arguments else tool, arguments)


def branches(lines: Sequence[str]) -> list[str]:
    """Return the lines as the branches of a tree."""
    return [f"{'└' if line is lines[-1] else '├'} {line}" for line in lines]
