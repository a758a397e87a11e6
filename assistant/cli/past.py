"""Past conversations as a person reads them: the list, and what was said in one."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import typer

from assistant import events
from assistant.app.undo import TakenBack
from assistant.cli.calls import work
from assistant.display import counted, local_time, outcome, spelled
from assistant.messages import ToolCall
from assistant.session import entries, listing
from assistant.session.entries import Entry
from assistant.session.listing import SessionSummary


def show_sessions(directory: Path) -> None:
    """The sessions, newest first, a line each."""
    found = listing.sessions(directory)
    if not found:
        typer.echo("No sessions yet.", err=True)
    for each in found:
        typer.echo(f"{spelled(each.id)}  {typer.style(facts(each), dim=True)}  {each.title}")


def facts(each: SessionSummary) -> str:
    """When a session was last used, how long it is, what it cost, how it was left."""
    if each.fault:
        return spelled(each.fault)
    tokens = each.usage.input_tokens + each.usage.output_tokens
    said = [local_time(each.updated), counted(each.turns, "turn"), counted(tokens, "token")]
    said += [] if each.usage.cost is None else [f"${each.usage.cost:.4f}"]
    said += [f"in {spelled(each.origin)}"] if each.origin else []
    said += [listing.LEFT[each.left].removeprefix("was ")] if each.left else []
    return " · ".join(said)


def taken(back: TakenBack) -> Iterator[str]:
    """What an undo has put back, and what it has left, a line each."""
    yield from (f"  {path} is as it was before" for path in back.files)
    yield from (f"  {path} is gone again" for path in back.removed)
    yield from (f"  forgotten again: {fact}" for fact in back.facts)
    yield from (f"  left as it is: {what}" for what in back.left)


def told(said: Iterable[Entry], *, thoughts: bool = False) -> Iterator[str]:
    """A session as a person reads it, with what the model thought if that is wanted."""
    calls: dict[str, ToolCall] = {}
    for entry in said:
        if isinstance(entry, entries.AssistantEntry):
            calls |= {call.id: call for call in entry.tool_calls}
            if thoughts and entry.reasoning.strip():
                yield typer.style(spelled(entry.reasoning.strip()), dim=True, italic=True)
        if line := shown(entry, calls):
            yield line


def shown(entry: Entry, calls: dict[str, ToolCall]) -> str:
    """An entry as a person reads it; empty for what only the program needs."""
    match entry:
        case entries.UserEntry(text=text):
            return spelled(f"› {text}")
        case entries.AssistantEntry(text=text):
            return spelled(text)
        case entries.ApprovalEntry(call_id=id, decision=decision, reason=reason) if decision:
            what = _whole(calls[id]) if id in calls else id
            return _faint(outcome(what, decision, reason))
        case entries.QuestionEntry(question=question, options=options):
            return spelled(" · ".join([f"? {question}", *options]))
        case entries.ToolResultEntry():
            return _faint(f"{'✗' if entry.error else '·'} {_work(entry, calls)}")
        case _:
            return _faint(_aside(entry))


def _aside(entry: Entry) -> str:
    match entry:
        case entries.AttachmentEntry(title=title, text=text):
            return f"({title})\n{text}"
        case entries.SkillEntry(name=name, path=path):
            return f"(skill {name}, {path})"
        case entries.CompactionEntry(summary=summary):
            return f"(summary of what came before)\n{summary}"
        case entries.NoticeEntry(text=text):
            return f"note: {text}"
        case entries.ReminderEntry(text=text):
            return f"(the model was told: {text})"
        case entries.RetryEntry(model=model, reason=reason, delay=delay, attempt=attempt):
            return events.Retrying(model, reason, delay, attempt).said
        case entries.InterruptedEntry(text=text):
            return f"({text})"
        case entries.TitleEntry(text=text):
            return f"(named: {text})"
        case _:
            return ""


def _work(entry: entries.ToolResultEntry, calls: dict[str, ToolCall]) -> str:
    call = calls.get(entry.call_id)
    arguments = call.arguments if call else {}
    return work(entry.tool, arguments, entry.compact, entry.content, error=entry.error)


def _whole(call: ToolCall) -> str:
    """A call with all that it was given, on one line."""
    return " ".join([call.name, *map(str, call.arguments.values())])


def _faint(text: str) -> str:
    return typer.style(spelled(text), dim=True) if text else ""
