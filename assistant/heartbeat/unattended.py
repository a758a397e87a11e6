"""A turn that nobody attends: within the owner's limits, and to be tried again where no model
answered."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from assistant.errors import AssistantError, ConfigError, WorkspaceError
from assistant.heartbeat.claims import State
from assistant.session import beats, keeping
from assistant.session.beats import News
from assistant.session.entries import AssistantEntry
from assistant.workspace import trust
from assistant.workspace.folder import Workspace

if TYPE_CHECKING:
    from assistant.app.chat import Chat
    from assistant.app.options import Purpose
    from assistant.events import Event
    from assistant.settings.tree import Settings

SILENCE = frozenset({"", "nothing", "heartbeat ok", "no reply"})
"""Replies that say nothing, without punctuation."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a turn: the reply, or why it failed; its tokens, and its session."""

    state: State
    text: str = ""
    tokens: int = 0
    session: str = ""


def check(workspace: Workspace) -> None:
    """Raises WorkspaceError if the workspace is not trusted."""
    if not trust.is_trusted(workspace):
        raise WorkspaceError(
            f"{workspace.root} is not trusted: its tasks are not done, and events not answered",
            "Run `assistant trust` if it is yours",
        )


def allowed(workspace: Workspace) -> "Settings":
    """The settings, if there are a model and tokens left. Raises ConfigError; the owner is told
    once."""
    from assistant import config
    from assistant.model import select
    from assistant.settings import tree as settings  # once there is something to do

    recipe = workspace.recipe
    chosen = settings.validate(config.load(recipe=recipe), recipe)
    most = chosen.heartbeat.monthly_tokens
    if not select.create(chosen).extracts:
        error = ConfigError(
            "there is work to do, and there is no model to do it",
            "Connect one: `assistant config set model NAME`",
        )
    elif beats.load(workspace).spent >= most:
        error = ConfigError(
            f"the heartbeat has used this month's {most:,} tokens",
            "Raise heartbeat.monthly_tokens, or wait for the next month",
        )
    else:
        return chosen
    with beats.changing(workspace) as known:
        if known.refused != str(error):
            known.refused = str(error)
            known.tell(News(f"{datetime.now():%Y-%m-%dT%H:%M}", failed=str(error)))
    raise error


def attempt(
    workspace: Workspace,
    purpose: "Purpose",
    ask: Callable[["Chat"], "Iterator[Event]"],
    most: int,
    *,
    no_daemon: bool = False,
) -> Outcome:
    """A turn in a session of its own, stopped once it has cost `most` tokens.

    Where the model answered nothing, nothing was done, and no session stays: it may be tried again
    (`waiting`). Whatever else goes wrong has failed for good. Raises KeyboardInterrupt at Ctrl-C.
    """
    from assistant import events
    from assistant.app.chat import open_chat
    from assistant.app.options import ChatOptions

    reply = failed = ""
    try:
        with open_chat(workspace, ChatOptions(purpose=purpose), no_daemon=no_daemon) as chat:
            talk = chat.conversation
            try:
                for event in ask(chat):
                    match event:
                        case events.StateChanged(events.State.THINKING) if _cost(chat) >= most:
                            talk.interruption.cancel()
                            failed = f"stopped: it had cost {_cost(chat):,} of {most:,} tokens"
                        case events.TurnFinished(interrupted=True) if not failed:
                            raise KeyboardInterrupt
                        case events.TurnFinished(text):
                            reply = text
                        case events.TurnFailed(message, cure):
                            failed = f"{message}. {cure}".rstrip()
            finally:
                with beats.changing(workspace) as known:
                    known.spend(_cost(chat))
            entries, session = talk.transcript.entries, talk.transcript.session
            cost = _cost(chat)
    except AssistantError as error:
        return Outcome("failed", str(error))
    if failed and not any(isinstance(entry, AssistantEntry) for entry in entries):
        keeping.delete(workspace.sessions, session)
        return Outcome("waiting", f"{failed} (it is tried again)", cost)
    state: State = "failed" if failed else "silent" if says_nothing(reply) else "done"
    return Outcome(state, failed or reply, cost, session)


def _cost(chat: "Chat") -> int:
    used = chat.conversation.usage
    return used.input_tokens + used.output_tokens


def says_nothing(reply: str) -> bool:
    """Whether the whole of a reply says that there is nothing to tell."""
    return " ".join(re.sub(r"[\W_]+", " ", reply).split()).casefold() in SILENCE
