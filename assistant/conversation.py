"""One turn through the whole cycle. Read this first.

`Conversation.send` is the flow of the program: the owner's message goes to the transcript, memory
is asked for what bears on it, the prompt is made, the agent loop runs to a reply, and when the
history has grown too long, its older turns become facts in memory and a summary. What is shown or
sent is an entry of the transcript first, so a conversation that was killed anywhere goes on from
its file (`resume`).
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from types import MappingProxyType

from assistant.agent import hearing
from assistant.agent.answering import Agent, Cancelled, Waits, notice
from assistant.agent.capture import Reading
from assistant.agent.interruption import Interruption
from assistant.agent.loop import run_turn
from assistant.agent.pacing import MAX_ROUNDS
from assistant.agent.prompt.assembly import Prompt
from assistant.agent.prompt.bootstrap import retire
from assistant.agent.prompt.context import Section
from assistant.agent.prompt.prefix import room
from assistant.agent.prompt.recipe import Part, parts
from assistant.agent.prompt.request import Requests
from assistant.agent.recalling import Recalling
from assistant.agent.room import Room
from assistant.agent.triggered import brought_in
from assistant.agent.undecided import undecided
from assistant.agent.withheld import withheld
from assistant.errors import AssistantError, ModelError, ModelFailure, StorageError, UsageError
from assistant.events import Event, State, StateChanged, TurnFailed, TurnFinished, TurnStarted
from assistant.memory.protocol import Memory
from assistant.messages import Given, Usage
from assistant.model.base import UNKNOWN_WINDOW, ChatModel, check_sight
from assistant.secrets.redactor import Redactor
from assistant.session.entries import AssistantEntry, Entry, UserEntry, usage_of
from assistant.session.history.turns import NO_REPLY, group, last_said, open_question, succeeded
from assistant.session.transcript import Transcript
from assistant.settings.prompt import ContextSettings
from assistant.skills.base import Skills
from assistant.tools.policy import Approver, DenyAll
from assistant.tools.scratch import Scratch
from assistant.tools.toolbox import Toolbox
from assistant.workspace.folder import Workspace

NOTHING: Given = MappingProxyType({})


@dataclass
class Conversation:
    """A session with the owner, off the record if its transcript is.

    `skills` are listed in the prompt, and come in when a message holds a trigger of theirs.
    `interruption` is shared with tools that run long. An untrusted workspace's files and memory
    stay out of the prompt. Without `captures` compaction takes no facts from what it leaves out.
    `untold` is what the owner should hear with the next turn; memory adds to it. `begun` is told
    of each message written down; `daily` has what is to be said once a day.
    """

    workspace: Workspace
    model: ChatModel
    memory: Memory
    toolbox: Toolbox
    transcript: Transcript
    settings: ContextSettings = field(default_factory=ContextSettings)
    approver: Approver = field(default_factory=DenyAll)
    interruption: Interruption = field(default_factory=Interruption)
    scratch: Scratch = field(default_factory=Scratch)
    redactor: Redactor = field(default_factory=Redactor)
    skills: Skills = field(default_factory=Skills)
    recipe: Sequence[Part] | None = None
    one_call: bool = False
    max_rounds: int = MAX_ROUNDS
    trusted: bool = True
    captures: bool = True
    untold: list[str] = field(default_factory=list)
    begun: Callable[[], None] = lambda: None
    daily: Callable[[date], Sequence[str]] = lambda _: ()
    clock: Callable[[], datetime] = lambda: datetime.now().astimezone()

    def __post_init__(self) -> None:
        self._begun_at = self.clock()
        self._is_new = True
        recipe = parts(self.settings) if self.recipe is None else self.recipe
        self._memory = _recalling(self, recipe)
        self._prompt = _prompt(self, recipe, lambda: self._begun_at)
        self._room = _room(self, self._prompt, self._memory)
        self.scratch.replay(succeeded(self.transcript.entries))

    def send(self, text: str, attached: Given = NOTHING) -> Iterator[Event]:
        """One turn: recall, context, the loop, and compaction if the history is full.

        `attached` is what comes with the message, by its title: data, which recall is not asked by.
        Raises UsageError for an empty message or a picture that the model cannot see, and
        StorageError if it cannot be written down; after that, all that goes wrong ends in
        `turn_failed`.
        """
        message = self.redactor.redact(text)
        if not message.strip():
            raise UsageError("the message is empty", "Write something")
        check_sight(self.model, attached)
        asked = hearing.heard(self.transcript, message)
        self.interruption.reset()
        self.untold += withheld(self.redactor.new_stand_ins(text))
        self.begun()
        hearing.attach(self.transcript, attached, self.redactor.redact)
        yield from self._turn(asked)

    def resume(self) -> Iterator[Event]:
        """Go on with a turn that was cut off by a crash; nothing if the last one is whole."""
        if self.unfinished:
            self.interruption.reset()
            yield from self._turn(group(self.transcript.entries)[-1].asked)

    def _turn(self, asked: UserEntry) -> Iterator[Event]:
        self._begun_at = self.clock()
        try:
            yield TurnStarted(self.transcript.session, asked.id)
            yield from hearing.attached(self.transcript)
            yield StateChanged(State.INITIALIZING)
            yield from self._notices()
            yield from brought_in(self.skills, self.transcript, self.model)
            yield from self._memory.turn(asked.text)
            self._prompt.keep(asked.id, self._memory.found, self.model, self.toolbox.specs())
            reply = yield from self._answer()
            yield StateChanged(State.FINALIZING)
            if self.trusted and (told := retire(self.workspace, self.transcript)):
                yield notice(self.transcript, told)
            yield from self._room.compact_if_full()
            yield StateChanged(State.DONE)
            yield TurnFinished(reply.text, usage_of(self._last_turn()))
        except Waits as waits:
            yield StateChanged(State.DONE)
            cost = usage_of(self._last_turn())
            yield TurnFinished(waits.question.rendered, cost, waiting=True)
        except (KeyboardInterrupt, Cancelled):
            self.transcript.settle("Interrupted by the owner")
            yield StateChanged(State.DONE)
            said, cost = last_said(self._last_turn()), usage_of(self._last_turn())
            yield TurnFinished(said, cost, interrupted=True)
        except GeneratorExit:
            self.transcript.settle("Interrupted by the owner")
            raise
        except AssistantError as error:
            message, cure = self.redactor.redact(error.message), self.redactor.redact(error.cure)
            if not isinstance(error, StorageError):  # then nothing can be written; `send` settles
                self.transcript.settle(f"{NO_REPLY}{message}")
            yield StateChanged(State.FAILED)
            yield TurnFailed(message, cure)

    # The prompt and the reply

    def preview(self, text: str = "", attached: Given = NOTHING) -> list[Section]:
        """What would be sent with this message, section by section; nothing is kept."""
        recall, specs = self._memory.preview(text), self.toolbox.specs()
        return self._prompt.preview(recall, self.model, specs, text, attached)

    def _answer(self) -> Generator[Event, None, AssistantEntry]:
        """Run the loop to the reply, making room as often as the request is too long."""
        self._room.begin()
        while True:
            try:
                reply = yield from run_turn(self._agent())
            except ModelError as error:
                if error.kind is not ModelFailure.OVERFLOW:
                    raise
                yield from self._room.make()
            else:
                self._room.learn(reply.usage)
                return reply

    def _agent(self) -> Agent:
        return Agent(
            self.model,
            self.requests.make,
            self.toolbox,
            self.transcript,
            self.approver,
            self.interruption,
            self.one_call,
            self.max_rounds,
            redact=self.redactor.redact,
        )

    @property
    def requests(self) -> Requests:
        """What makes this model's requests."""
        return self._room.requests

    def compact(self) -> Iterator[Event]:
        """Turn the older turns into facts in memory and a summary, now."""
        if not (yield from self._room.compact()):
            yield notice(self.transcript, "There is only one turn: nothing to compact")

    # What it has cost, and what it has to say

    @property
    def usage(self) -> Usage:
        """What the session has cost."""
        return usage_of(self.transcript.entries)

    @property
    def filled(self) -> tuple[int, int] | None:
        """Tokens of the latest request and its answer, and of the model's window; None before."""
        return self._room.filled

    @property
    def unfinished(self) -> bool:
        """Whether the last turn was cut off by a crash; `resume` goes on with it."""
        turns = group(self.transcript.entries)
        return bool(turns) and not turns[-1].finished

    @property
    def asks(self) -> bool:
        """Whether the last turn waits for an answer, which the next message is."""
        return open_question(self.transcript.entries) is not None

    def queue(self, text: str) -> None:
        """Say something that joins the running turn, from any thread, when what runs is through."""
        self.interruption.queue(self.redactor.redact(text))

    def hurry(self) -> None:
        """Stop what runs for what is queued, from any thread."""
        self.interruption.hurry()

    def late(self) -> str:
        """What was said into a turn that had already come to its end; it is the next message."""
        return "\n".join(self.interruption.take())

    def _notices(self) -> Iterator[Event]:
        """What had to be mended in the session and, once, what memory leaves to the owner."""
        untold = [*self.transcript.notices, *self.untold]
        self.transcript.notices.clear()
        self.untold.clear()
        untold += self.daily(self._begun_at.date())
        if self._is_new:
            untold += [*undecided(self.memory), *self._prompt.cuts()]
        self._is_new = False
        for text in untold:
            yield notice(self.transcript, text)

    def _last_turn(self) -> Sequence[Entry]:
        return group(self.transcript.entries)[-1].entries


def _recalling(talk: Conversation, recipe: Sequence[Part]) -> Recalling:
    return Recalling(
        talk.memory,
        talk.workspace,
        talk.transcript,
        talk.redactor.redact,
        talk.trusted,
        carried=any(part.name == "procedures" for part in recipe),
    )


def _prompt(talk: Conversation, recipe: Sequence[Part], now: Callable[[], datetime]) -> Prompt:
    return Prompt(
        talk.workspace,
        talk.transcript,
        talk.scratch,
        talk.redactor,
        talk.skills.index,
        talk.trusted,
        talk.settings.memory_at == "message",
        now,
        recipe,
        lambda: room(talk.model.context_window or UNKNOWN_WINDOW),
    )


def _room(talk: Conversation, prompt: Prompt, memory: Recalling) -> Room:
    return Room(
        talk.transcript,
        talk.toolbox,
        lambda: talk.settings,
        talk.captures,
        lambda: talk.model,
        lambda: prompt.system(memory.found, talk.model.name),
        lambda: prompt.briefing(memory.found, talk.model.name),
        lambda window: Reading(
            talk.transcript, talk.memory, talk.model, window, talk.redactor.redact, talk.trusted
        ),
    )
