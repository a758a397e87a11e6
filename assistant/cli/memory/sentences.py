"""What a session was read for: the sentences behind a fact, and what the reading cost."""

from collections.abc import Iterator

from assistant.cli.memory.shown import one_line
from assistant.display import counted
from assistant.errors import SessionError
from assistant.memory.base import Origin
from assistant.workspace.folder import Workspace

SHOWN = 200
"""Characters of an entry that a fact comes from."""


def sentences(place: Workspace, origin: Origin) -> Iterator[str]:
    """The entries that a fact cites, each as one line; none if the session is gone."""
    from assistant.session import entries, transcript  # not on the client's path

    if not origin.session:
        return
    try:
        session = transcript.read(place.sessions, origin.session)
    except SessionError:
        return
    for entry in session:
        match entry:
            case entries.ToolResultEntry(tool=tool, content=text):
                who = f"result of {tool}"
            case entries.UserEntry(text=text):
                who = "you"
            case entries.AssistantEntry(text=text):
                who = "assistant"
            case _:
                continue
        if entry.id in origin.entries:
            yield f"{entry.id} {one_line(f'{who}: {text}', SHOWN)}"


def reading_cost(place: Workspace) -> str:
    """What reading ended chats for facts has cost this month; "" if nothing."""
    from assistant.agent import afterwards

    tokens = afterwards.spent(place)
    return f"{counted(tokens, 'token')} this month for reading chats that ended" if tokens else ""
