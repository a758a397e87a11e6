"""The parts of a conversation, each made as the settings say, and joined."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import cached_property, partial

from assistant.agent.capture import book, ended
from assistant.agent.capture.extraction import origin_in_turn
from assistant.agent.interruption import Interruption
from assistant.agent.recipe import BEAT, alone, parts
from assistant.app.wish import ChatWish
from assistant.conversation import Conversation
from assistant.delegation.tool import delegating_tool
from assistant.errors import ToolError
from assistant.memory.base import Origin, Passage
from assistant.memory.protocol import Keeper
from assistant.model import select
from assistant.secrets.current import redactor
from assistant.secrets.redactor import Redactor
from assistant.session.history import group
from assistant.session.transcript import Transcript
from assistant.settings.tree import Settings
from assistant.skills import loading
from assistant.skills.base import Skills
from assistant.tools.ask import asking_tool
from assistant.tools.base import Tool
from assistant.tools.calendar import agenda_tool, reminding_tool
from assistant.tools.files.roots import Roots
from assistant.tools.memory import VisibleMemory, memory_tools
from assistant.tools.outside import outside
from assistant.tools.policy import ApproveAll, DenyAll, Policy
from assistant.tools.rules import DENIED
from assistant.tools.scratch import Scratch, scratch_tools
from assistant.tools.skills import skill_tools
from assistant.tools.toolbox import LOADER, Toolbox
from assistant.upkeep import agenda, outbox
from assistant.upkeep.reminders import remind
from assistant.workspace.checkpoints import Checkpoints
from assistant.workspace.folder import HEARTBEAT_FILE, Workspace


@dataclass(frozen=True)
class Parts:
    """What one conversation is made of; `untold` is given what its owner should hear of that."""

    place: Workspace
    wish: ChatWish
    settings: Settings
    kept: Keeper
    record: Transcript
    trusted: bool
    untold: list[str]
    interruption: Interruption = field(default_factory=Interruption)
    redactor: Redactor = field(default_factory=redactor)
    scratch: Scratch = field(default_factory=Scratch)

    def joined(self) -> Conversation:
        """The conversation."""
        chosen = self.settings
        conversation = Conversation(
            workspace=self.place,
            model=select.create(chosen),
            memory=self.memory,
            toolbox=self._toolbox(),
            transcript=self.record,
            settings=chosen.context,
            approver=ApproveAll() if self.wish.yes else DenyAll(),
            interruption=self.interruption,
            scratch=self.scratch,
            redactor=self.redactor,
            skills=self.skills,
            one_call=chosen.model.tool_calls == "one",
            max_rounds=chosen.model.max_rounds,
            trusted=self.trusted,
            captures=chosen.memory.capture != "never" and not self.wish.purpose,
            whole=chosen.memory.whole,
            hidden=partial(self.roots.denies, "recall"),
            recipe=alone(BEAT) if self.beats else parts(chosen.context),
            untold=self.untold,
            begun=self._listener(),
            daily=self._diary(),
            checkpoints=self.checkpoints,
        )
        conversation.toolbox.add(delegating_tool(conversation))
        return conversation

    @property
    def beats(self) -> bool:
        """Whether this is a task of the heartbeat."""
        return self.wish.purpose == "heartbeat"

    @property
    def attended(self) -> bool:
        """Whether its owner is there, and the workspace theirs."""
        return self.trusted and not self.wish.purpose and not self.record.off_the_record

    @cached_property
    def skills(self) -> Skills:
        """The skills that it may be brought; a task of the heartbeat has none."""
        if self.beats or not self.trusted:
            return Skills()
        return loading.load(self.place, self.settings.skills.disabled, self.settings.skills.folders)

    @cached_property
    def roots(self) -> Roots:
        """Where its tools may go."""
        chosen = self.settings
        steering = [file for part in parts(chosen.context) for file in part.files]
        further = loading.further(chosen.skills.folders)
        return Roots(
            self.place, self.wish.directories, chosen.policy, further, steering, self.settings.notes
        )

    @cached_property
    def checkpoints(self) -> Checkpoints:
        """What its turns change, as it was; off the record nothing is kept or changed."""
        return Checkpoints(None if self.record.off_the_record else self.place.checkpoints)

    @cached_property
    def memory(self) -> VisibleMemory:
        """What it may see of memory; a task of the heartbeat is in its prompt already."""
        return VisibleMemory(self.kept, self.roots, (HEARTBEAT_FILE,) if self.beats else ())

    def _toolbox(self) -> Toolbox:
        interrupt = self.interruption.event
        origin = partial(_unattended if self.wish.purpose else _origin, self.record)
        reach = outside(
            self.roots,
            self.redactor,
            interrupt,
            self.settings,
            self.untold.append,
            self.checkpoints,
            trusted=self.trusted,
        )
        tools = [
            *(memory_tools(self.memory, self.roots, origin_of=origin) if self.trusted else ()),
            *reach.tools,
            *scratch_tools(self.scratch),
            *(() if self.beats else (asking_tool(),)),
            *((agenda_tool(self._agenda, agenda.DAYS),) if self.trusted else ()),
            *((reminding_tool(self._remind),) if self.attended else ()),
            *skill_tools(self.skills),
        ]
        self.untold.extend([*_idle(self.roots, tools), *self.skills.notices])
        return Toolbox(
            tools,
            Policy(self.roots.rules),
            self.redactor,
            off_the_record=self.wish.off_the_record,
            closing=reach.close,
            interrupt=interrupt,
        )

    def _agenda(self, days: int) -> str:
        """What is due within so many days, by the files that it may see."""

        def may_see(passage: Passage) -> bool:
            denies = self.roots.denies
            return not denies("agenda", passage.source) and not denies("recall", passage.source)

        return agenda.listed(self.kept, date.today(), days, may_see)

    def _remind(self, when: str, what: str) -> str:
        """Write a reminder down; what there is to say of it."""
        if self.roots.denies("remind", HEARTBEAT_FILE):
            raise ToolError(DENIED)
        hidden = self.redactor.redact
        done = remind(self.place, hidden(when), datetime.now(), hidden(what), Origin("assistant"))
        return " ".join(filter(None, [done.said, done.note]))

    def _news(self) -> Iterator[str]:
        """What happened while its owner was away: beats, and past sessions read for facts."""
        if self.wish.news and self.trusted:
            yield from outbox.take(self.place)
            path = ended.book_path(self.place)
            yield from book.take_news(path, self.place.sessions, datetime.now().astimezone())

    def _diary(self) -> Callable[[date], Sequence[str]]:
        """What has happened, and what is due on a day, told once; off the record nothing is noted,
        so nothing is told."""
        if not self.attended:
            return lambda _: [*self._news()]
        return lambda day: [*self._news(), *agenda.first_of_the_day(self.place, self.kept, day)]

    def _listener(self) -> Callable[[], None]:
        """What has somebody wait for the end of this session, to read it for facts."""
        chosen = self.settings
        reads = chosen.memory.capture == "always" and (chosen.model.name or chosen.profiles)
        if not self.attended or not reads:
            return lambda: None
        return partial(ended.begin, self.place)


def _idle(roots: Roots, tools: Sequence[Tool]) -> list[str]:
    """What to tell the owner of rules that are about no tool: they hold nothing."""
    later = ("recall", "search_sessions", "remember", "delegate", LOADER)
    names = [*(each.name for each in tools), *later]
    return [
        f"The rule {rule!r} in [policy] names no tool there is, so it does nothing"
        for rule in roots.rules.idle(names)
    ]


def _origin(record: Transcript, fact: str) -> Origin:
    """Who is behind a fact that the model writes in the running turn."""
    return origin_in_turn(fact, record.session, group(record.entries))


def _unattended(record: Transcript, fact: str) -> Origin:
    """Where nobody is there, whatever the model writes waits for its owner."""
    return Origin("tool", record.session)
