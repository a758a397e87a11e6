"""`context`: the prompt for a message, or of a past turn."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated

import typer

from assistant.agent.context_budget import rendered
from assistant.agent.prompt import KNOWN, Section
from assistant.app.options import ChatOptions
from assistant.cli.options import (
    AsJson,
    Globals,
    Message,
    answer,
    message_and_input,
    note,
    option,
    session_ids,
)
from assistant.cli.palette import echo
from assistant.display import counted, local_time
from assistant.errors import UsageError
from assistant.session import keeping, transcript
from assistant.session.history import group, history


def context(
    context: typer.Context,
    message: Message = None,
    session: Annotated[str | None, partial(option, autocompletion=session_ids)] = None,
    turn: Annotated[int | None, partial(option, min=1)] = None,
    section: str | None = None,
    as_json: AsJson = False,
) -> None:
    """Show the prompt that would be sent with a message.

    Arguments:
      --session ID: Show what this session was sent.
      --turn N: Its turn, from 1; otherwise the latest.
      --section TITLE: Show only this section.

    Examples:
      assistant context what is due on Friday
      assistant context --session k7q
    """
    if session is None and turn is not None:
        raise UsageError("--turn needs a session", "Name one with --session ID")
    if session is not None and message:
        raise UsageError("a past turn has its own message", "Give a message or --session, not both")
    if session is None:
        text, attached = message_and_input(message)
        with context.obj.open_chat(ChatOptions()) as chat:
            sections = chat.preview(text, attached)
    else:
        sections = _past_sections(context.obj, session, turn)
    if section:
        sections = _section(sections, section)
    answer(
        [
            {"title": part.title, "source": part.source, "tokens": part.tokens, "text": part.text}
            for part in sections
        ]
    )
    if section:
        for part in sections:
            echo(part.text)
        return
    for part in sections:
        echo(part.rendered)
        facts = f"({counted(part.tokens, 'token')} · {part.source})\n"
        echo(facts, faint=True)
        if part.cut:
            note(part.cut)
    echo(f"{counted(sum(part.tokens for part in sections), 'token')} in all", err=True)


def _section(sections: Sequence[Section], title: str) -> list[Section]:
    """Return the section with this title, or with this name in the recipe."""
    titles = {part.name: part.title for part in KNOWN}
    full_title = titles.get(title.casefold(), title).casefold()
    chosen = [part for part in sections if part.title.casefold() == full_title]
    if not chosen:
        present = ", ".join(part.title for part in sections)
        raise UsageError(f"there is no section {title!r}", f"Available: {present}")
    return chosen


def _past_sections(options: Globals, session: str, turn: int | None) -> list[Section]:
    """Return the prompt of a past turn, by default the latest."""
    workspace = options.workspace()
    name = transcript.find(workspace.sessions, session)
    sent = keeping.prompts_sent(workspace.sessions, name)
    number = len(sent) if turn is None else turn
    if number > len(sent):
        raise UsageError(f"session {name} has {counted(len(sent), 'turn')}", "Name one of them")
    past = sent[number - 1]
    entries = transcript.read(workspace.sessions, name)
    request = next((t.request for t in group(entries) if t.entries[0].id == past.turn), "")
    ahead = entries[: next((n for n, e in enumerate(entries) if e.id == past.turn), 0)]
    earlier = "\n\n".join(
        f"{message.role}: {message.content}" for message in rendered(history(ahead))
    )
    parts = [Section(part.title, part.text, source=part.source) for part in past.parts]
    parts.append(Section("History", earlier, source=f"session {name}"))
    source = f"turn {number}, {local_time(past.time)}, {past.model}"
    parts.append(Section("Message", request, source=source))
    return [part for part in parts if part.text]
