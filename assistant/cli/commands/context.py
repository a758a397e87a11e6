"""`context`: what a message would be sent with, and what past turns were sent."""

import difflib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from assistant.app.options import ChatOptions
from assistant.cli.help import MEMORY, examples
from assistant.cli.opening import Message, Opening
from assistant.cli.options import AsJson, Globals, message_and_input, print_json
from assistant.display import counted, local_time, spelled
from assistant.errors import UsageError

if TYPE_CHECKING:
    from assistant.agent.prompt import Section
    from assistant.session.keeping import Sent


def register(cli: typer.Typer) -> None:
    """Add the command to the tree."""
    cli.command(rich_help_panel=MEMORY, epilog=examples("assistant context what is due on Friday"))(
        context
    )


def context(
    context: typer.Context,
    message: Message = None,
    session: Annotated[
        str | None, typer.Option("--session", metavar="ID", help="Show what this session was sent.")
    ] = None,
    turn: Annotated[
        int | None,
        typer.Option("--turn", metavar="N", min=1, help="Its turn, from 1; otherwise the latest."),
    ] = None,
    diff: Annotated[
        bool,
        typer.Option(
            "--diff", help="Show what changed since the turn before, or since then without --turn."
        ),
    ] = False,
    section: Annotated[
        str | None, typer.Option("--section", metavar="TITLE", help="Show only this section.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show the prompt that a message would be sent with."""
    if session is None and (turn is not None or diff):
        raise UsageError("--turn and --diff need a session", "Name one with --session ID")
    if session is not None and message:
        raise UsageError("a past turn has its own message", "Give a message or --session, not both")
    sections: Sequence[Section]
    if session is None:
        text, attached = message_and_input(message)
        with Opening(context.obj).open() as opened:
            sections = opened.preview(text, attached)
    else:
        past, before, sections = _past(context.obj, session, turn, now=diff and turn is None)
        if diff:
            _show_difference(past, before, sections, latest=turn is None, as_json=as_json)
            return
    if section:
        sections = _only(sections, section)
    _show(sections, as_json=as_json, bare=section is not None)


def _show(sections: "Sequence[Section]", *, as_json: bool, bare: bool) -> None:
    if as_json:
        print_json(
            [
                {"title": e.title, "source": e.source, "tokens": e.tokens, "text": e.text}
                for e in sections
            ]
        )
        return
    if bare:
        for each in sections:
            typer.echo(spelled(each.text))
        return
    for each in sections:
        typer.echo(spelled(each.rendered))
        facts = f"({counted(each.tokens, 'token')} · {spelled(each.source)})\n"
        typer.echo(typer.style(facts, dim=True))
        if each.cut:
            typer.echo(f"note: {each.cut}", err=True)
    typer.echo(f"{counted(sum(each.tokens for each in sections), 'token')} in all", err=True)


def _only(sections: "Sequence[Section]", title: str) -> "list[Section]":
    """The section of a title, or of a name in the recipe."""
    from assistant.agent.recipe import KNOWN

    titles = {part.name: part.title for part in KNOWN}
    wanted = titles.get(title.casefold(), title).casefold()
    found = [each for each in sections if each.title.casefold() == wanted]
    if not found:
        there = ", ".join(each.title for each in sections)
        raise UsageError(f"there is no section {title!r}", f"There are: {there}")
    return found


def _past(
    options: Globals, session: str, turn: int | None, *, now: bool
) -> "tuple[Sent, Sent | None, list[Section]]":
    """What a turn was sent, what the turn before it was, and its sections, or those of `now`."""
    from assistant.agent.context_budget import rendered
    from assistant.agent.prompt import Section
    from assistant.session import keeping, transcript
    from assistant.session.history import group, history

    place = options.place()
    name = transcript.find(place.sessions, session)
    kept = keeping.prompts_sent(place.sessions, name)
    number = len(kept) if turn is None else turn
    if number > len(kept):
        raise UsageError(f"session {name} has {counted(len(kept), 'turn')}", "Name one of them")
    past = kept[number - 1]
    entries = transcript.read(place.sessions, name)
    asked = next((t.request for t in group(entries) if t.entries[0].id == past.turn), "")
    if now:
        with Opening(options, ChatOptions(resume=name)).open() as opened:
            return past, None, opened.conversation.preview(asked)
    ahead = entries[: next((n for n, e in enumerate(entries) if e.id == past.turn), 0)]
    earlier = "\n\n".join(f"{each.role}: {each.content}" for each in rendered(history(ahead)))
    parts = [Section(each.title, each.text, source=each.source) for each in past.parts]
    told = [
        Section("History", earlier, source=f"session {name}"),
        Section("Message", asked, source=f"turn {number}, {local_time(past.time)}, {past.model}"),
    ]
    before = kept[number - 2] if number > 1 else None
    return past, before, [*parts, *(each for each in told if each.text)]


def _show_difference(
    past: "Sent",
    before: "Sent | None",
    sections: "Sequence[Section]",
    *,
    latest: bool,
    as_json: bool,
) -> None:
    """How the sections of one turn differ from those of another, as a unified diff each."""
    then = {each.title: each.text for each in past.parts}
    if latest:
        old, new = then, {each.title: each.text for each in sections}
        new = {title: text for title, text in new.items() if title not in ("History", "Message")}
        names = ("sent then", "sent now")
    else:
        old, new = ({each.title: each.text for each in before.parts} if before else {}), then
        names = ("the turn before", "this turn")
    found = {title: list(_changes(old, new, title, names)) for title in {**old, **new}}
    changed = {title: lines for title, lines in found.items() if lines}
    if as_json:
        print_json([{"title": title, "diff": lines} for title, lines in changed.items()])
        return
    for title, lines in changed.items():
        typer.echo(f"# {spelled(title)}")
        typer.echo(spelled("\n".join(lines)) + "\n")
    if not changed:
        typer.echo("Nothing has changed.")


def _changes(
    old: dict[str, str], new: dict[str, str], title: str, names: tuple[str, str]
) -> Iterator[str]:
    then, now = (each.get(title, "").splitlines() for each in (old, new))
    return difflib.unified_diff(then, now, *names, lineterm="", n=1)
