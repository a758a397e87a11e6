"""A turn without its owner: run within their limits, and retried if no model answers."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from assistant.errors import AssistantError, ConfigError, WorkspaceError
from assistant.session import beats, keeping
from assistant.session.beats import News
from assistant.session.entries import AssistantEntry, Entry, InterruptedEntry
from assistant.session.history import last_turn
from assistant.workspace import trust
from assistant.workspace.folder import Workspace

if TYPE_CHECKING:
    from assistant.app.chat import Chat
    from assistant.app.options import Purpose
    from assistant.events import Event

SILENCE = frozenset({"", "nothing", "heartbeat ok", "no reply"})
"""Replies that report nothing, without punctuation."""
State = Literal["done", "silent", "skipped", "failed", "waiting"]
"""`waiting`: no model answered, and the turn is retried."""
RETRIED = " (it is retried)"
"""Suffix of the text of an outcome that is not final."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a turn: the reply or the failure, its tokens and its session."""

    state: State
    text: str = ""
    tokens: int = 0
    session: str = ""


def check_trust(workspace: Workspace) -> None:
    """Raise WorkspaceError if the workspace is not trusted."""
    if not trust.is_trusted(workspace):
        raise WorkspaceError(
            f"{workspace.root} is not trusted: tasks are not run, and events not answered",
            "Run `assistant trust` if it is yours",
        )


def check_limits(workspace: Workspace) -> None:
    """Raise ConfigError without a model or tokens, and report that to the owner once."""
    from assistant import config
    from assistant.model import select
    from assistant.settings import tree as settings  # not needed before a task is due

    recipe = workspace.recipe
    chosen = settings.validate(config.load(recipe=recipe), recipe)
    limit = chosen.heartbeat.monthly_tokens
    if not select.create(chosen).extracts:
        error = ConfigError(
            "a task or event is due, and no model is configured",
            "Connect one: `assistant config set model NAME`",
        )
    elif beats.load(workspace).spent >= limit:
        error = ConfigError(
            f"the heartbeat has used this month's {limit:,} tokens",
            "Raise heartbeat.monthly_tokens, or wait for the next month",
        )
    else:
        return
    with beats.changing(workspace) as state:
        if state.refused != str(error):
            state.refused = str(error)
            state.tell(News(f"{datetime.now():%Y-%m-%dT%H:%M}", failed=str(error)))
    raise error


def run_turn(
    workspace: Workspace,
    purpose: "Purpose",
    ask: Callable[["Chat"], "Iterator[Event]"],
    *,
    no_daemon: bool = False,
) -> Outcome:
    """Run a turn in a separate session, and stop it when it has used its tokens.

    If the model never answered, the session is deleted and the turn may be retried (`waiting`); any
    other failure is final. Raises KeyboardInterrupt at Ctrl-C.
    """
    from assistant import events
    from assistant.app.chat import open_chat
    from assistant.app.options import ChatOptions

    reply = failed = ""
    try:
        with open_chat(workspace, ChatOptions(purpose=purpose), no_daemon=no_daemon) as chat:
            talk = chat.conversation
            talk.max_tokens = chat.settings.heartbeat.tokens
            try:
                for event in ask(chat):
                    match event:
                        case events.TurnFinished(text, interrupted=interrupted):
                            if interrupted and _is_cut_off(talk.transcript.entries):
                                raise KeyboardInterrupt
                            reply = text
                        case events.TurnFailed(message, cure):
                            failed = f"{message}. {cure}".rstrip()
            finally:
                with beats.changing(workspace) as spending:
                    spending.spend(talk.usage.tokens)
            entries, session = talk.transcript.entries, talk.transcript.session
            cost = talk.usage.tokens
    except AssistantError as error:
        return Outcome("failed", str(error))
    if failed and not any(isinstance(entry, AssistantEntry) for entry in entries):
        keeping.delete(workspace.sessions, session)
        return Outcome("waiting", f"{failed}{RETRIED}", cost)
    state: State = "failed" if failed else "silent" if is_silent(reply) else "done"
    return Outcome(state, failed or reply, cost, session)


def _is_cut_off(entries: Sequence[Entry]) -> bool:
    """Return whether an interruption came before the end of the answer, not during a compaction
    after it."""
    turn = last_turn(entries)
    return turn is None or any(isinstance(entry, InterruptedEntry) for entry in turn.entries)


def is_silent(reply: str) -> bool:
    """Return whether a reply only says that there is nothing to report."""
    return " ".join(re.sub(r"[\W_]+", " ", reply).split()).casefold() in SILENCE
