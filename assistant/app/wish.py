"""What the owner wishes of a conversation."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Purpose = Literal["", "heartbeat", "event"]
"""What a session is for: a talk, a task of the heartbeat, or an event."""


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
    purpose: Purpose = ""
