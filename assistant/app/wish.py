"""What the owner wishes of a conversation, and the session that it goes on with."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from assistant.errors import SessionError
from assistant.session import listing, transcript
from assistant.session.transcript import Transcript
from assistant.workspace.folder import Workspace


@dataclass(frozen=True, slots=True)
class ChatWish:
    """What the owner asked of a conversation.

    `resume` is a session's id; `latest` goes on with the one begun last. `yes` lets dangerous
    tools run unasked. `directories` are open to tools besides the workspace. `news`: say what past
    sessions were read for, and what was looked after meanwhile. Nobody is there to talk with if the
    `purpose` is a task of the heartbeat, or an event.
    """

    resume: str | None = None
    latest: bool = False
    off_the_record: bool = False
    model: str | None = None
    yes: bool = False
    directories: Sequence[Path] = ()
    news: bool = False
    purpose: Literal["", "heartbeat", "event"] = ""


def record_for(place: Workspace, wish: ChatWish, *, trusted: bool) -> Transcript:
    """The session to be held: new, reopened, or kept nowhere. Raises SessionError."""
    if wish.off_the_record:
        return transcript.off_the_record()
    if not trusted and (wish.latest or wish.resume):
        raise SessionError(
            "the sessions of a workspace that is not trusted may be somebody else's",
            "Run `assistant trust` if it is yours, or begin a new one",
        )
    name = listing.latest(place.sessions) if wish.latest else wish.resume
    if wish.latest and name is None:
        raise SessionError("there is no session to go on with", "Begin one with `assistant chat`")
    return (
        transcript.reopen(place.sessions, name)
        if name
        else transcript.create(place.sessions, wish.purpose)
    )
