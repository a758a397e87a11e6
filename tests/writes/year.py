"""Drive a year of conversations through the real program, and count what became of memory."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any, Literal

import numpy as np

from assistant.conversation import Conversation
from assistant.memory.base import Existing, Fact, Keeper, Query, Remembered
from assistant.memory.embedding.embedder import Embedder
from assistant.memory.local import LocalMemory
from assistant.memory.text.chunk import chunks_of
from assistant.memory.text.markdown import plain
from assistant.memory.writing.ledger import Ledger
from assistant.session.entries import Entry, RecalledEntry
from assistant.session.transcript import Transcript
from assistant.settings.sections import ContextSettings
from assistant.settings.tree import Settings
from assistant.tools.toolbox import Toolbox
from assistant.workspace.folder import MEMORY_FILE, Workspace
from tests.support.scripted import ScriptedModel
from tests.writes.people import Talker
from tests.writes.world import ATTRIBUTES, DAYS, Meaning, World

WINDOW = 16_000
"""The model's window in tokens; compaction happens when it fills up."""
PER_MESSAGE = 3
"""Sentences of one message."""
ALIKE = 0.9
"""From this cosine on a memory that dedupes by likeness takes two facts for one."""

Switch = Literal["lookup", "same", "supersede", "echo", "likeness"]
"""A defence left out, or (`likeness`) the one that this program does without."""
SWITCHES: tuple[Switch, ...] = ("lookup", "same", "supersede", "echo", "likeness")


@dataclass(frozen=True, slots=True)
class Figures:
    """What came of a year. Rates are of current facts, of questions, of echoes, of true facts.
    `size` is that of MEMORY.md, in bytes."""

    said: int
    facts: int
    duplicates: int
    asked: int
    stale: int
    unanswered: int
    echoes: int
    loops: int
    true: int
    refused: int
    waiting: int
    size: int

    @property
    def rates(self) -> tuple[float, float, float, float]:
        """Duplicate, stale-answer, loop and refusal rate, each from 0 to 1."""
        return (
            self.duplicates / max(1, self.facts),
            self.stale / max(1, self.asked),
            self.loops / max(1, self.echoes),
            self.refused / max(1, self.true),
        )


def live(
    world: World,
    place: Workspace,
    embedder: Embedder,
    off: Switch | None = None,
    whole: int = 0,
) -> Figures:
    """Go through the year in this workspace, and look at what memory holds at its end; memory of at
    most `whole` tokens stands in the prompt."""
    clock = Clock(world.day(0))
    with closing(LocalMemory(place, Settings(), embedder, today=clock.date)) as real:
        talker = Talker(world)
        memory = _composed(real, place, embedder, off)
        for month in range(12):
            record = (_Forgetful if off == "echo" else Transcript)(
                f"month-{month + 1:02}", place.sessions / f"month-{month + 1:02}.jsonl"
            )
            model = ScriptedModel(respond=talker, context_window=WINDOW)
            talk = Conversation(
                place, model, memory, Toolbox([]), record, whole=whole, clock=clock.now
            )
            talk.settings = ContextSettings(reserve_tokens=1_000)
            for day in range(month * 31, min((month + 1) * 31, DAYS)):
                clock.today = world.day(day)
                for message in messages(world, day):
                    take(talk, message)
                real.upkeep()
            _close(talk)
        return figures(world, real, place, talker)


@dataclass(slots=True)
class Clock:
    """A clock that stands at the beginning of a day."""

    today: date

    def date(self) -> date:
        """The day."""
        return self.today

    def now(self) -> datetime:
        """Its first moment, here."""
        return datetime.combine(self.today, datetime.min.time()).astimezone()


def _close(talk: Conversation) -> None:
    """End a session with a compaction of all that was said."""
    take(talk, "That is all for now")
    talk.settings = ContextSettings(keep_recent=0.001)
    for _ in talk.compact():
        pass
    talk.transcript.close()


def take(talk: Conversation, message: str) -> None:
    """One turn, to its end."""
    last = list(talk.send(message))[-1]
    assert last.name == "turn_finished", last


def messages(world: World, day: int) -> Iterator[str]:
    """What the owner writes on a day: a few sentences at a time, then questions."""
    said = [each.text for each in world.said if each.day == day]
    for start in range(0, len(said), PER_MESSAGE):
        yield " ".join(said[start : start + PER_MESSAGE])
    yield from (question for when, question in world.asked if when == day)


# What memory holds in the end


def figures(world: World, memory: LocalMemory, place: Workspace, talker: Talker) -> Figures:
    """What memory holds and answers when the year is over."""
    texts = {name: (place.root / name).read_text("utf-8") for name in place.sources()}
    chunks = (each for name, text in texts.items() for each in chunks_of(text, name))
    facts = [plain(each.text) for each in chunks if each.status == "current"]
    ledger = Ledger(place)
    owners, echoed = Counter[Meaning](), Counter[Meaning]()
    for fact in facts:
        meaning = world.read(fact)
        entry = ledger.journals.adding(fact)
        if meaning:
            own = entry is None or entry.origin.kind == "owner"
            (owners if own else echoed).update([meaning])
    held = set(owners) | set(echoed)
    stale, unanswered = _asked(world, memory)
    return Figures(
        said=len(world.said),
        facts=len(facts),
        duplicates=sum(count - 1 for count in owners.values()),
        asked=len(world.outdated),
        stale=stale,
        unanswered=unanswered,
        echoes=talker.echoes,
        loops=sum(echoed[each] - (each not in owners) for each in echoed),
        true=len(world.truth),
        refused=sum(state not in held for state in world.truth.items()),
        waiting=len(memory.waiting()),
        size=len(texts[MEMORY_FILE].encode()),
    )


def _asked(world: World, memory: Keeper) -> tuple[int, int]:
    """Of the questions about what has changed: how many recall answers with what is outdated,
    and how many without what is true."""
    stale = unanswered = 0
    for subject, outdated in world.outdated.items():
        person, name = subject.split(": ")
        found = memory.recall(Query(ATTRIBUTES[name][0].format(p=person)))
        told = {world.read(plain(passage.text)) for passage in found.passages}
        stale += any((subject, value) in told for value in outdated)
        unanswered += (subject, world.truth[subject]) not in told
    return stale, unanswered


# Compositions with a defence left out


def _composed(real: LocalMemory, place: Workspace, embedder: Embedder, off: Switch | None) -> Any:
    match off:
        case "lookup":
            return _Blind(real)
        case "same":
            return _Careless(real, place)
        case "supersede":
            return _Hoarding(real)
        case "likeness":
            return _Lumping(real, embedder)
        case _:
            return _Around(real)


class _Around:
    """Memory with one part of it changed. Each third batch arrives twice, as when a compaction is
    killed before its last entry and repeated."""

    def __init__(self, real: LocalMemory) -> None:
        self.real = real
        self._batches = 0

    def remember(
        self, facts: Sequence[Fact], *, request: str | None = None
    ) -> tuple[Remembered, ...]:
        done = self._write(facts)
        self._batches += 1
        if self._batches % 3 == 0:
            self._write([replace(fact, replaces=None) for fact in facts])
        return done

    def _write(self, facts: Sequence[Fact]) -> tuple[Remembered, ...]:
        return self.real.remember(facts)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)


class _Blind(_Around):
    """Extraction is not told what is known."""

    def existing(self, texts: Sequence[str], k: int) -> Existing:
        return Existing()


class _Careless(_Around):
    """A new fact is appended without a look whether it is there."""

    def __init__(self, real: LocalMemory, place: Workspace) -> None:
        super().__init__(real)
        self._path = place.root / MEMORY_FILE

    def _write(self, facts: Sequence[Fact]) -> tuple[Remembered, ...]:
        return tuple(map(self._one, facts))

    def _one(self, fact: Fact) -> Remembered:
        if fact.replaces or fact.origin.kind != "owner":
            return self.real.remember([fact])[0]
        with self._path.open("a", encoding="utf-8") as file:
            file.write(f"- {fact.text}\n")
        return Remembered("stored", "", MEMORY_FILE, 1, fact.text)


class _Hoarding(_Around):
    """Nothing is superseded."""

    def _write(self, facts: Sequence[Fact]) -> tuple[Remembered, ...]:
        bare = [replace(fact, replaces=None) for fact in facts]
        return self.real.remember(bare)


class _Lumping(_Around):
    """What is much like a fact is taken for the same."""

    def __init__(self, real: LocalMemory, embedder: Embedder) -> None:
        super().__init__(real)
        self._embedder = embedder
        self._kept: list[np.ndarray[Any, Any]] = []

    def _write(self, facts: Sequence[Fact]) -> tuple[Remembered, ...]:
        return self.real.remember([fact for fact in facts if self._is_new(fact)])

    def _is_new(self, fact: Fact) -> bool:
        vector = self._embedder.embed([fact.text])[0]
        if (
            self._kept
            and not fact.replaces
            and float(np.max(np.stack(self._kept) @ vector)) > ALIKE
        ):
            return False
        self._kept.append(vector)
        return True


class _Forgetful(Transcript):
    """It does not tell the extraction what was recalled."""

    @property
    def entries(self) -> Sequence[Entry]:
        return [each for each in self._entries if not isinstance(each, RecalledEntry)]
