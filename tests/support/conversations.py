"""What the tests of conversations share: a memory in a list, a summariser, a turn to its end."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from assistant.agent.capture.origins import folded
from assistant.errors import LedgerError, MemoryFailure
from assistant.events import Event, TurnFailed, TurnFinished
from assistant.memory.base import (
    Existing,
    Fact,
    Held,
    JournalEntry,
    Passage,
    Query,
    Recall,
    Remembered,
    Returned,
)
from assistant.messages import Message
from assistant.model.offline import BRIEFED
from assistant.secrets.stand_ins import stand_ins


@dataclass
class ListMemory:
    """`Memory` whose markdown is a list: recalls what shares a long word with the query."""

    facts: list[Fact] = field(default_factory=list)
    held: list[Fact] = field(default_factory=list)
    failure: MemoryFailure | None = None
    writes: int = 0

    def recall(self, query: Query) -> Recall:
        if self.failure:
            raise self.failure
        words = {word for word in folded(query.text).split() if len(word) > 3}
        found = [
            self._passage(n)
            for n, fact in enumerate(self.facts)
            if words & set(folded(fact.text).split())
        ]
        found = found[: query.k or 8]
        return Recall(query.text, tuple(found))

    def remember(
        self, facts: Sequence[Fact], *, request: str | None = None
    ) -> tuple[Remembered, ...]:
        if self.failure:
            raise self.failure
        self.writes += 1
        ids = {f"f{n}" for n in range(len(self.facts))}
        if any(fact.replaces and fact.replaces not in ids for fact in facts):
            raise LedgerError("no such fact")
        return tuple(self._remember(fact) for fact in facts)

    def _remember(self, fact: Fact) -> Remembered:
        if fact.secrets == "ask" and stand_ins(fact.text):
            return Remembered("secret", "", "", 0, fact.text)
        known = [folded(each.text) for each in self.facts]
        if folded(fact.text) in known:
            place = known.index(folded(fact.text))
            return Remembered("exists", f"f{place}", "MEMORY.md", place + 1, fact.text)
        if fact.origin.kind == "tool":
            if folded(fact.text) not in [folded(each.text) for each in self.held]:
                self.held.append(fact)
            return Remembered("waiting", "", "", 0, fact.text)
        self.facts.append(fact)
        place = len(self.facts)
        return Remembered("stored", f"f{place - 1}", "MEMORY.md", place, fact.text)

    def _passage(self, number: int) -> Passage:
        text = self.facts[number].text
        line = number + 1
        return Passage(
            f"f{number}", f"- {text}", text, "MEMORY.md", line, line, 0, len(text), score=1.0
        )

    def core(self, tokens: int) -> tuple[Passage, ...]:
        return ()

    def existing(self, texts: Sequence[str], k: int) -> Existing:
        found = [self.recall(Query(text, k=k)).passages for text in texts]
        return Existing(tuple({each.id: each for these in found for each in these}.values()))

    def waiting(self) -> tuple[Held, ...]:
        return tuple(Held(f"h{number}", "", fact) for number, fact in enumerate(self.held))

    def erased(self) -> tuple[JournalEntry, ...]:
        return ()

    def returned(self) -> tuple[Returned, ...]:
        return ()

    def close(self) -> None:
        """Nothing to let go of."""


def unbriefed(said: Sequence[Message]) -> list[Message]:
    """The messages without what the program says at the head of the owner's."""
    return [replace(each, content=BRIEFED.sub("", each.content)) for each in said]


def reply(turn: Iterator[Event]) -> str:
    """Take a turn to its end; its reply. Fails if the turn failed."""
    last = list(turn)[-1]
    assert isinstance(last, TurnFinished), last
    return last.reply


def failure(turn: Iterator[Event]) -> TurnFailed:
    """Take a turn to its failure."""
    last = list(turn)[-1]
    assert isinstance(last, TurnFailed), last
    return last


FACTS = ("The owner's boat is called Albatross", "The owner moors the boat in Kiel")


def compacting(system: str, quoted: str) -> str:
    """What a model answers at compaction that takes what is said of boats, and summarises."""
    if "long-term memory of an owner" not in system:
        return "They spoke of a boat."
    known, _, said = quoted.partition("[TRANSCRIPT]")
    listed = []
    for fact in FACTS:
        cited = re.search(rf"^(e\d+) owner: .*{fact.split()[-1]}", said, re.MULTILINE)
        if cited and fact not in known:
            listed.append({"op": "add", "text": fact, "entries": [cited[1]]})
    return json.dumps({"operations": listed})
