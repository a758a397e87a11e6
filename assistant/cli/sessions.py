"""`sessions list` and `sessions show`: the transcripts of past conversations."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from assistant.cli.help import commands
from assistant.cli.options import AsJson, print_json
from assistant.display import counted, local_time, outcome, spelled
from assistant.messages import ToolCall
from assistant.workspace import Workspace

if TYPE_CHECKING:
    from assistant.session.entries import Entry

session_commands = commands("Look at past conversations.")


def register(cli: typer.Typer) -> None:
    """Add the sessions' commands to the tree."""
    cli.add_typer(session_commands, name="sessions")


@session_commands.command("list")
def list_sessions(context: typer.Context, as_json: AsJson = False) -> None:
    """List sessions, newest first, with what they cost."""
    from assistant.session import listing

    place = context.obj.place()
    if as_json:
        print_json([asdict(each) for each in listing.sessions(place.sessions)])
    else:
        show_sessions(place)


@session_commands.command("show")
def show_session(
    context: typer.Context,
    session: Annotated[str, typer.Argument(metavar="ID", help="Its id, or a beginning or end.")],
    thoughts: Annotated[
        bool, typer.Option("--thoughts", help="Also what the model thought before it spoke.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show what was said in a session; with --json its entries, one a line."""
    from assistant.session import entries, transcript

    said = transcript.read(context.obj.place().sessions, session)
    if as_json:
        for entry in said:
            typer.echo(entries.encode(entry).decode(), nl=False)
        return
    for line in told(said, thoughts=thoughts):
        typer.echo(line)


def told(said: "Iterable[Entry]", *, thoughts: bool = False) -> Iterator[str]:
    """A session as a person reads it, with what the model thought if that is wanted."""
    from assistant.session import entries

    calls: dict[str, ToolCall] = {}
    for entry in said:
        match entry:
            case entries.ApprovalEntry(call_id=id, decision=decision, reason=reason) if decision:
                what = _whole(calls[id]) if id in calls else id
                yield typer.style(outcome(what, decision, reason), dim=True)
            case entries.AssistantEntry(tool_calls=asked, reasoning=reasoning):
                calls |= {call.id: call for call in asked}
                if thoughts and reasoning.strip():
                    yield typer.style(spelled(reasoning.strip()), dim=True, italic=True)
        if line := shown(entry):
            yield line


def _whole(call: ToolCall) -> str:
    """A call with all that it was given, on one line."""
    return " ".join([call.name, *(str(value) for value in call.arguments.values())])


def show_sessions(place: Workspace) -> None:
    """The sessions as a list for a person."""
    from assistant.session import listing

    found = listing.sessions(place.sessions)
    if not found:
        typer.echo("No sessions yet.", err=True)
    for each in found:
        cost = "" if each.usage.cost is None else f" · ${each.usage.cost:.4f}"
        tokens = each.usage.input_tokens + each.usage.output_tokens
        facts = spelled(each.fault) or (
            f"{local_time(each.updated)} · {counted(each.turns, 'turn')} · "
            f"{counted(tokens, 'token')}{cost}"
        )
        typer.echo(f"{spelled(each.id)}  {typer.style(facts, dim=True)}  {each.title}")


def shown(entry: object) -> str:
    """An entry as a person reads it; empty for what only the program needs."""
    from assistant.session import entries

    match entry:
        case entries.UserEntry(text=text):
            return spelled(f"› {text}")
        case entries.AttachmentEntry(title=title, text=text):
            return typer.style(spelled(f"({title})\n{text}"), dim=True)
        case entries.AssistantEntry(text=text):
            return spelled(text)
        case entries.ToolResultEntry(tool=tool, compact=compact):
            return typer.style(spelled(f"· {compact or tool}"), dim=True)
        case entries.CompactionEntry(summary=summary):
            return typer.style(spelled(f"(summary of what came before)\n{summary}"), dim=True)
        case entries.ReminderEntry(text=text):
            return typer.style(spelled(f"(the model was told: {text})"), dim=True)
        case entries.RetryEntry(model=model, reason=reason, delay=delay):
            return typer.style(spelled(f"{reason}; trying {model} in {delay:.0f} s"), dim=True)
        case entries.NoticeEntry(text=text):
            return typer.style(spelled(f"note: {text}"), dim=True)
        case entries.InterruptedEntry(text=text):
            return typer.style(spelled(f"({text})"), dim=True)
        case _:
            return ""
