"""A conversation opened in a workspace: the owner's options and the settings become its objects."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from functools import partial
from pathlib import Path

from assistant import config
from assistant.agent.capture import book, ended
from assistant.agent.capture.extraction import origin_in_turn
from assistant.agent.interruption import Interruption
from assistant.agent.prompt import Section
from assistant.agent.recipe import BEAT, alone, parts
from assistant.app.options import ChatOptions
from assistant.conversation import NOTHING, Conversation
from assistant.delegation.subtasks import delegating_tool
from assistant.errors import SessionError, ToolError
from assistant.events import Event
from assistant.memory.base import Origin, Passage, Progress, no_progress
from assistant.memory.open import open_memory
from assistant.memory.protocol import Keeper
from assistant.messages import Given
from assistant.model import catalogue, select
from assistant.model.base import check_sight
from assistant.model.provider.litellm_model import warm_up
from assistant.secrets.current import redactor
from assistant.secrets.redactor import Redactor
from assistant.session import listing, transcript
from assistant.session.history import group
from assistant.session.transcript import Transcript
from assistant.settings import tree as settings
from assistant.settings.tree import Settings
from assistant.skills import loading
from assistant.skills.base import Skills
from assistant.tools.base import Tool
from assistant.tools.files.mentions import Mentions
from assistant.tools.files.roots import Roots
from assistant.tools.memory import VisibleMemory, memory_tools
from assistant.tools.outside import outside
from assistant.tools.owner import agenda_tool, asking_tool, reminding_tool, skill_tools
from assistant.tools.policy import ApproveAll, Approver, DenyAll, Policy
from assistant.tools.rules import DENIED
from assistant.tools.scratch import Scratch, scratch_tools
from assistant.tools.toolbox import LOADER, Toolbox
from assistant.upkeep import agenda, outbox
from assistant.upkeep.reminders import remind
from assistant.workspace import trust
from assistant.workspace.checkpoints import Checkpoints
from assistant.workspace.folder import HEARTBEAT_FILE, Workspace


@dataclass(slots=True)
class Chat:
    """An open conversation and what it stands on."""

    place: Workspace
    options: ChatOptions
    settings: Settings
    memory: Keeper
    conversation: Conversation
    opened: datetime = field(default_factory=lambda: datetime.now().astimezone())

    def send(self, text: str, given: Given = NOTHING) -> Iterator[Event]:
        """One turn, with what is given beside the message, and the files that it names by `@`.

        Raises UsageError if one of them cannot be read, or is a picture that the model cannot
        see, before anything is written down.
        """
        attached = {**given, **self.mentions.attached(text)}
        check_sight(self.conversation.model, attached)
        return self.conversation.send(text, attached)

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
        options = replace(self.options, resume=resume, latest=False)
        record = _open_session(self.place, options, trusted=before.trusted)
        after = _conversation(
            self.place,
            options,
            self.settings,
            self.memory,
            record,
            before.untold,
            trusted=before.trusted,
        )
        after.model, after.approver = before.model, before.approver
        self._close_session()
        self.conversation = after

    def preload(self) -> None:
        """Load what the first request needs, so that it leaves at once. For a thread of its own."""
        if self.settings.model.name or self.settings.profiles:
            warm_up()

    def close(self) -> None:
        """Let go of the session and of memory, and end what runs in the background."""
        self._close_session()
        self.memory.close()

    def _close_session(self) -> None:
        self.conversation.transcript.close()
        self.conversation.toolbox.close()
        if self.conversation.transcript.entries:
            self.conversation.begun()  # it can be read for facts now

    def __enter__(self) -> "Chat":
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()


def open_chat(
    workspace: Workspace,
    options: ChatOptions,
    *,
    approver: Approver | None = None,
    no_daemon: bool = False,
    progress: Progress = no_progress,
) -> Chat:
    """A conversation in a workspace, its session new or reopened.

    `approver` is asked about dangerous calls; without one they are denied, or with `options.yes`
    run.
    """
    trusted = trust.is_trusted(workspace)
    flags = {"model": {"name": options.model}} if options.model else None
    recipe = workspace.recipe if trusted else None
    raw = config.load(flags, recipe)
    chosen = settings.validate(raw, recipe)
    with ExitStack() as opened:
        record = _open_session(workspace, options, trusted=trusted)
        opened.callback(record.close)
        untold: list[str] = []
        memory = open_memory(
            workspace, raw, no_daemon=no_daemon, progress=progress, notify=untold.append
        )
        opened.callback(memory.close)
        conversation = _conversation(
            workspace, options, chosen, memory, record, untold, trusted=trusted
        )
        if approver is not None:
            conversation.approver = ApproveAll(approver) if options.yes else approver
        if not options.off_the_record and not options.purpose:
            conversation.untold += outbox.take_findings(workspace)
        opened.pop_all()
    return Chat(workspace, options, chosen, memory, conversation)


def _open_session(workspace: Workspace, options: ChatOptions, *, trusted: bool) -> Transcript:
    """The session to be held: new, reopened, or kept nowhere. Raises SessionError."""
    if options.off_the_record:
        return transcript.off_the_record()
    if not trusted and (options.latest or options.resume):
        raise SessionError(
            "the sessions of a workspace that is not trusted may be somebody else's",
            "Run `assistant trust` if it is yours, or begin a new one",
        )
    name = listing.latest(workspace.sessions) if options.latest else options.resume
    if options.latest and name is None:
        raise SessionError("there is no session to go on with", "Begin one with `assistant chat`")
    if name:
        return transcript.reopen(workspace.sessions, name)
    return transcript.create(workspace.sessions, options.purpose)


def _conversation(
    workspace: Workspace,
    options: ChatOptions,
    chosen: Settings,
    memory: Keeper,
    record: Transcript,
    untold: list[str],
    *,
    trusted: bool,
) -> Conversation:
    """The conversation, made as the settings say; `untold` is given what its owner should hear."""
    beats = options.purpose == "heartbeat"
    attended = trusted and not options.purpose and not record.off_the_record
    recipe = parts(chosen.context)
    steering = [file for part in recipe for file in part.files]
    further = loading.further(chosen.skills.folders)
    roots = Roots(workspace, options.directories, chosen.policy, further, steering, chosen.notes)
    skills = Skills()
    if trusted and not beats:
        skills = loading.load(workspace, chosen.skills.disabled, chosen.skills.folders)
    visible = VisibleMemory(memory, roots, (HEARTBEAT_FILE,) if beats else ())
    interruption, scratch, redact = Interruption(), Scratch(), redactor()
    checkpoints = Checkpoints(None if record.off_the_record else workspace.checkpoints)
    reach = outside(
        roots, redact, interruption.event, chosen, untold.append, checkpoints, trusted=trusted
    )
    tools = [
        *(memory_tools(visible, roots, origin_of=_origin(record, options)) if trusted else ()),
        *reach.tools,
        *scratch_tools(scratch),
        *(() if beats else (asking_tool(),)),
        *((agenda_tool(_agenda(memory, workspace, roots), agenda.DAYS),) if trusted else ()),
        *((reminding_tool(_reminding(workspace, roots, redact)),) if attended else ()),
        *skill_tools(skills),
    ]
    untold += [*_idle_rules(roots, tools), *skills.notices]
    reads = chosen.memory.capture == "always" and (chosen.model.name or chosen.profiles)
    conversation = Conversation(
        workspace=workspace,
        model=select.create(chosen),
        memory=visible,
        toolbox=Toolbox(
            tools,
            Policy(roots.rules),
            redact,
            off_the_record=options.off_the_record,
            closing=reach.close,
            interrupt=interruption.event,
        ),
        transcript=record,
        settings=chosen.context,
        approver=ApproveAll() if options.yes else DenyAll(),
        interruption=interruption,
        scratch=scratch,
        redactor=redact,
        skills=skills,
        max_rounds=chosen.model.max_rounds,
        trusted=trusted,
        captures=chosen.memory.capture != "never" and not options.purpose,
        whole=chosen.memory.whole,
        hidden=partial(roots.denies, "recall"),
        recipe=alone(BEAT) if beats else recipe,
        untold=untold,
        begun=partial(ended.begin, workspace) if attended and reads else lambda: None,
        daily=partial(_news, workspace, memory, options.news and trusted, attended),
        checkpoints=checkpoints,
    )
    conversation.toolbox.add(delegating_tool(conversation))
    return conversation


def _origin(record: Transcript, options: ChatOptions) -> Callable[[str], Origin]:
    """Who is behind a fact that the model writes; where nobody is there, it waits for the owner."""
    if options.purpose:
        return lambda _: Origin("tool", record.session)
    return lambda fact: origin_in_turn(fact, record.session, group(record.entries))


def _agenda(memory: Keeper, workspace: Workspace, roots: Roots) -> Callable[[int], str]:
    """What is due within so many days, by the files that the model may see."""

    def may_see(passage: Passage) -> bool:
        return not any(roots.denies(tool, passage.source) for tool in ("agenda", "recall"))

    return lambda days: agenda.listed(memory, workspace, date.today(), days, may_see)


def _reminding(workspace: Workspace, roots: Roots, redact: Redactor) -> Callable[[str, str], str]:
    """Writes a reminder down, and says so."""

    def write(when: str, what: str) -> str:
        if roots.denies("remind", HEARTBEAT_FILE):
            raise ToolError(DENIED)
        when, what = redact.redact(when), redact.redact(what)
        done = remind(workspace, when, datetime.now(), what, Origin("assistant"))
        return " ".join(filter(None, [done.said, done.note]))

    return write


def _news(
    workspace: Workspace, memory: Keeper, past: bool, attended: bool, today: date
) -> list[str]:
    """What was done in the `past`, while the owner was away, and what is due today; told once."""
    lines: list[str] = []
    if past:
        lines += outbox.take(workspace)
        lines += book.take_news(workspace, datetime.now().astimezone())
    if attended:
        lines += agenda.first_of_the_day(workspace, memory, today)
    return lines


def _idle_rules(roots: Roots, tools: Sequence[Tool]) -> list[str]:
    """What to tell the owner of rules that are about no tool: they do nothing."""
    later = ("recall", "search_sessions", "remember", "delegate", LOADER)
    names = [*(tool.name for tool in tools), *later]
    return [
        f"The rule {rule!r} in [policy] names no tool there is, so it does nothing"
        for rule in roots.rules.idle(names)
    ]
