"""One turn through the whole cycle. Read this first.

`Conversation.send` is the program's main flow. It writes the owner's message to the transcript,
recalls the relevant passages of memory, builds the prompt and runs the agent loop until the model
replies. When the history has grown too long, it compacts the older turns into facts in memory and
a summary.

Everything is written to the transcript before it is shown or sent, so a conversation that is
killed at any point can continue from its file (`resume`).
"""

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from types import MappingProxyType

from assistant import events
from assistant.agent.capture.reading import Reading
from assistant.agent.compaction import compact
from assistant.agent.context_budget import ContextBudget, rendered
from assistant.agent.loop import (
    MAX_ROUNDS,
    Agent,
    Cancelled,
    Interruption,
    Waits,
    answer_result,
    run_turn,
)
from assistant.agent.memory_text import PromptMemory, prompt_memory
from assistant.agent.prompt import (
    CHARACTERS_PER_TOKEN,
    KNOWN,
    Part,
    Prompt,
    Section,
    message_sections,
    notes_sections,
    redacted,
    room_for_files,
    stable_sections,
    turn_sections,
)
from assistant.display import counted, shortened
from assistant.errors import (
    AssistantError,
    MemoryFailure,
    ModelError,
    ModelFailure,
    StorageError,
    UsageError,
)
from assistant.events import Event
from assistant.memory.base import Memory, Passage, Query, Recall, clear, readable
from assistant.messages import Given, Message, Note, Picture, Usage
from assistant.model.base import SMALL_WINDOW, UNKNOWN_WINDOW, ChatModel, ToolSpec, check_sight
from assistant.model.profiles import ProfiledModel
from assistant.model.smalltalk import is_sum, small_talk
from assistant.secrets.redactor import Redactor
from assistant.session import keeping
from assistant.session.entries import (
    AssistantEntry,
    AttachmentEntry,
    Entry,
    RewindEntry,
    SkillEntry,
    ToolResultEntry,
    UserEntry,
    recalled_entry,
    texts_of,
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
from assistant.skills.loading import Skills, whole
from assistant.tools.owner import ASK
from assistant.tools.policy import Approver, DenyAll
from assistant.tools.scratch import Scratch
from assistant.tools.toolbox import Toolbox
from assistant.workspace.checkpoints import Checkpoints
from assistant.workspace.folder import BOOTSTRAP_FILE, PROCEDURES_FILE, Workspace, command_for

NOTHING: Given = MappingProxyType({})
WHOLE_SHARE = 4
"""All of memory is in the prompt if it fits in 1/4 of the window."""
SHOWN_CHARACTERS = 40
"""Characters of each passage in the `Recalled` event."""
MOST_PROCEDURES = 4
"""Passages of AGENTS.md recalled with each turn when the file is too long for the prefix; they do
not count against the other results."""
MOST_REFUSALS = 6
"""The turn fails once the provider has rejected its request as too long this many times."""


@dataclass
class Conversation:
    """A session with the owner; off the record if its transcript is.

    `skills` are listed in the prompt; a skill's text is added when a message contains one of its
    triggers. `recipe` lists the parts of the prompt. Once the session has used `max_tokens`, its
    turn fails. `interruption` is shared with long-running tools. If the workspace
    is not `trusted`, its files and memory stay out of the prompt. `captures` says whether
    compaction extracts facts from the turns it removes. Memory of at most `whole` tokens is
    included in the prompt entirely, except for files that are `hidden`. `untold` are notices to
    show with the next turn; memory adds to them. `begun` is called once a message has been saved.
    `daily` takes the day and whether this is the conversation's first turn, and returns the notices
    due once a day. `due` takes a message and today's date, and returns what is due on the coming
    days that the message names. `checkpoints` back up the files that a turn changes.
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
    recipe: Sequence[Part] = KNOWN
    max_rounds: int = MAX_ROUNDS
    max_tokens: int | None = None
    trusted: bool = True
    captures: bool = True
    whole: int = 4000
    hidden: Callable[[str], bool] = lambda _: False
    untold: list[str] = field(default_factory=list)
    begun: Callable[[], None] = lambda: None
    daily: Callable[[date, bool], Sequence[str]] = lambda *_: ()
    due: Callable[[str, date], str] = lambda *_: ""
    checkpoints: Checkpoints = field(default_factory=Checkpoints)
    clock: Callable[[], datetime] = lambda: datetime.now().astimezone()

    def __post_init__(self) -> None:
        self._is_new = True
        self._prompt_memory = PromptMemory()
        self._budgets: dict[str, ContextBudget] = {}
        self.scratch.replay(succeeded(self.transcript.entries))
        self.toolbox.texts = lambda: tuple(texts_of(self.transcript.entries).values())

    def send(self, text: str, attached: Given = NOTHING) -> Iterator[Event]:
        """Run one turn: recall, build the prompt, run the loop, compact if the history is full.

        `attached` maps titles to data that comes with the message; it is not part of the recall
        query. Raises UsageError for an empty message or a picture that the model cannot see, and
        StorageError if the message cannot be saved. Any later error ends the turn with
        `turn_failed`.
        """
        message = self.redactor.redact(text)
        if not message.strip():
            raise UsageError("the message is empty", "Write something")
        check_sight(self.model, attached)
        request = self._write_down(message)
        self.interruption.reset()
        if stand_ins := ", ".join(sorted(self.redactor.new_stand_ins(text))):
            self.untold.append(
                "Secrets in your message are neither sent nor stored: the model sees "
                f"{stand_ins}. /remember stores a fact as you write it"
            )
        self.begun()
        for title, content in attached.items():
            if isinstance(content, Picture):
                keeping.keep_picture(self.transcript, title, content)
            else:
                attachment = self.redactor.redact(str(content))
                inward = isinstance(content, Note)
                self.transcript.append(AttachmentEntry(title, attachment, inward=inward))
        yield from self._turn(request)

    def resume(self) -> Iterator[Event]:
        """Continue the last turn if a crash cut it off; otherwise do nothing."""
        turn = last_turn(self.transcript.entries)
        if turn and not turn.finished:
            self.interruption.reset()
            yield from self._turn(turn.asked)

    def _turn(self, request: UserEntry) -> Iterator[Event]:
        """Run the turn that `request` began, and handle every way it can end."""
        now, began = self.clock(), time.monotonic()
        self.checkpoints.begin(self.transcript.session, request.id)
        try:
            yield events.TurnStarted(self.transcript.session, request.id)
            yield from self._attached()
            yield events.StateChanged(events.State.INITIALIZING)
            stable = self._stable()
            yield from self._notices(stable, now)
            yield from self._bring_skills_in()
            recall = yield from self._recall(request.text, stable)
            prompt = self._prompt(request.text, stable, recall, now)
            self._keep(prompt, request, now)
            reply = yield from self._answer(prompt)
            yield events.StateChanged(events.State.FINALIZING)
            yield from self._put_bootstrap_away()
            yield from self._compact_if_full(prompt)
            yield events.StateChanged(events.State.DONE)
            yield self._finished(reply.text, began)
        except Waits as waits:
            yield events.StateChanged(events.State.DONE)
            yield replace(self._finished(waits.question.rendered, began), waiting=True)
        except (KeyboardInterrupt, Cancelled):
            self.transcript.settle("Interrupted by the owner")
            yield events.StateChanged(events.State.DONE)
            yield replace(self._finished(last_text(self._running), began), interrupted=True)
        except GeneratorExit:
            self.transcript.settle("Interrupted by the owner")
            raise
        except AssistantError as error:
            message, cure = self.redactor.redact(error.message), self.redactor.redact(error.cure)
            if not isinstance(error, StorageError):  # otherwise the next `send` settles the turn
                self.transcript.settle(f"{NO_REPLY}{message}")
            yield events.StateChanged(events.State.FAILED)
            yield events.TurnFailed(message, cure, type(error).__name__)
        finally:
            self.checkpoints.end()

    # The message and its attachments

    def _write_down(self, message: str) -> UserEntry:
        """Append the message to the transcript; return the entry that began its turn.

        The message begins a new turn, or answers the model's open question in the last one.
        """
        transcript = self.transcript
        pending = open_question(transcript.entries)
        turn = last_turn(transcript.entries)
        if pending is None or turn is None:
            transcript.settle("The session ended before this turn did")
            return transcript.append(UserEntry(message))
        answer = answer_result(
            events.QuestionAsked(
                pending.call_id, pending.question, pending.options, pending.several
            ),
            message,
        )
        transcript.append(
            ToolResultEntry(pending.call_id, ASK, answer.content, answer.error, answer.compact)
        )
        return turn.asked

    def _attached(self) -> Iterator[Event]:
        """Yield an event for each attachment of the running turn."""
        for entry in self._running:
            if isinstance(entry, AttachmentEntry) and not entry.call_id:
                picture = entry.text.strip("()") if entry.picture else ""
                yield events.Attached(entry.title, len(entry.text.splitlines()), picture)

    def _notices(self, stable: Sequence[Section], now: datetime) -> Iterator[Event]:
        """Show the pending notices to the owner.

        The first turn also reports the files that were truncated to fit the prompt.
        """
        texts = [*self.transcript.notices, *self.untold]
        self.transcript.notices.clear()
        self.untold.clear()
        texts += self.daily(now.date(), self._is_new)
        if self._is_new:
            texts += [section.cut for section in stable if section.cut]
        self._is_new = False
        for text in texts:
            yield notice(self.transcript, text)

    def _bring_skills_in(self) -> Iterator[Event]:
        """Add the skills that the message triggers, unless the history already has their text.

        The offline responder gets none, as it does not follow instructions.
        """
        turns = history(self.transcript.entries).turns
        if not turns or not self.model.extracts:
            return
        present = {(e.name, e.text) for t in turns for e in t.entries if isinstance(e, SkillEntry)}
        for skill, trigger in self.skills.triggered(turns[-1].request):
            try:
                text = whole(skill)
            except StorageError:
                continue  # the skill was removed in the meantime
            if (skill.name, text) not in present:
                self.transcript.append(SkillEntry(skill.name, skill.path, trigger, text))
                yield events.SkillLoaded(skill.name, skill.path, trigger)

    # Memory

    def _recall(
        self, text: str, stable: Sequence[Section]
    ) -> Generator[Event, None, Recall | None]:
        """Recall passages for the message; None if the workspace is untrusted or memory fails.

        A failure is shown as a notice, and the turn goes on without memory.
        """
        if not self.trusted:
            command = command_for(self.workspace.root)
            text = f"This workspace is not trusted yet: run `{command} trust` if it is yours"
            yield notice(self.transcript, text)
            return None
        try:
            recall = self._ask_memory(text, stable)
        except MemoryFailure as error:
            yield notice(self.transcript, f"Memory could not be searched: {error}")
            return None
        entry = self.transcript.append(recalled_entry(recall, self.redactor.redact))
        citations = tuple(passage.citation for passage in entry.passages)
        bearing = {passage.id for passage in clear(recall.passages)}
        items = (readable(passage.text).lstrip("-*# ") for passage in entry.passages)
        texts = (" ".join(item.split()) for item in items)
        shown = tuple(
            shortened(text, SHOWN_CHARACTERS) if passage.id in bearing else ""
            for passage, text in zip(recall.passages, texts, strict=True)
        )
        yield events.Recalled(citations, recall.tokens, recall.weak, shown)
        return recall

    def _ask_memory(self, text: str, stable: Sequence[Section]) -> Recall:
        """Query memory with the message; the previous message gives the context.

        Small talk and arithmetic recall nothing. AGENTS.md has a quota of its own, or is left out
        if all of it is in the prompt.
        """
        if small_talk(text) or is_sum(text):
            return Recall(text, ())
        messages = (e.text for e in reversed(self.transcript.entries) if isinstance(e, UserEntry))
        query = Query(
            text,
            before=next((message for message in messages if message != text), ""),
            budget=self._window // 8 if self._window < SMALL_WINDOW else None,
            turn=True,
        )
        if any(PROCEDURES_FILE in section.source.split(", ") for section in stable):
            recall = self.memory.recall(replace(query, without=(PROCEDURES_FILE,)))
        else:
            recall = self.memory.recall(replace(query, own=(PROCEDURES_FILE, MOST_PROCEDURES)))
        if not self.model.extracts:  # the offline responder quotes whatever it is given
            return replace(recall, passages=tuple(clear(recall.passages)) or recall.passages)
        return recall

    def _core(self, tokens: int) -> Sequence[Passage]:
        """Return memory's core facts; none if memory fails, which `_recall` reports."""
        try:
            return self.memory.core(tokens)
        except MemoryFailure:
            return ()

    # The prompt

    def _stable(self) -> list[Section]:
        """Build the cacheable prefix of the prompt. Called once a turn: reads the workspace's
        files."""
        self._fit_tools()
        self._prompt_memory = PromptMemory()
        shows_memory = any(part.name == "memory" for part in self.recipe)
        is_offline = not self.model.extracts  # the offline responder quotes only the briefing
        if shows_memory and self.trusted and not is_offline and self._window >= SMALL_WINDOW:
            budget = min(self.whole, self._window // WHOLE_SHARE)
            redact = self.redactor.redact
            self._prompt_memory = prompt_memory(
                self.workspace, budget, redact, self.hidden, self._core
            )
        return stable_sections(
            self.workspace,
            recipe=self.recipe,
            skills=self.skills.index,
            off_the_record=self.transcript.off_the_record,
            trusted=self.trusted,
            most=room_for_files(self._window),
            memory=self._prompt_memory,
        )

    def _fit_tools(self) -> None:
        """Limit the tool descriptions to a sixth of a small window, and each part of a tool result
        to a quarter of any window."""
        window = self._window
        most = self.settings.result_characters
        self.toolbox.part = min(most, window // 4 * CHARACTERS_PER_TOKEN)
        self.toolbox.most_tokens = window // 6 if window < SMALL_WINDOW else None

    def _prompt(
        self, text: str, stable: Sequence[Section], recall: Recall | None, now: datetime
    ) -> Prompt:
        """Build the prompt of the turn: the stable prefix and this turn's sections."""
        due = ""
        with suppress(MemoryFailure):  # recall reports it
            due = self.due(text, now.date()) if self.trusted else ""
        turn = turn_sections(
            recall,
            due=due,
            working_memory=self.scratch.render(),
            now=now,
            workspace=self.workspace,
            model=self.model.name,
            shown=self._prompt_memory.shown,
        )
        redact = self.redactor.redact
        return Prompt(redacted(stable, redact), redacted(turn, redact))

    def _keep(self, prompt: Prompt, request: UserEntry, now: datetime) -> None:
        """Save the prompt for `context --session`; off the record nothing is saved."""
        sections = prompt.whole(self.model, self.toolbox.specs())
        sent_parts = tuple(keeping.Part(part.title, part.source, part.text) for part in sections)
        sent = keeping.Sent(request.id, now.isoformat(), self.model.name, sent_parts)
        keeping.keep_prompt(self.transcript, sent)

    def preview(self, text: str = "", attached: Given = NOTHING) -> list[Section]:
        """Return the sections that would be sent with this message, without saving anything."""
        stable = self._stable()
        recall = self._ask_memory(text, stable) if self.trusted and text else Recall(text, ())
        prompt = self._prompt(text, stable, recall, self.clock())
        past = rendered(history(self.transcript.entries))
        sections = prompt.whole(self.model, self.toolbox.specs(), past)
        return list(redacted([*sections, *message_sections(text, attached)], self.redactor.redact))

    # The reply, and making room for it

    def _answer(self, prompt: Prompt) -> Generator[Event, None, AssistantEntry]:
        """Run the agent loop until the model replies, making room when a request is too long."""
        budget, refusals = self.budget, 0

        def messages(specs: Sequence[ToolSpec]) -> Sequence[Message]:
            notes = redacted(notes_sections(self.scratch.render()), self.redactor.redact)
            return budget.request(prompt.with_notes(notes), self.transcript, specs)

        agent = Agent(
            self.model,
            messages,
            self.toolbox,
            self.transcript,
            self.approver,
            self.interruption,
            self.max_rounds,
            self.max_tokens,
            redact=self.redactor.redact,
        )
        while True:
            try:
                reply = yield from run_turn(agent)
            except ModelError as error:
                if error.kind is not ModelFailure.OVERFLOW:
                    raise
                refusals += 1
                yield from self._make_room(prompt, refusals)
            else:
                if not reply.usage.estimated:
                    yield from self._tell_of_dropped_tools(reply.usage.input_tokens)
                    budget.learn(reply.usage.input_tokens)
                return reply

    def _tell_of_dropped_tools(self, reported: int) -> Iterator[Event]:
        """Notify the owner if the model does not seem to see its tools: some servers' chat
        templates omit them."""
        called = any(isinstance(entry, ToolResultEntry) for entry in self._running)
        if called or self.model.tools_in_prompt:
            return
        if self.budget.tools_dropped(reported, self.toolbox.specs()):
            yield notice(
                self.transcript,
                f"{self.model.name} does not seem to see its tools: the server counted only "
                f"{reported:,} tokens. `assistant config set model.tool_format xml` puts them "
                "into the prompt",
            )

    def _make_room(self, prompt: Prompt, refusals: int) -> Iterator[Event]:
        """Shorten the next request: compact after the first refusal, then omit the oldest turns.

        Raises ModelError after `MOST_REFUSALS` refusals.
        """
        if refusals == MOST_REFUSALS:
            raise ModelError(
                "the provider rejects every request as too long",
                "Set its true window: `assistant config set model.context_window TOKENS`",
                kind=ModelFailure.OVERFLOW,
            )
        self.budget.refused(self._window)
        self._fit_tools()
        needed = self.budget.needed(prompt, self.transcript, self.toolbox.specs())
        if refusals == 1 and (yield from self._compact()):
            return
        if needed > self.budget.left_out:
            self.budget.left_out = needed
            turns = counted(needed, "older turn")
            yield notice(self.transcript, f"Left out, as the model's window is too small: {turns}")

    def _compact_if_full(self, prompt: Prompt) -> Iterator[Event]:
        """Compact if the history exceeds its share of the window; an error is only a notice, and
        an interruption also ends the turn as interrupted."""
        fullness = self.budget.fullness(prompt, self.transcript, self.toolbox.specs())
        if fullness <= self.settings.compact_at:
            return
        try:
            yield from self._compact()
        except (KeyboardInterrupt, AssistantError) as error:
            reason = error.message if isinstance(error, AssistantError) else "interrupted"
            yield notice(self.transcript, f"Compaction was postponed: {reason}")
            if isinstance(error, KeyboardInterrupt):
                raise

    def compact(self) -> Iterator[Event]:
        """Compact the older turns into facts in memory and a summary, now."""
        if not (yield from self._compact()):
            yield notice(self.transcript, "There is only one turn: nothing to compact")

    def _compact(self) -> Generator[Event, None, bool]:
        """Compact the older turns; return whether there were any."""
        budget, redact = self.budget, self.redactor.redact
        job = Reading(self.transcript, self.memory, self.model, budget, redact, self.trusted)
        compacted = yield from compact(job, self.settings.keep_recent, captures=self.captures)
        if compacted:
            budget.left_out = 0
        return compacted

    def _put_bootstrap_away(self) -> Iterator[Event]:
        """Move BOOTSTRAP.md out of the prompt: it applies to the first turn only."""
        is_followed = any(BOOTSTRAP_FILE in part.files for part in self.recipe)
        if not (self.trusted and is_followed) or self.transcript.off_the_record:
            return
        if text := self.workspace.put_bootstrap_away(self.transcript.session):
            yield notice(self.transcript, text)

    def rewind(self, to: str) -> None:
        """Discard the message with this id and everything after it."""
        self.transcript.append(RewindEntry(to))
        self.scratch.replay(succeeded(self.transcript.entries))
        self._budgets.clear()

    # Cost and state

    @property
    def _window(self) -> int:
        return self.model.context_window or UNKNOWN_WINDOW

    @property
    def budget(self) -> ContextBudget:
        """The token budget of this model's window, corrected by the sizes its provider reported."""
        if self.model.name not in self._budgets:
            window, reserve = self.model.context_window, self.settings.reserve_tokens
            self._budgets[self.model.name] = ContextBudget(window, reserve)
        return self._budgets[self.model.name]

    @property
    def usage(self) -> Usage:
        """The tokens that the session has used."""
        return usage_of(self.transcript.entries)

    @property
    def filled(self) -> tuple[int, int] | None:
        """The tokens of the latest request and its answer, and those of the model's window.

        None before the first request.
        """
        budget = self._budgets.get(self.model.name)
        if budget is None or budget.sent is None:
            return None
        answers = (e for e in reversed(self.transcript.entries) if isinstance(e, AssistantEntry))
        last = next((entry.usage for entry in answers), Usage())
        return last.tokens or budget.sent, budget.window

    @property
    def unfinished(self) -> bool:
        """Whether a crash cut off the last turn; `resume` continues it."""
        turn = last_turn(self.transcript.entries)
        return turn is not None and not turn.finished

    @property
    def asks(self) -> bool:
        """Whether the last turn waits for the owner's answer; the next message is that answer."""
        return open_question(self.transcript.entries) is not None

    def queue(self, text: str) -> None:
        """Add a message to the running turn once the current step is finished; thread-safe."""
        self.interruption.queue(self.redactor.redact(text))

    def hurry(self) -> None:
        """Stop the current step to deliver the queued messages, and retry at once; thread-safe."""
        self.interruption.hurry()
        if isinstance(self.model, ProfiledModel):
            self.model.try_now()

    @property
    def _running(self) -> Sequence[Entry]:
        """The entries of the running turn."""
        turn = last_turn(self.transcript.entries)
        return turn.entries if turn else ()

    def _finished(self, reply: str, began: float) -> events.TurnFinished:
        requests = sum(isinstance(entry, AssistantEntry) for entry in self._running)
        seconds = round(time.monotonic() - began, 1)
        usage = usage_of(self._running)
        return events.TurnFinished(reply, usage, seconds=seconds, requests=requests)
