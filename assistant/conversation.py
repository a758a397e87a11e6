"""One turn through the whole cycle. Read this first.

`Conversation.send` is the flow of the program: the owner's message goes to the transcript, memory
is asked for what bears on it, the prompt is made, the agent loop runs to a reply, and when the
history has grown too long, its older turns become facts in memory and a summary. What is shown or
sent is an entry of the transcript first, so a conversation that was killed anywhere goes on from
its file (`resume`).
"""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from types import MappingProxyType

from assistant.agent.answering import Agent, Cancelled, notice
from assistant.agent.capture import Reading
from assistant.agent.compact import Compaction, compact
from assistant.agent.context import (
    Section,
    briefing,
    read_clean,
    stable_sections,
    system_messages,
    turn_sections,
)
from assistant.agent.interruption import Interruption
from assistant.agent.loop import run_turn
from assistant.agent.pacing import MAX_ROUNDS
from assistant.agent.procedures import PLACES, PROCEDURES, whole
from assistant.agent.request import Requests, shown_messages
from assistant.agent.undecided import undecided
from assistant.agent.window import Window
from assistant.agent.withheld import withheld
from assistant.errors import (
    AssistantError,
    MemoryFailure,
    ModelError,
    ModelFailure,
    StorageError,
    UsageError,
)
from assistant.events import (
    Event,
    Recalled,
    State,
    StateChanged,
    TurnFailed,
    TurnFinished,
    TurnStarted,
)
from assistant.memory.base import Query, Recall
from assistant.memory.protocol import Memory
from assistant.messages import Message, Usage
from assistant.model.base import ChatModel
from assistant.model.smalltalk import small_talk
from assistant.secrets.redactor import Redactor
from assistant.session.entries import (
    AssistantEntry,
    AttachmentEntry,
    CitedPassage,
    Entry,
    RecalledEntry,
    UserEntry,
    usage_of,
)
from assistant.session.transcript import Transcript
from assistant.session.turns import group, history, shown_attachment, succeeded
from assistant.settings import ContextSettings
from assistant.tools.policy import Approver, DenyAll
from assistant.tools.scratch import Scratch
from assistant.tools.toolbox import Toolbox
from assistant.workspace import Workspace

OVERFLOWS = 6
"""How often one turn makes room after the request was found too long."""
NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass
class Conversation:
    """A session with the owner, off the record if its transcript is.

    `skills` is the prompt's index of skills. `interruption` is shared with tools that run long.
    An untrusted workspace's files and memory stay out of the prompt. Without `captures` compaction
    takes no facts from what it leaves out. `untold` is what the owner
    should hear with the next turn; memory adds to it. `begun` is told of each message
    written down.
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
    skills: str = ""
    one_call: bool = False
    max_rounds: int = MAX_ROUNDS
    trusted: bool = True
    captures: bool = True
    untold: list[str] = field(default_factory=list)
    begun: Callable[[], None] = lambda: None
    clock: Callable[[], datetime] = lambda: datetime.now().astimezone()

    def __post_init__(self) -> None:
        self._found: Recall | None = None
        self._begun_at = self.clock()
        self._is_new = True
        self._requests: dict[str, Requests] = {}
        self._made_room = False
        self.scratch.replay(succeeded(self.transcript.entries))

    # One turn

    def send(self, text: str, attached: Mapping[str, str] = NOTHING) -> Iterator[Event]:
        """One turn: recall, context, the loop, and compaction if the history is full.

        `attached` is what comes with the message, by its title: data, which recall is not asked by.
        Raises UsageError for an empty message and StorageError if it cannot be written down;
        after that, all that goes wrong ends in `turn_failed`.
        """
        message = self.redactor.redact(text)
        if not message.strip():
            raise UsageError("the message is empty", "Write something")
        self.transcript.settle("The session ended before this turn did")
        self.interruption.reset()
        self.untold += withheld(self.redactor.found(text))
        asked = self.transcript.append(UserEntry(message))
        self.begun()
        for title, given in attached.items():
            self.transcript.append(AttachmentEntry(title, self.redactor.redact(given)))
        yield from self._turn(asked)

    def resume(self) -> Iterator[Event]:
        """Go on with a turn that was cut off by a crash; nothing if the last one is whole."""
        turns = group(self.transcript.entries)
        if turns and not turns[-1].finished:
            asked = turns[-1].entries[0]
            assert isinstance(asked, UserEntry)
            self.interruption.reset()
            yield from self._turn(asked)

    def _turn(self, asked: UserEntry) -> Iterator[Event]:
        self._begun_at = self.clock()
        try:
            yield TurnStarted(self.transcript.session, asked.id)
            yield StateChanged(State.INITIALIZING)
            yield from self._notices()
            yield from self._recall(asked.text)
            reply = yield from self._answer()
            yield StateChanged(State.FINALIZING)
            yield from self._compact_if_full()
            yield StateChanged(State.DONE)
            yield TurnFinished(reply.text, usage_of(self._last_turn()))
        except (KeyboardInterrupt, Cancelled):
            yield from self._interrupted()
        except GeneratorExit:
            self.transcript.settle("Interrupted by the owner")
            raise
        except AssistantError as error:
            message, cure = self.redactor.redact(error.message), self.redactor.redact(error.cure)
            if not isinstance(error, StorageError):  # then nothing can be written; `send` settles
                self.transcript.settle(f"No reply: {message}")
            yield StateChanged(State.FAILED)
            yield TurnFailed(message, cure)

    def _interrupted(self) -> Iterator[Event]:
        self.transcript.settle("Interrupted by the owner")
        said = [e.text for e in self._last_turn() if isinstance(e, AssistantEntry)]
        yield StateChanged(State.DONE)
        yield TurnFinished(said[-1] if said else "", usage_of(self._last_turn()), interrupted=True)

    # Recall

    def _recall(self, text: str) -> Iterator[Event]:
        """Ask memory what bears on the message; a failure is told, and the turn goes on."""
        self._found = None
        if not self.trusted:
            yield notice(
                self.transcript, "This workspace is not trusted yet: run `assistant trust`"
            )
            return
        try:
            found = self._recalled(text)
        except MemoryFailure as error:
            yield notice(self.transcript, f"Memory could not be asked: {error}")
            return
        self._found = found
        passages = tuple(
            CitedPassage(each.id, each.citation, self.redactor.redact(each.text), each.date)
            for each in found.passages
        )
        self.transcript.append(RecalledEntry(passages, found.tokens, found.abstained))
        yield Recalled(tuple(each.citation for each in passages), found.tokens, found.abstained)

    def _recalled(self, text: str) -> Recall:
        """What bears on a message; small talk costs no passages, whatever resembles it."""
        if small_talk(text):
            return Recall(text, 0, (), abstained=True)
        return self.memory.recall(self._asking(text))

    def _asking(self, text: str) -> Query:
        """What memory is asked with a message, which may lean on the one before."""
        said = [
            entry.text
            for entry in self.transcript.entries
            if isinstance(entry, UserEntry) and entry.text != text
        ]
        before = said[-1] if said else ""
        if whole(read_clean(self.workspace, PROCEDURES)):
            return Query(text, before=before, without=(PROCEDURES,))
        return Query(text, before=before, own=(PROCEDURES, PLACES))

    # The prompt and the reply

    def sections(self, recall: Recall | None) -> list[Section]:
        """The system prompt, section by section, with what was recalled."""
        return [
            *stable_sections(
                self.workspace,
                skills=self.skills,
                off_the_record=self.transcript.off_the_record,
                trusted=self.trusted,
                briefed=self._briefs,
            ),
            *turn_sections(
                recall,
                working_memory=self.scratch.render(),
                now=self._begun_at,
                place=self.workspace,
                model=self.model.name,
            ),
        ]

    def preview(self, text: str = "", attached: Mapping[str, str] = NOTHING) -> list[Section]:
        """What would be sent with this message, section by section; nothing is kept."""
        ask = self.trusted and text
        recall = self._recalled(text) if ask else Recall(text, 0, ())
        said = shown_messages(history(self.transcript.entries))
        specs = self.toolbox.specs()
        parts = {
            "Tools": "\n".join(f"- {each.name}: {each.description}" for each in specs),
            "History": "\n\n".join(f"{each.role}: {each.content}" for each in said),
            "Message": text,
            **{title: shown_attachment(title, given) for title, given in attached.items()},
        }
        said_last = {"Message", *attached}
        before = [Section(name, text) for name, text in parts.items() if name not in said_last]
        after = [Section(name, text) for name, text in parts.items() if name in said_last]
        stable = [each for each in self.sections(recall) if each.stable]
        turn = [each for each in self.sections(recall) if not each.stable]
        ordered = [*before, *turn, *after] if self._briefs else [*turn, *before, *after]
        sections = [*stable, *(each for each in ordered if each.text)]
        return [replace(each, text=self.redactor.redact(each.text)) for each in sections]

    def _answer(self) -> Generator[Event, None, AssistantEntry]:
        """Run the loop to the reply, making room as often as the request is too long."""
        self._made_room = False
        for _ in range(OVERFLOWS):
            try:
                reply = yield from run_turn(self._agent())
            except ModelError as error:
                if error.kind is not ModelFailure.OVERFLOW:
                    raise
                yield from self._make_room()
            else:
                self._learn(reply.usage)
                return reply
        raise ModelError(
            "the model finds every request too long",
            "Set its true window: `assistant config set model.context_window TOKENS`",
            kind=ModelFailure.OVERFLOW,
        )

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
        """What makes this model's requests; it remembers what the provider said of their size."""
        known = self._requests.get(self.model.name)
        if known is None:
            window = Window(self.model.context_window, self.settings.reserve_tokens)
            known = Requests(self.transcript, window, self._system, self._briefing)
            self._requests[self.model.name] = known
        return known

    @property
    def _briefs(self) -> bool:
        """Whether what changes with a turn stands before the owner's message."""
        return self.settings.memory_at == "message"

    def _system(self) -> list[Message]:
        sections = self.sections(self._found)
        kept = [each for each in sections if each.stable or not self._briefs]
        redact = self.redactor.redact
        return [
            replace(message, content=redact(message.content)) for message in system_messages(kept)
        ]

    def _briefing(self) -> str:
        return self.redactor.redact(briefing(self.sections(self._found))) if self._briefs else ""

    def _learn(self, usage: Usage) -> None:
        self.requests.window.learn(self.requests.sent or 0, usage.input_tokens)

    # Compaction

    def compact(self) -> Iterator[Event]:
        """Turn the older turns into facts in memory and a summary, now."""
        if not (yield from self._compact()):
            yield notice(self.transcript, "There is only one turn: nothing to compact")

    def _compact(self) -> Generator[Event, None, bool]:
        requests = self.requests
        done = yield from compact(
            Compaction(
                Reading(
                    self.transcript,
                    self.memory,
                    self.model,
                    requests.window,
                    self.redactor.redact,
                    self.trusted,
                ),
                self.settings.keep_recent,
                self.captures,
            )
        )
        if done:
            requests.left_out = 0
        return done

    def _compact_if_full(self) -> Iterator[Event]:
        """Compact when the history takes its share of the room; the reply stands in any case."""
        if self.requests.fullness(self.toolbox.specs()) <= self.settings.compact_at:
            return
        try:
            yield from self._compact()
        except (KeyboardInterrupt, AssistantError) as error:
            why = error.message if isinstance(error, AssistantError) else "interrupted"
            why = self.redactor.redact(why)
            yield notice(self.transcript, f"Compaction was put off: {why}")

    def _make_room(self) -> Iterator[Event]:
        """The request was too long: compact, once a turn; after that the oldest turns leave."""
        requests = self.requests
        if requests.sent is not None:  # it was the provider who said so
            requests.window.refused(requests.sent)
        needed = requests.needed(self.toolbox.specs())
        if not self._made_room:
            self._made_room = True
            if (yield from self._compact()):
                return
        if needed > requests.left_out:
            requests.left_out = needed
            yield notice(
                self.transcript, f"{needed} older turns no longer fit the model and are left out"
            )

    # What it has cost, and what it has to say

    @property
    def usage(self) -> Usage:
        """What the session has cost."""
        return usage_of(self.transcript.entries)

    @property
    def filled(self) -> tuple[int, int] | None:
        """Tokens of the latest request and its answer, and of the model's window; None before."""
        known = self._requests.get(self.model.name)
        if known is None or known.sent is None:
            return None
        answers = (e for e in reversed(self.transcript.entries) if isinstance(e, AssistantEntry))
        last = next((each.usage for each in answers), Usage())
        return last.input_tokens + last.output_tokens or known.sent, known.window.tokens

    @property
    def unfinished(self) -> bool:
        """Whether the last turn was cut off by a crash; `resume` goes on with it."""
        turns = group(self.transcript.entries)
        return bool(turns) and not turns[-1].finished

    def queue(self, text: str) -> None:
        """Say something that joins the running turn, from any thread, when what runs is through."""
        self.interruption.queue(self.redactor.redact(text))

    def hurry(self) -> None:
        """Stop what runs for what is queued, from any thread."""
        self.interruption.hurry()

    def interject(self, text: str) -> None:
        """Say something into the running turn, from any thread; what runs stops for it."""
        self.interruption.interject(self.redactor.redact(text))

    def late(self) -> str:
        """What was said into a turn that had already come to its end; it is the next message."""
        return "\n".join(self.interruption.take())

    def cancel(self) -> None:
        """End the running turn, from any thread."""
        self.interruption.cancel()

    def _notices(self) -> Iterator[Event]:
        """What had to be mended in the session and, once, what memory leaves to the owner."""
        untold = [*self.transcript.notices, *self.untold]
        self.transcript.notices.clear()
        self.untold.clear()
        if self._is_new:
            self._is_new = False
            untold += undecided(self.memory)
        for text in untold:
            yield notice(self.transcript, text)

    def _last_turn(self) -> Sequence[Entry]:
        return group(self.transcript.entries)[-1].entries
