"""The program from Python: `from assistant import Memory, Assistant`.

What is named in `__all__` of the package is public; everything else may change.
"""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from assistant import config
from assistant.errors import AssistantError, LedgerError, UsageError
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
    from assistant.memory.protocol import Keeper
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
"""Asked about a dangerous call; False leaves it undone."""
Attached = Mapping[str, str | bytes]
"""Texts and pictures, by their titles."""


class Memory:
    """The long-term memory of a workspace. Safe to use from several threads.

    `workspace` is its folder, else `ASSISTANT_WORKSPACE` or `~/.assistant/workspace`; with
    `create` one is made there if there is none. It goes over the workspace's daemon, which is
    started if need be, or without `daemon` in this process, which then owns the index until
    `close`. Raises WorkspaceError, ConfigError, DaemonError.
    """

    def __init__(
        self, workspace: Path | str | None = None, *, daemon: bool = True, create: bool = False
    ) -> None:
        self._place = _place(workspace, create=create)
        self._opened: Keeper | None = open_memory(self._place, config.load(), no_daemon=not daemon)

    @property
    def _keeper(self) -> "Keeper":
        if self._opened is None:
            raise _closed("memory")
        return self._opened

    @property
    def workspace(self) -> Path:
        """The folder."""
        return self._place.root

    def recall(
        self,
        query: str,
        *,
        k: int | None = None,
        budget: int | None = None,
        as_of: str | None = None,
        superseded: bool = False,
    ) -> Recall:
        """The best passages for a question, best first; iterate over them.

        At most `k`, in at most `budget` tokens, else as the settings say. `as_of` (ISO date) asks
        what was recorded by that day; `superseded` asks for facts that were replaced, too. Raises
        UsageError for what is no question, and fewer than one passage or token.
        """
        _check_text(query, "query")
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
        """Write a fact to MEMORY.md; it can be recalled when this returns.

        `replaces` names the fact it supersedes, as an id or `FILE:LINE`. With `review` it waits
        for the owner first; `origin` is who it comes from, for their records. A fact that
        certainly holds a secret is not written: its status is then `secret`. Raises UsageError for
        what is no text.
        """
        _check_text(fact, "fact")
        new = Fact(fact, section, replaces, Origin(origin), waits=review)
        return self._keeper.remember([new])[0]

    def remember_all(self, facts: Sequence[str]) -> tuple[Remembered, ...]:
        """Write several facts at once, in order."""
        for fact in facts:
            _check_text(fact, "fact")
        return self._keeper.remember([Fact(fact) for fact in facts])

    def forget(self, target: str) -> Forgotten:
        """Remove the one fact that has this id, stands at this `FILE:LINE`, or says just this.

        Raises LedgerError if there is none or more than one, naming what is like it.
        """
        found = self._keeper.locate(target)
        if found.exact and len(found.passages) == 1:
            return self._keeper.forget(found.passages)
        like = "; ".join(f"{passage.citation} {passage.text.strip()}" for passage in found.passages)
        said = f"no single fact is {target!r}"
        raise LedgerError(f"{said}, but there is {like}" if like else said, "Name one by FILE:LINE")

    def undo(self) -> JournalEntry:
        """Take back the latest write that still stands."""
        return self._keeper.undo()

    def log(self, limit: int = 20) -> tuple[JournalEntry, ...]:
        """The latest writes, newest first."""
        return self._keeper.log(limit)

    def waiting(self) -> tuple[Held, ...]:
        """The facts that wait for the owner's review."""
        return self._keeper.waiting()

    def review(self, id: str, *, accept: bool) -> Remembered | None:
        """Write a fact that waits, or drop it, which returns None."""
        return self._keeper.review(id, accept=accept)

    def status(self) -> MemoryStatus:
        """What is indexed, by which model, and who owns the index."""
        return self._keeper.status()

    def close(self) -> None:
        """Let go of the index, or of the connection; whatever is asked then raises UsageError."""
        opened, self._opened = self._opened, None
        if opened is not None:
            opened.close()

    def __enter__(self) -> "Memory":
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()


class Assistant:
    """A conversation with the assistant of a workspace. Safe to use from several threads.

    Its turns come one after another: a thread that asks while another's turn runs waits for it.
    `model` answers, else the configured one, else the offline responder. `resume` goes on with a
    session. `approve` is asked about dangerous calls; without it they are denied.
    `off_the_record` keeps nothing. Raises WorkspaceError, ConfigError, SessionError, DaemonError.
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

        place = _place(workspace, create=create)
        wish = ChatOptions(resume, off_the_record=off_the_record, model=model)
        approver = _Asked(approve) if approve else None
        self._chat: Chat = open_chat(place, wish, approver=approver, no_daemon=not daemon)
        self._turn = threading.Lock()
        self._speaker: int | None = None
        self._closed = False

    @property
    def session(self) -> str:
        """The id of the conversation, to `resume`."""
        return self._chat.conversation.transcript.session

    def send(self, message: str, attached: Attached | None = None) -> "Iterator[Event]":
        """One turn: its events as they come, the last of them TurnFinished or TurnFailed.

        `attached` are texts, and pictures as bytes, that go with the message, by their titles:
        data, not the owner's word. The events are those of `assistant.events`. To stop early, close
        the iterator. Raises UsageError for an empty message, bytes that are no picture, one that
        the model cannot see, or if this thread's turn still runs.
        """
        if self._speaker == threading.get_ident():
            raise UsageError("the last turn still runs", "Iterate it to its end, or close it")
        with self._turn:
            if self._closed:
                raise _closed("conversation")
            self._speaker = threading.get_ident()
            try:
                yield from self._chat.conversation.send(message, _given(attached or {}))
            finally:
                self._speaker = None

    def ask(self, message: str, attached: Attached | None = None) -> str:
        """One turn's reply. Raises AssistantError if there is none."""
        from assistant.events import TurnFailed, TurnFinished

        reply = ""
        for event in self.send(message, attached):
            match event:
                case TurnFailed(message=why, cure=cure):
                    raise AssistantError(why, cure)
                case TurnFinished(reply=reply):
                    pass
        return reply

    def cancel(self) -> None:
        """End the running turn, from any thread."""
        self._chat.conversation.interruption.cancel()

    def close(self) -> None:
        """Let go of the session and of memory, and end what runs in the background."""
        if not self._closed:
            self._closed = True
            self._chat.close()

    def __enter__(self) -> "Assistant":
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()


class _Asked:
    """The caller's function in the place of the owner at a terminal."""

    def __init__(self, approve: Approve) -> None:
        self._approve = approve

    def decide(self, request: "ApprovalRequested") -> "Decision":
        from assistant.tools.policy import Decision

        return Decision("once") if self._approve(request) else Decision("no", "it was not allowed")

    def answer(self, asked: "QuestionAsked") -> str | None:
        return None


def _closed(what: str) -> UsageError:
    return UsageError(f"this {what} is closed", "Open it again")


def _given(attached: Attached) -> "dict[str, str | Picture]":
    from assistant.model.pictures import picture_of

    given: dict[str, str | Picture] = {}
    for title, each in attached.items():
        picture = picture_of(each) if isinstance(each, bytes) else each
        if picture is None:
            raise UsageError(f"{title} is no picture", "Give texts as str, and pictures as bytes")
        given[title] = picture
    return given


def _place(workspace: Path | str | None, *, create: bool) -> folder.Workspace:
    root = None if workspace is None else Path(workspace).expanduser()
    if create:
        made = template.create(root or folder.default_root()).workspace
        trust.grant(made)
    return folder.find(root)


def _check_text(value: object, name: str) -> None:
    """Raise UsageError for what is no text: a mistake that nothing below would name."""
    if not isinstance(value, str):
        raise UsageError(f"the {name} is no text but {value!r}", "Give it as a string")
