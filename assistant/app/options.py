"""What the owner asks of a conversation, by flags or from Python. Imports nothing heavy."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Purpose = Literal["", "heartbeat", "event"]
"""What a session is for: a chat, a task of the heartbeat, or an event."""


@dataclass(frozen=True, slots=True)
class ChatOptions:
    """What the owner asked of a conversation.

    `resume` is a session's id; `latest` goes on with the one begun last. `yes` lets dangerous
    tools run unasked. `directories` are open to tools besides the workspace. `news`: report what
    was learnt from past sessions and what was done meanwhile. Nobody is there if the `purpose` is
    a task of the heartbeat, or an event.
    """

    resume: str | None = None
    latest: bool = False
    off_the_record: bool = False
    model: str | None = None
    yes: bool = False
    directories: Sequence[Path] = ()
    news: bool = False
    purpose: Purpose = ""
