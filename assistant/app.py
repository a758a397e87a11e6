"""The composition root: settings become objects here, and nowhere else."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import partial
from pathlib import Path
from typing import Literal

from assistant import afterwards, config
from assistant.agent.interruption import Interruption
from assistant.agent.prompt.context import Section
from assistant.agent.prompt.recipe import alone, parts
from assistant.agent.prompt.rules import BEAT
from assistant.conversation import NOTHING, Conversation
from assistant.delegation.tool import delegating_tool
from assistant.errors import SessionError
from assistant.events import Event
from assistant.memory.base import Origin, Progress, no_progress
from assistant.memory.door import open_memory
from assistant.memory.protocol import Keeper
from assistant.messages import Given, Message
from assistant.model import catalogue, select
from assistant.model.base import TextPiece, check_sight
from assistant.model.provider.litellm_library import warm_up
from assistant.outside import outside
from assistant.secrets.standing import redactor as redactor_of_all
from assistant.session import listing, transcript
from assistant.session.beats import take_news as beats_told
from assistant.session.history.turns import group
from assistant.session.reading import book
from assistant.session.reading.extraction import origin_in_turn
from assistant.session.transcript import Transcript
from assistant.settings import tree as settings
from assistant.settings.tree import Settings
from assistant.skills import loading as skills
from assistant.skills.base import Skills
from assistant.tools.asking import asking_tool
from assistant.tools.base import Tool
from assistant.tools.files.mentions import Mentions
from assistant.tools.files.roots import Roots
from assistant.tools.memory import VisibleMemory, memory_tools
from assistant.tools.policy import ApproveAll, Approver, DenyAll, Policy
from assistant.tools.scratch import Scratch, scratch_tools
from assistant.tools.skills import skill_tools
from assistant.tools.toolbox import LOADER, Toolbox
from assistant.upkeep import findings
from assistant.upkeep.agenda import first_of_the_day
from assistant.upkeep.quiz_by_model import questions
from assistant.upkeep.tidy import Judge
from assistant.upkeep.tidy_by_model import relations
from assistant.workspace import trust
from assistant.workspace.folder import HEARTBEAT_FILE, Workspace

Asker = Callable[[Sequence[str]], Sequence[str | None]]
"""Makes a question of each fact, or None."""


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


@dataclass(slots=True)
class Chat:
    """An open conversation and what it stands on."""

    place: Workspace
    settings: Settings
    memory: Keeper
    conversation: Conversation
    wish: ChatWish = ChatWish()

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
        wish = replace(self.wish, resume=resume, latest=False, news=False)
        record = _transcript(self.place, wish, trusted=before.trusted)
        after = _conversation(
            self.place, wish, self.settings, self.memory, record, [], trusted=before.trusted
        )
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
        record = _transcript(place, wish, trusted=trusted)
        opened.callback(record.close)
        untold: list[str] = []
        memory = open_memory(
            place, raw, no_daemon=no_daemon, progress=progress, notify=untold.append
        )
        opened.callback(memory.close)
        conversation = _conversation(place, wish, chosen, memory, record, untold, trusted=trusted)
        if approver is not None:
            conversation.approver = ApproveAll(approver) if wish.yes else approver
        if not wish.off_the_record and not wish.purpose:
            conversation.untold += findings.take(place)
        opened.pop_all()
    return Chat(place, chosen, memory, conversation, wish)


def try_model(name: str) -> str:
    """What a model says to a word if it is configured, asked once. Raises ModelError."""
    hasty = {"name": name, "retry_seconds": 0.0, "first_token_seconds": 60.0}
    chosen = settings.validate(config.load({"model": hasty}))
    model = select.create(chosen.model_copy(update={"profiles": ()}))
    pieces = model.stream([Message("user", "Say hello in one word.")])
    return "".join(each.text for each in pieces if isinstance(each, TextPiece)).strip()


def judge(place: Workspace) -> Judge | None:
    """Who says how facts relate: the configured model; None without one, or without trust."""
    chosen = settings.validate(config.load())
    model = select.create(chosen)
    if not model.extracts or not trust.is_trusted(place):
        return None
    return partial(relations, model, redact=redactor_of_all().redact)


def asker(place: Workspace, progress: Progress = no_progress) -> Asker | None:
    """Who makes questions of facts: the configured model; None without one, or without trust."""
    chosen = settings.validate(config.load())
    model = select.create(chosen)
    if not model.extracts or not trust.is_trusted(place):
        return None
    return partial(questions, model, redact=redactor_of_all().redact, progress=progress)


def _conversation(
    place: Workspace,
    wish: ChatWish,
    chosen: Settings,
    kept: Keeper,
    record: Transcript,
    untold: list[str],
    *,
    trusted: bool,
) -> Conversation:
    redactor, interruption, scratch = redactor_of_all(), Interruption(), Scratch()
    beats = wish.purpose == "heartbeat"
    known, folders = Skills(), chosen.skills.folders
    if trusted and not beats:
        known = skills.load(place, chosen.skills.disabled, folders)
    steering = [file for part in parts(chosen.context) for file in part.files]
    roots = Roots(place, wish.directories, chosen.policy, skills.further(folders), steering)
    memory = VisibleMemory(kept, roots, (HEARTBEAT_FILE,) if beats else ())
    origin = partial(_unattended if wish.purpose else _origin, record)
    reach = outside(roots, redactor, interruption.event, chosen, untold.append, trusted=trusted)
    tools = [
        *(memory_tools(memory, roots, origin_of=origin) if trusted else ()),
        *reach.tools,
        *scratch_tools(scratch),
        *(() if beats else (asking_tool(),)),
        *skill_tools(known),
    ]
    untold += [*_idle(roots, tools), *(_news(place) if wish.news and trusted else ())]
    untold += known.notices
    conversation = Conversation(
        workspace=place,
        model=select.create(chosen),
        memory=memory,
        toolbox=Toolbox(
            tools,
            Policy(roots.rules),
            redactor,
            off_the_record=wish.off_the_record,
            closing=reach.close,
            interrupt=interruption.event,
        ),
        transcript=record,
        settings=chosen.context,
        approver=ApproveAll() if wish.yes else DenyAll(),
        interruption=interruption,
        scratch=scratch,
        redactor=redactor,
        skills=known,
        one_call=chosen.model.tool_calls == "one",
        max_rounds=chosen.model.max_rounds,
        trusted=trusted,
        captures=chosen.memory.capture != "never" and not wish.purpose,
        recipe=alone(BEAT) if beats else parts(chosen.context),
        untold=untold,
        begun=_listener(place, chosen, record, trusted=trusted and not wish.purpose),
        daily=_diary(place, kept, record, trusted=trusted and not wish.purpose),
    )
    conversation.toolbox.add(delegating_tool(conversation, chosen.delegation))
    return conversation


def _news(place: Workspace) -> Iterator[str]:
    """What happened while its owner was away: beats, and past sessions read for facts."""
    yield from beats_told(place)
    yield from book.take_news(afterwards.book_path(place), datetime.now().astimezone())


def _idle(roots: Roots, tools: Sequence[Tool]) -> list[str]:
    """What to tell the owner of rules that are about no tool: they hold nothing."""
    later = ("recall", "search_sessions", "remember", "delegate", LOADER)
    names = [*(each.name for each in tools), *later]
    return [
        f"The rule {rule!r} in [policy] names no tool there is, so it does nothing"
        for rule in roots.rules.idle(names)
    ]


def _diary(
    place: Workspace, memory: Keeper, record: Transcript, *, trusted: bool
) -> Callable[[date], Sequence[str]]:
    """What is due on a day, told once; off the record nothing is noted, so nothing is told."""
    if record.off_the_record or not trusted:
        return lambda _: ()
    return partial(first_of_the_day, place, memory)


def _listener(
    place: Workspace, chosen: Settings, record: Transcript, *, trusted: bool
) -> Callable[[], None]:
    """What has somebody wait for the end of this session, to read it for facts."""
    reads = chosen.memory.capture == "always" and (chosen.model.name or chosen.profiles)
    if record.off_the_record or not trusted or not reads:
        return lambda: None
    return partial(afterwards.begin, place)


def _origin(record: Transcript, fact: str) -> Origin:
    """Who is behind a fact that the model writes in the running turn."""
    return origin_in_turn(fact, record.session, group(record.entries))


def _unattended(record: Transcript, fact: str) -> Origin:
    """Where nobody is there, whatever the model writes waits for its owner."""
    return Origin("tool", record.session)


def _transcript(place: Workspace, wish: ChatWish, *, trusted: bool) -> Transcript:
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
