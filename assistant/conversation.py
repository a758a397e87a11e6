"""One turn through the whole cycle. Read this first.

`Conversation.send` is the flow of the program: the owner's message goes to the transcript, memory
is asked for what bears on it, the prompt is made, the agent loop runs to a reply, and when the
history has grown too long, its older turns become facts in memory and a summary. What is shown or
sent is an entry of the transcript first, so a conversation that was killed anywhere goes on from
its file (`resume`).
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from types import MappingProxyType

from assistant.agent.answer import MAX_ROUNDS, Agent, Cancelled, Waits
from assistant.agent.capture.reading import Reading
from assistant.agent.compaction import compact
from assistant.agent.context_budget import ContextBudget, rendered
from assistant.agent.interruption import Interruption
from assistant.agent.loop import answered, run_turn
from assistant.agent.prompt import (
    Prompt,
    Section,
    message_sections,
    notes_sections,
    redacted,
    room_for_files,
    stable_sections,
    turn_sections,
)
from assistant.agent.recipe import BOOTSTRAP, Part, parts
from assistant.agent.standing import Standing, standing
from assistant.display import counted, shortened
from assistant.errors import (
    AssistantError,
    MemoryFailure,
    ModelError,
    ModelFailure,
    StorageError,
    UsageError,
)
from assistant.events import (
    Attached,
    Event,
    Recalled,
    SkillLoaded,
    State,
    StateChanged,
    TurnFailed,
    TurnFinished,
    TurnStarted,
)
from assistant.memory.base import Passage, Query, Recall
from assistant.memory.protocol import Memory
from assistant.messages import Given, Message, Picture, Usage
from assistant.model.base import SMALL_WINDOW, UNKNOWN_WINDOW, ChatModel, ToolSpec, check_sight
from assistant.model.profiles import ProfiledModel
from assistant.model.smalltalk import is_sum, small_talk
from assistant.secrets.redactor import Redactor
from assistant.session import keeping
from assistant.session.entries import (
    AssistantEntry,
    AttachmentEntry,
    CitedPassage,
    Entry,
    RecalledEntry,
    RewindEntry,
    SkillEntry,
    ToolResultEntry,
    UserEntry,
    usage_of,
)
from assistant.session.history import (
    NO_REPLY,
    history,
    last_text,
    last_turn,
    open_question,
    succeeded,
)
from assistant.session.transcript import Transcript, notice
from assistant.settings.sections import ContextSettings
from assistant.skills.base import Skills
from assistant.skills.loading import body, bundled
from assistant.tools.base import Question
from assistant.tools.owner import ASK
from assistant.tools.policy import Approver, DenyAll
from assistant.tools.scratch import Scratch
from assistant.tools.toolbox import Toolbox
from assistant.workspace.checkpoints import Checkpoints
from assistant.workspace.folder import PROCEDURES_FILE, Workspace

NOTHING: Given = MappingProxyType({})
WHOLE_SHARE = 4
"""Memory stands whole in the prompt while it takes at most this part of the window."""
WORDS = 40
"""Characters of a passage that its event tells."""
PROCEDURES = 4
"""Passages of an AGENTS.md too long for the prefix that come with each turn, whatever else memory
finds."""
OVERFLOWS = 6
"""How often the request of one turn may be found too long."""


@dataclass
class Conversation:
    """A session with the owner, off the record if its transcript is.

    `skills` are listed in the prompt, and come in when a message holds a trigger of theirs.
    `interruption` is shared with tools that run long. An untrusted workspace's files and memory
    stay out of the prompt. Without `captures` compaction takes no facts from what it leaves out.
    Memory of at most `whole` tokens stands in the prompt, but for files that are `hidden`.
    `untold` is what the owner should hear with the next turn; memory adds to it. `begun` is told
    of each message written down; `daily` has what is to be said once a day. `checkpoints` keep the
    files that a turn changes as they were.
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
    max_rounds: int = MAX_ROUNDS
    trusted: bool = True
    captures: bool = True
    whole: int = 4000
    hidden: Callable[[str], bool] = lambda _: False
    untold: list[str] = field(default_factory=list)
    begun: Callable[[], None] = lambda: None
    daily: Callable[[date], Sequence[str]] = lambda _: ()
    checkpoints: Checkpoints = field(default_factory=Checkpoints)
    clock: Callable[[], datetime] = lambda: datetime.now().astimezone()

    def __post_init__(self) -> None:
        self._is_new = True
        self._standing = Standing()
        self._budgets: dict[str, ContextBudget] = {}
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
        asked = self._write_down(message)
        self.interruption.reset()
        if listed := ", ".join(sorted(self.redactor.new_stand_ins(text))):
            self.untold.append(
                "Secrets in your message stay here and are not kept: the model reads "
                f"{listed}. /remember writes a fact down as you say it"
            )
        self.begun()
        for title, given in attached.items():
            if isinstance(given, Picture):
                keeping.keep_picture(self.transcript, title, given)
            else:
                self.transcript.append(AttachmentEntry(title, self.redactor.redact(given)))
        yield from self._turn(asked)

    def resume(self) -> Iterator[Event]:
        """Go on with a turn that was cut off by a crash; nothing if the last one is whole."""
        turn = last_turn(self.transcript.entries)
        if turn and not turn.finished:
            self.interruption.reset()
            yield from self._turn(turn.asked)

    def _turn(self, asked: UserEntry) -> Iterator[Event]:
        now = self.clock()
        self.checkpoints.begin(self.transcript.session, asked.id)
        try:
            yield TurnStarted(self.transcript.session, asked.id)
            yield from self._attached()
            yield StateChanged(State.INITIALIZING)
            stable = self._stable()
            yield from self._notices(stable, now)
            yield from self._bring_skills_in()
            recall = yield from self._recall(asked.text, stable)
            prompt = self._prompt(stable, recall, now)
            self._keep(prompt, asked, now)
            reply = yield from self._answer(prompt)
            yield StateChanged(State.FINALIZING)
            yield from self._put_bootstrap_away()
            yield from self._compact_if_full(prompt)
            yield StateChanged(State.DONE)
            yield TurnFinished(reply.text, self._cost)
        except Waits as waits:
            yield StateChanged(State.DONE)
            yield TurnFinished(waits.question.rendered, self._cost, waiting=True)
        except (KeyboardInterrupt, Cancelled):
            self.transcript.settle("Interrupted by the owner")
            yield StateChanged(State.DONE)
            yield TurnFinished(last_text(self._running), self._cost, interrupted=True)
        except GeneratorExit:
            self.transcript.settle("Interrupted by the owner")
            raise
        except AssistantError as error:
            message, cure = self.redactor.redact(error.message), self.redactor.redact(error.cure)
            if not isinstance(error, StorageError):  # then nothing can be written; `send` settles
                self.transcript.settle(f"{NO_REPLY}{message}")
            yield StateChanged(State.FAILED)
            yield TurnFailed(message, cure)
        finally:
            self.checkpoints.end()

    # The message, and what comes with it

    def _write_down(self, message: str) -> UserEntry:
        """The message in the transcript: it begins a turn, or answers what the model has asked."""
        record = self.transcript
        waits = open_question(record.entries)
        turn = last_turn(record.entries)
        if waits is None or turn is None:
            record.settle("The session ended before this turn did")
            return record.append(UserEntry(message))
        answer = answered(Question(waits.question, waits.options, waits.several), message)
        record.append(
            ToolResultEntry(waits.call_id, ASK, answer.content, answer.error, answer.compact)
        )
        return turn.asked

    def _attached(self) -> Iterator[Event]:
        for entry in self._running:
            if isinstance(entry, AttachmentEntry):
                picture = entry.text.strip("()") if entry.picture else ""
                yield Attached(entry.title, len(entry.text.splitlines()), picture)

    def _notices(self, stable: Sequence[Section], now: datetime) -> Iterator[Event]:
        """What the owner should hear; at first also what waits in memory, and which files are too
        long to stand whole in the prompt."""
        texts = [*self.transcript.notices, *self.untold]
        self.transcript.notices.clear()
        self.untold.clear()
        texts += self.daily(now.date())
        if self._is_new:
            texts += [*undecided(self.memory), *(part.cut for part in stable if part.cut)]
        self._is_new = False
        for text in texts:
            yield notice(self.transcript, text)

    def _bring_skills_in(self) -> Iterator[Event]:
        """The skills whose triggers the message holds, unless they stand in the history already.

        A model that follows no instructions (the offline responder) gets none.
        """
        turns = history(self.transcript.entries).turns
        if not turns or not self.model.extracts:
            return
        there = {(e.name, e.text) for t in turns for e in t.entries if isinstance(e, SkillEntry)}
        for skill, trigger in self.skills.triggered(turns[-1].request):
            try:
                text = body(skill)
            except StorageError:
                continue  # it was removed meanwhile
            if files := bundled(skill):
                text = f"{text}\n\nFiles of this skill: {', '.join(files)}"
            if (skill.name, text) not in there:
                self.transcript.append(SkillEntry(skill.name, skill.path, trigger, text))
                yield SkillLoaded(skill.name, skill.path, trigger)

    # Memory

    def _recall(
        self, text: str, stable: Sequence[Section]
    ) -> Generator[Event, None, Recall | None]:
        """Ask memory what bears on the message; a failure is told, and the turn goes on."""
        if not self.trusted:
            yield notice(
                self.transcript, "This workspace is not trusted yet: run `assistant trust`"
            )
            return None
        try:
            recall = self._ask_memory(text, stable)
        except MemoryFailure as error:
            yield notice(self.transcript, f"Memory could not be asked: {error}")
            return None
        cited = tuple(
            CitedPassage(
                passage.id,
                passage.citation,
                self.redactor.redact(passage.text),
                passage.date,
                " › ".join(passage.heading),
                {name: round(share, 3) for name, share in passage.signals.items()},
            )
            for passage in recall.passages
        )
        self.transcript.append(RecalledEntry(cited, recall.tokens, recall.weak))
        words = (" ".join(passage.text.lstrip("-*# ").split()) for passage in cited)
        citations = tuple(passage.citation for passage in cited)
        texts = tuple(shortened(text, WORDS) for text in words)
        yield Recalled(citations, recall.tokens, recall.weak, texts)
        return recall

    def _ask_memory(self, text: str, stable: Sequence[Section]) -> Recall:
        """What bears on a message, which may lean on the one before; greetings and sums cost no
        passages. AGENTS.md is asked apart, unless it stands whole in the prompt."""
        if small_talk(text) or is_sum(text):
            return Recall(text, 0, ())
        messages = (e.text for e in reversed(self.transcript.entries) if isinstance(e, UserEntry))
        query = Query(
            text,
            before=next((message for message in messages if message != text), ""),
            budget=self._window // 8 if self._window < SMALL_WINDOW else None,
            turn=True,
        )
        if any(PROCEDURES_FILE in section.source.split(", ") for section in stable):
            return self.memory.recall(replace(query, without=(PROCEDURES_FILE,)))
        return self.memory.recall(replace(query, own=(PROCEDURES_FILE, PROCEDURES)))

    def _core(self, tokens: int) -> Sequence[Passage]:
        """Memory's core; nothing while memory cannot be asked, which the turn's recall tells."""
        try:
            return self.memory.core(tokens)
        except MemoryFailure:
            return ()

    # The prompt

    def _stable(self) -> list[Section]:
        """The prompt's prefix; each file of the workspace is read here, once a turn."""
        self._fit_tools()
        recipe = parts(self.settings) if self.recipe is None else self.recipe
        self._standing = Standing()
        is_shown = any(part.name == "memory" for part in recipe)
        quotes = not self.model.extracts  # as the offline responder does, from the briefing
        if is_shown and self.trusted and not quotes and self._window >= SMALL_WINDOW:
            most = min(self.whole, self._window // WHOLE_SHARE)
            redact = self.redactor.redact
            self._standing = standing(self.workspace, most, redact, self.hidden, self._core)
        return stable_sections(
            self.workspace,
            recipe=recipe,
            skills=self.skills.index,
            off_the_record=self.transcript.off_the_record,
            trusted=self.trusted,
            most=room_for_files(self._window),
            memory=self._standing,
        )

    def _fit_tools(self) -> None:
        window = self._window
        self.toolbox.most_tokens = window // 5 if window < SMALL_WINDOW else None

    def _prompt(self, stable: Sequence[Section], recall: Recall | None, now: datetime) -> Prompt:
        turn = turn_sections(
            recall,
            working_memory=self.scratch.render(),
            now=now,
            workspace=self.workspace,
            model=self.model.name,
            shown=self._standing.shown,
        )
        sections = redacted([*stable, *turn], self.redactor.redact)
        return Prompt(sections)

    def _keep(self, prompt: Prompt, asked: UserEntry, now: datetime) -> None:
        """Write down what the turn is sent, for `context --session`; not off the record."""
        sections = prompt.whole(self.model, self.toolbox.specs())
        kept = tuple(keeping.Part(part.title, part.source, part.text) for part in sections)
        sent = keeping.Sent(asked.id, now.isoformat(), self.model.name, kept)
        keeping.keep_prompt(self.transcript, sent)

    def preview(self, text: str = "", attached: Given = NOTHING) -> list[Section]:
        """What would be sent with this message, section by section; nothing is kept."""
        stable = self._stable()
        recall = self._ask_memory(text, stable) if self.trusted and text else Recall(text, 0, ())
        prompt = self._prompt(stable, recall, self.clock())
        earlier = rendered(history(self.transcript.entries))
        sections = prompt.whole(self.model, self.toolbox.specs(), earlier)
        return list(redacted([*sections, *message_sections(text, attached)], self.redactor.redact))

    # The reply, and room for it

    def _answer(self, prompt: Prompt) -> Generator[Event, None, AssistantEntry]:
        """Run the loop to the reply, making room as often as the request is too long."""
        budget, refused = self.budget, 0

        def request(specs: Sequence[ToolSpec]) -> Sequence[Message]:
            notes = redacted(notes_sections(self.scratch.render()), self.redactor.redact)
            return budget.request(prompt.with_notes(notes), self.transcript, specs)

        agent = Agent(
            self.model,
            request,
            self.toolbox,
            self.transcript,
            self.approver,
            self.interruption,
            self.max_rounds,
            redact=self.redactor.redact,
        )
        while True:
            try:
                reply = yield from run_turn(agent)
            except ModelError as error:
                if error.kind is not ModelFailure.OVERFLOW:
                    raise
                refused += 1
                yield from self._make_room(prompt, refused)
            else:
                budget.learn(reply.usage.input_tokens)
                return reply

    def _make_room(self, prompt: Prompt, refused: int) -> Iterator[Event]:
        """The request was too long: compact, once a turn; after that the oldest turns leave.

        Raises ModelError once the turn was refused too often.
        """
        if refused == OVERFLOWS:
            raise ModelError(
                "the model finds every request too long",
                "Set its true window: `assistant config set model.context_window TOKENS`",
                kind=ModelFailure.OVERFLOW,
            )
        self.budget.refused(self._window)
        self._fit_tools()
        needed = self.budget.needed(prompt, self.transcript, self.toolbox.specs())
        if refused == 1 and (yield from self._compact()):
            return
        if needed > self.budget.left_out:
            self.budget.left_out = needed
            left = counted(needed, "older turn")
            yield notice(self.transcript, f"Left out, as the model's window is too small: {left}")

    def _compact_if_full(self, prompt: Prompt) -> Iterator[Event]:
        """Compact when the history takes its share of the room; the reply stands in any case."""
        full = self.budget.fullness(prompt, self.transcript, self.toolbox.specs())
        if full <= self.settings.compact_at:
            return
        try:
            yield from self._compact()
        except (KeyboardInterrupt, AssistantError) as error:
            why = error.message if isinstance(error, AssistantError) else "interrupted"
            yield notice(self.transcript, f"Compaction was put off: {why}")

    def compact(self) -> Iterator[Event]:
        """Turn the older turns into facts in memory and a summary, now."""
        if not (yield from self._compact()):
            yield notice(self.transcript, "There is only one turn: nothing to compact")

    def _compact(self) -> Generator[Event, None, bool]:
        budget, redact = self.budget, self.redactor.redact
        job = Reading(self.transcript, self.memory, self.model, budget, redact, self.trusted)
        done = yield from compact(job, self.settings.keep_recent, captures=self.captures)
        if done:
            budget.left_out = 0
        return done

    def _put_bootstrap_away(self) -> Iterator[Event]:
        """BOOTSTRAP.md stands in the prompt until the first turn is answered, and never again."""
        path = self.workspace.root / BOOTSTRAP
        if not self.trusted or self.transcript.off_the_record or not path.is_file():
            return
        kept = self.workspace.private / f"bootstrap-{self.transcript.session}.md"
        try:
            path.rename(kept)
        except OSError as error:
            told = f"{BOOTSTRAP} cannot be put away: {error.strerror}; remove it yourself"
        else:
            told = f"{BOOTSTRAP} was carried out once; it is kept as .assistant/{kept.name}"
        yield notice(self.transcript, told)

    def rewind(self, to: str) -> None:
        """Go back before the message with this id: it and what followed no longer counts."""
        self.transcript.append(RewindEntry(to))
        self.scratch.replay(succeeded(self.transcript.entries))
        self._budgets.clear()

    # What it has cost, and how it stands

    @property
    def _window(self) -> int:
        return self.model.context_window or UNKNOWN_WINDOW

    @property
    def budget(self) -> ContextBudget:
        """This model's window; it remembers what the provider said of the size of requests."""
        if self.model.name not in self._budgets:
            window, reserve = self.model.context_window, self.settings.reserve_tokens
            self._budgets[self.model.name] = ContextBudget(window, reserve)
        return self._budgets[self.model.name]

    @property
    def usage(self) -> Usage:
        """What the session has cost."""
        return usage_of(self.transcript.entries)

    @property
    def filled(self) -> tuple[int, int] | None:
        """Tokens of the latest request and its answer, and of the model's window; None before."""
        budget = self._budgets.get(self.model.name)
        if budget is None or budget.sent is None:
            return None
        answers = (e for e in reversed(self.transcript.entries) if isinstance(e, AssistantEntry))
        last = next((entry.usage for entry in answers), Usage())
        return last.input_tokens + last.output_tokens or budget.sent, budget.window

    @property
    def unfinished(self) -> bool:
        """Whether the last turn was cut off by a crash; `resume` goes on with it."""
        turn = last_turn(self.transcript.entries)
        return turn is not None and not turn.finished

    @property
    def asks(self) -> bool:
        """Whether the last turn waits for an answer, which the next message is."""
        return open_question(self.transcript.entries) is not None

    def queue(self, text: str) -> None:
        """Say something that joins the running turn, from any thread, when what runs is through."""
        self.interruption.queue(self.redactor.redact(text))

    def hurry(self) -> None:
        """Stop what runs for what is queued, and end a wait between tries; from any thread."""
        self.interruption.hurry()
        if isinstance(self.model, ProfiledModel):
            self.model.try_now()

    @property
    def waiting(self) -> Sequence[str]:
        """What is queued and has not joined the turn yet."""
        return self.interruption.waiting

    def late(self) -> str:
        """What was said into a turn that had already come to its end; it is the next message."""
        return "\n".join(self.interruption.take())

    @property
    def _running(self) -> Sequence[Entry]:
        """The entries of the turn that runs."""
        turn = last_turn(self.transcript.entries)
        return turn.entries if turn else ()

    @property
    def _cost(self) -> Usage:
        return usage_of(self._running)


def undecided(memory: Memory) -> list[str]:
    """What memory leaves to its owner: a line for facts to review, one for facts a save erased.

    A damaged file is named, too.
    """
    try:
        waiting, erased = len(memory.waiting()), len(memory.erased())
    except MemoryFailure:
        return []  # recall will say so
    except StorageError as error:
        return [str(error)]
    lines = []
    if waiting:
        facts = counted(waiting, "fact waits", "facts wait")
        lines.append(f"{facts} for your review: `assistant memory review`")
    if erased:
        facts = counted(erased, "fact was erased", "facts were erased")
        lines.append(f"{facts} by a save: `assistant memory restore`")
    return lines
