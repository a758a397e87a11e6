"""A conversation opened in a workspace, with all that it stands on."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from assistant import config
from assistant.agent.prompt import Section
from assistant.app.parts import Parts
from assistant.app.wish import ChatWish
from assistant.conversation import NOTHING, Conversation
from assistant.errors import SessionError
from assistant.events import Event
from assistant.memory.base import Progress, no_progress
from assistant.memory.open import open_memory
from assistant.memory.protocol import Keeper
from assistant.messages import Given
from assistant.model import catalogue, select
from assistant.model.base import check_sight
from assistant.model.provider.litellm_model import warm_up
from assistant.session import listing, transcript
from assistant.session.transcript import Transcript
from assistant.settings import tree as settings
from assistant.settings.tree import Settings
from assistant.tools.files.mentions import Mentions
from assistant.tools.policy import ApproveAll, Approver
from assistant.upkeep import findings
from assistant.workspace import trust
from assistant.workspace.folder import Workspace


@dataclass(slots=True)
class Chat:
    """An open conversation and what it stands on."""

    place: Workspace
    settings: Settings
    memory: Keeper
    conversation: Conversation
    wish: ChatWish
    opened: datetime = field(default_factory=lambda: datetime.now().astimezone())

    def send(self, text: str, given: Given = NOTHING) -> Iterator[Event]:
        """One turn, with what is given beside the message, and the files that it names by `@`.

        Raises UsageError if one of them cannot be read, or is a picture that the model cannot
        see, before anything is written down.
        """
        whole = {**given, **self.mentions.attached(text)}
        check_sight(self.conversation.model, whole)
        return self.conversation.send(text, whole)

    def preview(self, text: str, given: Given = NOTHING) -> list[Section]:
        """What would be sent with this message, section by section."""
        return self.conversation.preview(text, {**given, **self.mentions.attached(text)})

    @property
    def mentions(self) -> Mentions:
        """Finds the files that a message names."""
        return Mentions(self.place, self.settings.policy, Path.cwd())

    def use_model(self, name: str) -> list[str]:
        """Answer with another model from the next turn on; what may be wrong with its name.

        Raises ConfigError if nobody knows whom to ask for it, and then nothing has changed.
        """
        chosen = select.with_model(self.settings, name)
        own = any(profile.name == name for profile in self.settings.profiles)
        doubts = [] if own else catalogue.doubts(name, chosen.model.api_base)
        self.conversation.model = select.create(chosen)
        return doubts

    def switch(self, resume: str | None = None) -> None:
        """Go on with another session, or with a new one; memory, model and approver stay.

        Raises SessionError if that cannot be opened, and then nothing has changed.
        """
        before = self.conversation
        wish = replace(self.wish, resume=resume, latest=False)
        trusted = before.trusted
        record = _record(self.place, wish, trusted=trusted)
        after = Parts(
            self.place, wish, self.settings, self.memory, record, trusted, untold=before.untold
        ).joined()
        after.model, after.approver = before.model, before.approver
        before.transcript.close()
        before.toolbox.close()
        if before.transcript.entries:
            before.begun()
        self.conversation = after

    def preload(self) -> None:
        """Load what the first request needs, so that it leaves at once. For a thread of its own."""
        if self.settings.model.name or self.settings.profiles:
            warm_up()

    def close(self) -> None:
        """Let go of the session and of memory, and end what runs in the background."""
        self.conversation.toolbox.close()
        self.conversation.transcript.close()
        self.memory.close()
        if self.conversation.transcript.entries:
            self.conversation.begun()

    def __enter__(self) -> "Chat":
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()


def open_chat(
    place: Workspace,
    wish: ChatWish,
    *,
    approver: Approver | None = None,
    no_daemon: bool = False,
    progress: Progress = no_progress,
) -> Chat:
    """A conversation in a workspace, its session new or reopened.

    `approver` is asked about dangerous calls; without one they are denied, or with `wish.yes` run.
    """
    trusted = trust.is_trusted(place)
    flags = {"model": {"name": wish.model}} if wish.model else None
    recipe = place.recipe if trusted else None
    raw = config.load(flags, recipe)
    chosen = settings.validate(raw, recipe)
    with ExitStack() as opened:
        record = _record(place, wish, trusted=trusted)
        opened.callback(record.close)
        untold: list[str] = []
        memory = open_memory(
            place, raw, no_daemon=no_daemon, progress=progress, notify=untold.append
        )
        opened.callback(memory.close)
        conversation = Parts(place, wish, chosen, memory, record, trusted, untold).joined()
        if approver is not None:
            conversation.approver = ApproveAll(approver) if wish.yes else approver
        if not wish.off_the_record and not wish.purpose:
            conversation.untold += findings.take(place)
        opened.pop_all()
    return Chat(place, chosen, memory, conversation, wish)


def _record(place: Workspace, wish: ChatWish, *, trusted: bool) -> Transcript:
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
