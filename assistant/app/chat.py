"""Opens a conversation in a workspace: builds its objects from the owner's options and settings."""

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from assistant import config
from assistant.agent.capture import ended
from assistant.agent.capture.extraction import origin_in_turn
from assistant.agent.loop import Interruption
from assistant.agent.prompt import (
    Part,
    Section,
    recipe_of,
    unattended_recipe,
    with_identity,
    without_owner,
)
from assistant.app.options import ENDING, ChatOptions
from assistant.conversation import NOTHING, Conversation
from assistant.delegation.subtasks import delegating_tool
from assistant.errors import SessionError, ToolError
from assistant.events import Event
from assistant.memory.base import AGENDA_DAYS, Keeper, Origin, Passage, Progress, no_progress
from assistant.memory.open import open_memory
from assistant.messages import Given
from assistant.model import catalogue, select
from assistant.model.base import check_sight
from assistant.model.provider.litellm_model import warm_up
from assistant.secrets.redactor import Redactor
from assistant.secrets.registered import CurrentRedactor
from assistant.session import listing, transcript
from assistant.session.history import group
from assistant.session.transcript import Transcript
from assistant.settings import tree as settings
from assistant.settings.tree import Settings
from assistant.skills import loading
from assistant.skills.loading import Skills
from assistant.tools.base import Tool, ToolResult, tool
from assistant.tools.files.access import Roots
from assistant.tools.files.mentions import Mentions
from assistant.tools.memory import VisibleMemory, memory_tools
from assistant.tools.outside import outside
from assistant.tools.owner import asking_tool, skill_tools
from assistant.tools.policy import DENIED, ApproveAll, Approver, DenyAll, unknown_tools
from assistant.tools.scratch import Scratch, scratch_tools
from assistant.tools.toolbox import Hooks, Toolbox
from assistant.upkeep import outbox, reminders
from assistant.upkeep.agenda import MAX_DAYS, asked, listed, once_a_day, undecided
from assistant.workspace import trust
from assistant.workspace.checkpoints import Checkpoints
from assistant.workspace.folder import HEARTBEAT_FILE, Workspace, command_for

REMAINS = (
    "Off the record: this conversation is not stored here. What remains is what you let tools "
    "change, and what the model's provider keeps"
)


@dataclass(slots=True)
class Chat:
    """An open conversation with its workspace, settings and memory.

    If the workspace is not `trusted`, its files and memory stay out of prompts. `untold` are
    notices to show with the next turn.
    """

    workspace: Workspace
    options: ChatOptions
    settings: Settings
    memory: Keeper
    trusted: bool
    untold: list[str]
    conversation: Conversation = field(init=False)
    secrets: CurrentRedactor = field(default_factory=CurrentRedactor)
    opened: datetime = field(default_factory=lambda: datetime.now().astimezone())

    def send(self, text: str, given: Given = NOTHING) -> Iterator[Event]:
        """Run one turn with `given` attachments and the files that the message names with `@`.

        Raises UsageError, before anything is written, if an attachment cannot be read or is a
        picture that the model cannot see, and ConfigError if the registered secrets cannot be read.
        """
        self.secrets()  # another shell may have registered some since the last turn
        attached = {**given, **self.mentions.attached(text)}
        check_sight(self.conversation.model, attached)
        return self.conversation.send(text, attached)

    def preview(self, text: str, given: Given = NOTHING) -> list[Section]:
        """Return the sections that would be sent with this message."""
        return self.conversation.preview(text, {**given, **self.mentions.attached(text)})

    @property
    def mentions(self) -> Mentions:
        """A finder of the files that a message names."""
        return Mentions(self.workspace, self.settings.policy, Path.cwd())

    def use_model(self, name: str) -> list[str]:
        """Use another model from the next turn on; return warnings about its name.

        Raises ConfigError, changing nothing, if the provider of the model is unknown.
        """
        chosen = select.with_model(self.settings, name)
        own = any(profile.name == name for profile in self.settings.profiles)
        doubts = [] if own else catalogue.doubts(name, chosen.model.api_base)
        self.conversation.model = select.create(chosen)
        return doubts

    def switch(self, resume: str | None = None) -> None:
        """Switch to another session, or to a new one; memory, model and approver stay the same.

        Raises SessionError, and the errors of `begin`, changing nothing, if it cannot be opened.
        """
        old = self.conversation
        options = replace(self.options, resume=resume, latest=False)
        with ExitStack() as resources:
            record = _open_session(self.workspace, options, trusted=self.trusted)
            resources.callback(record.close)
            new = self.begin(record)
            resources.pop_all()
        new.model, new.approver = old.model, old.approver
        self._close_session()
        self.conversation = new

    def preload(self) -> None:
        """Import the modules of the first request, so that it starts at once; run it in a
        thread."""
        if self.settings.model.name or self.settings.profiles:
            warm_up()

    def close(self) -> None:
        """Release the session and memory, and end background processes."""
        self._close_session()
        self.memory.close()

    def _close_session(self) -> None:
        self.conversation.transcript.close()
        self.conversation.toolbox.close()
        if self.conversation.transcript.entries:
            self.conversation.begun()  # from now on facts can be extracted from it

    def __enter__(self) -> "Chat":
        """Let the signals that end the process stop a turn as Ctrl-C does, until the chat is
        closed: so undo knows what its running command has changed."""
        _handle_ending(signal.SIG_DFL, signal.default_int_handler)
        return self

    def __exit__(self, *exc_info: object) -> None:
        _handle_ending(signal.default_int_handler, signal.SIG_DFL)
        self.close()

    def begin(self, record: Transcript) -> Conversation:
        """Build the conversation of a session from the settings."""
        chosen, options, off_the_record = self.settings, self.options, record.off_the_record
        is_attended = self.trusted and not options.purpose and not off_the_record
        has_model = bool(chosen.model.name or chosen.profiles)
        reads = is_attended and has_model and chosen.memory.capture == "always"
        roots, skills, secrets = self._roots(), self._skills(), self.secrets()
        interruption, scratch = Interruption(), Scratch()
        checkpoints = Checkpoints(None if off_the_record else self.workspace.checkpoints)
        memory = VisibleMemory(self.memory, roots, (HEARTBEAT_FILE,) if self._is_heartbeat else ())
        others = outside(
            roots,
            secrets,
            interruption.event,
            chosen,
            checkpoints,
            trusted=self.trusted,
            off_the_record=off_the_record,
        )
        recalling = memory_tools(memory, roots, origin_of=self._origin_in(record))
        tools = [
            *(recalling if self.trusted else ()),
            *others.tools,
            *scratch_tools(scratch),
            *self._owner_tools(roots, secrets, is_attended),
            *skill_tools(skills),
        ]
        toolbox = Toolbox(
            tools,
            roots.rules,
            secrets,
            off_the_record=off_the_record,
            close=others.close,
            interrupt=interruption.event,
            hooks=Hooks(chosen.hooks, roots.directories, others.run_hook),
        )
        notices = [*others.notices, *unknown_tools(chosen.rules), *skills.notices]
        notices += [REMAINS] if off_the_record else []
        conversation = Conversation(
            workspace=self.workspace,
            model=select.create(chosen),
            memory=memory,
            toolbox=toolbox,
            transcript=record,
            settings=chosen.context,
            approver=ApproveAll() if options.yes else DenyAll(),
            interruption=interruption,
            scratch=scratch,
            redactor=secrets,
            skills=skills,
            recipe=self._recipe(),
            max_rounds=chosen.model.max_rounds,
            trusted=self.trusted,
            captures=chosen.memory.capture != "never" and not options.purpose,
            whole=chosen.memory.whole,
            hidden=partial(roots.denies, "recall"),
            untold=self.untold,
            begun=partial(ended.begin, self.workspace) if reads else lambda: None,
            daily=partial(self._daily_notices, notices, is_attended),
            due=partial(asked, self.memory, self.workspace, partial(_may_show_due, roots)),
            checkpoints=checkpoints,
        )
        toolbox.add(delegating_tool(conversation))
        return conversation

    @property
    def _is_heartbeat(self) -> bool:
        return self.options.purpose == "heartbeat"

    def _recipe(self) -> Sequence[Part]:
        """Return the parts of the prompt."""
        if self._is_heartbeat:
            return unattended_recipe()
        recipe = recipe_of(self.settings.context)
        if self.options.identity:
            recipe = with_identity(recipe, *self.options.identity)
        return without_owner(recipe) if self.options.purpose else recipe

    def _roots(self) -> Roots:
        chosen = self.settings
        return Roots(
            self.workspace,
            self.options.directories,
            chosen.policy,
            loading.further(chosen.skills.folders),
            [file for part in recipe_of(chosen.context) for file in part.files],
            chosen.notes,
        )

    def _skills(self) -> Skills:
        if not self.trusted:
            return Skills()
        chosen = self.settings.skills
        return loading.load(self.workspace, chosen.disabled, chosen.folders)

    def _origin_in(self, record: Transcript) -> Callable[[str], Origin]:
        """Return the origin of a fact that the model writes; unattended, the fact is a tool's."""
        if self.options.purpose:
            return lambda _: Origin("tool", record.session)
        return lambda fact: origin_in_turn(fact, record.session, group(record.entries))

    def _owner_tools(self, roots: Roots, redactor: Redactor, is_attended: bool) -> Iterator[Tool]:
        if not self.options.purpose:
            yield asking_tool()
        if self.trusted:
            yield _agenda_tool(self.memory, self.workspace, partial(_may_show_due, roots))
        if is_attended:
            yield _reminding_tool(self.workspace, roots, redactor)

    def _daily_notices(
        self, notices: Sequence[str], is_attended: bool, today: date, is_new: bool
    ) -> list[str]:
        """Return what happened while the owner was away, and what is due today, reporting each
        once.

        At the first turn of a conversation that `is_new`, add the `notices` of tools, rules and
        skills, and the items waiting for the owner; an attended conversation reports each at most
        once a day.
        """
        lines: list[str] = []
        if self.options.news and self.trusted:
            lines += outbox.take(self.workspace)
            lines += ended.take_news(self.workspace, self.memory, datetime.now().astimezone())
        waiting = notices if is_new else ()
        if not is_attended:  # only attended conversations record what was shown today
            return [*lines, *waiting]
        waiting = [*waiting, *undecided(self.memory)] if is_new else ()
        return [*lines, *once_a_day(self.workspace, self.memory, today, waiting)]


def open_chat(
    workspace: Workspace,
    options: ChatOptions,
    *,
    approver: Approver | None = None,
    no_daemon: bool = False,
    progress: Progress = no_progress,
) -> Chat:
    """Open a conversation in a workspace, with a new or a reopened session.

    `approver` decides about dangerous calls; without one they are denied, or run if `options.yes`.
    """
    trusted = trust.is_trusted(workspace)
    flags = {"model": {"name": options.model}} if options.model else None
    recipe = workspace.recipe if trusted else None
    raw = config.load(flags, recipe)
    chosen = settings.validate(raw, recipe)
    untold = settings.unknown_variables()
    with ExitStack() as resources:
        record = _open_session(workspace, options, trusted=trusted)
        resources.callback(record.close)
        memory = open_memory(
            workspace, raw, no_daemon=no_daemon, progress=progress, notify=untold.append
        )
        resources.callback(memory.close)
        chat = Chat(workspace, options, chosen, memory, trusted, untold)
        chat.conversation = chat.begin(record)
        if approver is not None:
            chat.conversation.approver = ApproveAll(approver) if options.yes else approver
        resources.pop_all()
    return chat


def _handle_ending(before: object, handler: Any) -> None:
    """Handle the signals that end the process in another way, where they are handled as `before`;
    only the main thread can."""
    if threading.current_thread() is threading.main_thread():
        for number in ENDING:
            if signal.getsignal(number) is before:
                signal.signal(number, handler)


def _may_show_due(roots: Roots, passage: Passage) -> bool:
    """Return whether a model may be shown what a passage says is due."""
    return not any(roots.denies(tool, passage.source) for tool in ("agenda", "recall"))


def _agenda_tool(memory: Keeper, workspace: Workspace, may_see: Callable[[Passage], bool]) -> Tool:
    """Return `agenda`, over the files that the model may see."""

    def agenda(
        days: Annotated[
            int, Field(ge=0, le=MAX_DAYS, description="How far to look ahead.")
        ] = AGENDA_DAYS,
    ) -> ToolResult:
        """List what is due: appointments, birthdays, deadlines, each day that memory speaks of."""
        return ToolResult(listed(memory, workspace, date.today(), days, may_see))

    return tool(agenda)


def _reminding_tool(workspace: Workspace, roots: Roots, redactor: Redactor) -> Tool:
    """Return `remind`, whose result confirms how the time was understood."""

    def remind(
        when: Annotated[
            str,
            Field(
                min_length=1,
                description="In words: in 20 minutes, tomorrow at 9, on 2026-11-27 at 18:40, "
                "every Friday at 9.",
            ),
        ],
        what: Annotated[str, Field(description="What to tell the owner then.")],
    ) -> ToolResult:
        """Remind the owner: `what` is told to them at that time, as it stands."""
        if roots.denies("remind", HEARTBEAT_FILE):
            raise ToolError(DENIED)
        when, what = redactor.redact(when), redactor.redact(what)
        reminder = reminders.remind(workspace, when, datetime.now(), what, Origin("assistant"))
        message = " ".join(filter(None, [reminder.confirmation, reminder.note]))
        return ToolResult(message, compact=message)

    return tool(remind, writes=True, restores=False)


def _open_session(workspace: Workspace, options: ChatOptions, *, trusted: bool) -> Transcript:
    """Open the session: a new one, an existing one, or one off the record. Raises SessionError."""
    if options.off_the_record:
        return transcript.off_the_record()
    if not trusted and (options.latest or options.resume):
        raise SessionError(
            "the sessions of an untrusted workspace may be someone else's",
            f"Run `{command_for(workspace.root)} trust` if it is yours, or start a new one",
        )
    session_id = listing.latest(workspace.sessions) if options.latest else options.resume
    if options.latest and session_id is None:
        raise SessionError("there is no session to continue", "Start one with `assistant chat`")
    if session_id:
        return transcript.reopen(workspace.sessions, session_id)
    return transcript.create(workspace.sessions, options.purpose)
