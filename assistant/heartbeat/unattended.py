"""A turn that nobody attends: within the owner's limits, and to be tried again where no model
answered."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from assistant.errors import AssistantError, ConfigError
from assistant.heartbeat.claims import State
from assistant.session import beats, keeping
from assistant.session.beats import News
from assistant.session.entries import AssistantEntry
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
    """What came of it: what was said, or why it failed; what it cost, and its session."""

    state: State
    said: str = ""
    tokens: int = 0
    session: str = ""


def allowed(place: Workspace) -> "Settings":
    """The settings, if there are a model and tokens left. Raises ConfigError, told once."""
    from assistant import config
    from assistant.model import select
    from assistant.settings import tree as settings  # once there is something to do

    recipe = place.recipe
    chosen = settings.validate(config.load(recipe=recipe), recipe)
    most = chosen.heartbeat.monthly_tokens
    if not select.create(chosen).extracts:
        error = ConfigError(
            "there is work to do, and no model to do it",
            "Connect one: `assistant config set model NAME`",
        )
    elif beats.load(place).spent >= most:
        error = ConfigError(
            f"the heartbeat has used this month's {most:,} tokens",
            "Raise heartbeat.monthly_tokens, or wait for the next month",
        )
    else:
        return chosen
    with beats.changing(place) as known:
        if known.refused != str(error):
            known.refused = str(error)
            known.tell(News(f"{datetime.now():%Y-%m-%dT%H:%M}", failed=str(error)))
    raise error


def attempt(
    place: Workspace,
    purpose: "Purpose",
    ask: Callable[["Chat"], "Iterator[Event]"],
    most: int,
    *,
    no_daemon: bool = False,
) -> Outcome:
    """A turn in a session of its own, stopped once it has cost `most` tokens.

    Where the model answered nothing, nothing was done, and no session stays: it may be tried again
    (`waiting`). Whatever else goes wrong has failed for good.
    """
    from assistant.app.chat import open_chat
    from assistant.app.options import ChatOptions

    try:
        with open_chat(place, ChatOptions(purpose=purpose), no_daemon=no_daemon) as chat:
            outcome = _held(chat, ask, most)
    except AssistantError as error:
        return Outcome("failed", str(error))
    if outcome.state == "waiting":
        keeping.delete(place.sessions, outcome.session)
    return outcome


def _held(chat: "Chat", ask: Callable[["Chat"], "Iterator[Event]"], most: int) -> Outcome:
    from assistant import events

    talk, said, failed = chat.conversation, "", ""
    try:
        for event in ask(chat):
            match event:
                case events.StateChanged(events.State.THINKING) if _cost(chat) >= most:
                    talk.interruption.cancel()
                    failed = f"stopped: it had cost {_cost(chat):,} of {most:,} tokens"
                case events.TurnFinished(interrupted=True) if not failed:
                    raise KeyboardInterrupt  # Ctrl-C ends the turn, and all that was to follow
                case events.TurnFinished(reply):
                    said = reply
                case events.TurnFailed(message, cure):
                    failed = f"{message}. {cure}".rstrip()
    finally:
        with beats.changing(chat.place) as known:
            known.spend(_cost(chat))
    state: State = "failed" if failed else "silent" if says_nothing(said) else "done"
    if failed and not any(isinstance(each, AssistantEntry) for each in talk.transcript.entries):
        state, failed = "waiting", f"{failed} (it is tried again)"
    return Outcome(state, failed or said, _cost(chat), talk.transcript.session)


def _cost(chat: "Chat") -> int:
    used = chat.conversation.usage
    return used.input_tokens + used.output_tokens


def says_nothing(reply: str) -> bool:
    """Whether the whole of a reply says that there is nothing to tell."""
    return " ".join(re.sub(r"[\W_]+", " ", reply).split()).casefold() in SILENCE
