"""The options of a conversation, from flags or from Python. Imports nothing heavy."""

import signal
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

ENDING = (signal.SIGTERM, signal.SIGHUP)
"""Signals that end a process cleanly; during a turn they stop it, like Ctrl-C."""
Purpose = Literal["", "heartbeat", "event"]
"""The purpose of a session: a chat, a task of the heartbeat, or an event."""


@dataclass(frozen=True, slots=True)
class ChatOptions:
    """The owner's options for a conversation.

    `resume` is the ID of a session to continue; `latest` continues the newest one. `yes` runs
    dangerous tools without asking. `directories` are open to tools besides the workspace. `news`
    reports what was learnt from past sessions and done in the meantime. A conversation is
    unattended if its `purpose` is a task of the heartbeat or an event. `identity` is the name and
    the text of a file that says who the assistant is, instead of IDENTITY.md.
    """

    resume: str | None = None
    latest: bool = False
    off_the_record: bool = False
    model: str | None = None
    yes: bool = False
    directories: Sequence[Path] = ()
    news: bool = False
    purpose: Purpose = ""
    identity: tuple[str, str] | None = None
