"""The Python API: `from assistant import Memory, Assistant`.

The names in `__all__` of the package are public; everything else may change.
"""

import json
import threading
from collections.abc import Callable, Generator, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assistant import config
from assistant.disk import storage
from assistant.errors import AssistantError, UsageError
from assistant.memory.base import (
    Fact,
    Forgotten,
    Held,
    JournalEntry,
    MemoryStatus,
    Origin,
    Passage,
    Query,
    Recall,
    Remembered,
)
from assistant.memory.open import open_memory
from assistant.workspace import folder, template, trust

if TYPE_CHECKING:
    from assistant.app.chat import Chat
    from assistant.events import ApprovalRequested, Event, QuestionAsked
    from assistant.memory.base import Keeper
    from assistant.messages import Picture
    from assistant.tools.policy import Decision

__all__ = [
    "Assistant",
    "AssistantError",
    "Forgotten",
    "Held",
    "JournalEntry",
    "Memory",
    "MemoryStatus",
    "Passage",
    "Recall",
    "Remembered",
]

Approve = Callable[["ApprovalRequested"], bool]
"""Decides about a dangerous call: True runs it, False does not."""
Attached = Mapping[str, str | bytes]
"""Maps titles to texts and pictures (bytes)."""


class Memory:
    """The long-term memory of a workspace. Safe to use from several threads.

    `workspace` is a folder; the default is `ASSISTANT_WORKSPACE` or `~/.assistant/workspace`. With
    `create` the workspace is created if there is none. Requests go to the workspace's daemon, which
    is started if needed; with `daemon=False` they run in this process, which then owns the index
    until `close`. Raises WorkspaceError, ConfigError, DaemonError.
    """

    def __init__(
        self, workspace: Path | str | None = None, *, daemon: bool = True, create: bool = False
    ) -> None:
        _check_types(bool, daemon=daemon, create=create)
        self._workspace = _find_workspace(workspace, create=create)
        self._open_keeper: Keeper | None = open_memory(
            self._workspace, config.load(), no_daemon=not daemon
        )

    @property
    def _keeper(self) -> "Keeper":
        if self._open_keeper is None:
            raise _closed_error("memory")
        return self._open_keeper

    @property
    def workspace(self) -> Path:
        """The workspace's folder."""
        return self._workspace.root

    def recall(
        self,
        query: str,
        *,
        k: int | None = None,
        budget: int | None = None,
        as_of: str | None = None,
        superseded: bool = False,
    ) -> Recall:
        """Return the best passages for a question, best first; iterate over the result.

        Returns at most `k` passages, of at most `budget` tokens; the defaults are in the
        settings. `as_of` (ISO date) considers only what was recorded by that day; `superseded`
        includes facts that were replaced. Raises UsageError if `k` or `budget` is less than 1.
        """
        _check_types(str, query=query)
        _check_types(str, True, as_of=as_of)
        _check_types(int, True, k=k, budget=budget)
        _check_types(bool, superseded=superseded)
        for name, value in (("k", k), ("budget", budget)):
            if value is not None and value < 1:
                raise UsageError(f"{name} is {value}", f"Ask for {name}=1 at least")
        return self._keeper.recall(Query(query, k, budget, as_of, superseded))

    def remember(
        self,
        fact: str,
        *,
        section: str = "Remembered",
        replaces: str | None = None,
        origin: str = "owner",
        review: bool = False,
    ) -> Remembered:
        """Write a fact to MEMORY.md; it can be recalled as soon as this returns.

        `replaces` is the fact it supersedes, as an id or `FILE:LINE`. `origin` records who stated
        it. With `review` it waits for the owner's review first. A fact that certainly contains a
        secret is not written, and its status is `secret`.
        """
        _check_types(str, fact=fact, section=section, origin=origin)
        _check_types(str, True, replaces=replaces)
        _check_types(bool, review=review)
        kind = origin.encode("utf-8", "replace").decode()  # the journal holds no lone surrogates
        new = Fact(fact, section, replaces, Origin(kind), waits=review)
        return self._keeper.remember([new])[0]

    def remember_all(self, facts: Iterable[str]) -> tuple[Remembered, ...]:
        """Write several facts at once, in order."""
        if isinstance(facts, str) or not isinstance(facts, Iterable):
            raise UsageError(f"facts is {facts!r:.80}", "Give it as a list of strings")
        new = list(facts)
        for fact in new:
            _check_types(str, fact=fact)
        return self._keeper.remember([Fact(fact) for fact in new])

    def forget(self, target: str) -> Forgotten:
        """Remove the one fact with this id, at this `FILE:LINE`, or with exactly this text.

        Raises LedgerError, which names similar facts, if none or several match.
        """
        _check_types(str, target=target)
        return self._keeper.forget([self._keeper.locate(target).one(target)])

    def undo(self) -> tuple[JournalEntry, ...]:
        """Undo the latest write that has not been undone yet, and the writes that belong to it."""
        return self._keeper.undo()

    def log(self, limit: int = 20) -> tuple[JournalEntry, ...]:
        """Return the latest writes, newest first."""
        _check_types(int, limit=limit)
        if limit < 0:
            raise UsageError(f"limit is {limit}", "Ask for limit=0 at least")
        return self._keeper.log(limit)

    def waiting(self) -> tuple[Held, ...]:
        """Return the facts that wait for the owner's review."""
        return self._keeper.waiting()

    def review(self, id: str, *, accept: bool) -> Remembered | None:
        """Accept a waiting fact and write it, or drop it and return None."""
        _check_types(str, id=id)
        _check_types(bool, accept=accept)
        return self._keeper.review(id, accept=accept)

    def status(self) -> MemoryStatus:
        """Return what is indexed, by which model, and which process owns the index."""
        return self._keeper.status()

    def close(self) -> None:
        """Release the index or the connection; any later call raises UsageError."""
        keeper, self._open_keeper = self._open_keeper, None
        if keeper is not None:
            keeper.close()

    def __enter__(self) -> "Memory":
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()


class Assistant:
    """A conversation with the assistant of a workspace. Safe to use from several threads.

    Turns run one at a time: a thread waits while another thread's turn is running. `model`
    defaults to the configured one, or else the offline responder. `resume` is the id of a session
    to continue. `approve` decides about dangerous calls; without it they are denied. With
    `off_the_record` nothing is saved.

    Raises WorkspaceError, ConfigError, SessionError, DaemonError.
    """

    def __init__(
        self,
        workspace: Path | str | None = None,
        *,
        model: str | None = None,
        resume: str | None = None,
        approve: Approve | None = None,
        off_the_record: bool = False,
        daemon: bool = True,
        create: bool = False,
    ) -> None:
        from assistant.app.chat import open_chat  # the agent and its tools
        from assistant.app.options import ChatOptions

        _check_types(str, True, model=model, resume=resume)
        _check_types(bool, off_the_record=off_the_record, daemon=daemon, create=create)
        if not (approve is None or callable(approve)):
            raise UsageError(f"approve is {approve!r:.80}", "Give it as a function of the request")
        target = _find_workspace(workspace, create=create)
        options = ChatOptions(resume, off_the_record=off_the_record, model=model)
        approver = _CallbackApprover(approve) if approve is not None else None
        self._chat: Chat = open_chat(target, options, approver=approver, no_daemon=not daemon)
        self._turn = threading.Lock()
        self._speaker: int | None = None
        self._closed = False

    @property
    def session(self) -> str:
        """The id of the conversation, to `resume`."""
        return self._chat.conversation.transcript.session

    def send(
        self, message: str, attached: Attached | None = None
    ) -> "Generator[Event, None, None]":
        """Run one turn and yield its events; the last is TurnFinished or TurnFailed.

        `attached` maps titles to texts and pictures (bytes) that go with the message: data, not the
        owner's own words. The events are defined in `assistant.events`. To stop early, close the
        iterator. Raises UsageError for an empty message, for bytes that are not a picture, for a
        picture that the model cannot see, and while a turn of this thread is still running.
        """
        _check_types(str, message=message)
        if self._speaker == threading.get_ident():
            raise UsageError("the last turn is still running", "Iterate it to its end, or close it")
        with self._turn:
            if self._closed:
                raise _closed_error("conversation")
            self._speaker = threading.get_ident()
            try:
                yield from self._chat.conversation.send(message, _with_pictures(attached or {}))
            finally:
                self._speaker = None

    def ask(self, message: str, attached: Attached | None = None) -> str:
        """Run one turn and return its reply. Raises AssistantError if the turn fails."""
        from assistant.events import TurnFailed, TurnFinished

        reply = ""
        for event in self.send(message, attached):
            match event:
                case TurnFailed(message=reason, cure=cure):
                    raise AssistantError(reason, cure)
                case TurnFinished(reply=reply):
                    pass
        return reply

    @property
    def history(self) -> list[dict[str, Any]]:
        """The entries of the conversation, oldest first, as `sessions show --json` prints them."""
        from assistant.session.entries import encode

        return [json.loads(encode(entry)) for entry in self._chat.conversation.transcript.entries]

    def cancel(self) -> None:
        """End the running turn, from any thread."""
        self._chat.conversation.interruption.cancel()

    def close(self) -> None:
        """Release the session and memory, and end background processes."""
        if not self._closed:
            self._closed = True
            self._chat.close()

    def __enter__(self) -> "Assistant":
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()


class _CallbackApprover:
    """Calls the caller's function to decide; leaves the model's questions unanswered."""

    def __init__(self, approve: Approve) -> None:
        self._approve = approve

    def decide(self, request: "ApprovalRequested") -> "Decision":
        from assistant.tools.policy import Decision

        if self._approve(request) is True:  # a text such as "no" would be truthy
            return Decision("once")
        return Decision("no", "it was not allowed")

    def answer(self, asked: "QuestionAsked") -> str | None:
        return None


def _closed_error(what: str) -> UsageError:
    return UsageError(f"this {what} is closed", "Open it again")


def _with_pictures(attached: Attached) -> "dict[str, str | Picture]":
    from assistant.messages import Picture
    from assistant.model.pictures import picture_of

    if not isinstance(attached, Mapping):
        raise UsageError(f"attached is {attached!r:.80}", "Give it as a dict of titles")
    converted: dict[str, str | Picture] = {}
    for title, content in attached.items():
        _check_types(str, title=title)
        picture = picture_of(content) if isinstance(content, bytes) else content
        if not isinstance(picture, str | Picture):
            raise UsageError(
                f"{title} is not a picture", "Give texts as str, and pictures as bytes"
            )
        converted[title] = picture
    return converted


def _find_workspace(workspace: Path | str | None, *, create: bool) -> folder.Workspace:
    if not isinstance(workspace, Path | str | None):
        raise UsageError(f"workspace is {workspace!r:.80}", "Give it as a string or a Path")
    root = None if workspace is None else storage.expanded(workspace)
    if create:
        try:
            created = template.create(root or folder.default_root()).workspace
        except ValueError as error:  # a null character, or one that cannot be encoded
            raise UsageError(f"workspace is {workspace!r:.80}", "Give a valid path") from error
        trust.grant(created)
    return folder.find(root)


_TYPES = {str: "a string", int: "a whole number", bool: "True or False"}


def _check_types(kind: type, optional: bool = False, /, **values: object) -> None:
    """Raise UsageError unless each value is of type `kind`, or None if `optional`; no later check
    would name the mistake."""
    for name, value in values.items():
        fits = isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
        if not fits and not (optional and value is None):
            raise UsageError(f"{name} is {value!r:.80}", f"Give it as {_TYPES[kind]}")
