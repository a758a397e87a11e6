"""What the tests of conversations share: a memory in a list, the rules of message lists, turns."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from assistant.errors import LedgerError, MemoryFailure
from assistant.events import Event, TurnFailed, TurnFinished
from assistant.memory.base import (
    Fact,
    Forgotten,
    JournalEntry,
    MemoryStatus,
    Passage,
    Query,
    Recall,
    Remembered,
)
from assistant.messages import Message
from assistant.session.extraction import key


@dataclass
class ListMemory:
    """`Memory` whose markdown is a list: recalls what shares a long word with the query."""

    facts: list[Fact] = field(default_factory=list)
    waiting: list[Fact] = field(default_factory=list)
    failure: MemoryFailure | None = None
    writes: int = 0

    def recall(self, query: Query) -> Recall:
        if self.failure:
            raise self.failure
        words = {word for word in key(query.text).split() if len(word) > 3}
        found = [
            self._passage(n)
            for n, fact in enumerate(self.facts)
            if words & set(key(fact.text).split())
        ]
        found = found[: query.k or 8]
        return Recall(query.text, sum(each.tokens for each in found), tuple(found))

    def remember(self, facts: Sequence[Fact]) -> tuple[Remembered, ...]:
        if self.failure:
            raise self.failure
        self.writes += 1
        ids = {f"f{n}" for n in range(len(self.facts))}
        if any(fact.replaces and fact.replaces not in ids for fact in facts):
            raise LedgerError("no such fact")
        return tuple(self._remember(fact) for fact in facts)

    def _remember(self, fact: Fact) -> Remembered:
        known = [key(each.text) for each in self.facts]
        if key(fact.text) in known:
            place = known.index(key(fact.text))
            return Remembered("exists", f"f{place}", "MEMORY.md", place + 1, fact.text)
        if fact.origin.kind == "tool":
            if key(fact.text) not in [key(each.text) for each in self.waiting]:
                self.waiting.append(fact)
            return Remembered("waiting", "", "", 0, fact.text)
        self.facts.append(fact)
        place = len(self.facts)
        return Remembered("stored", f"f{place - 1}", "MEMORY.md", place, fact.text)

    def _passage(self, number: int) -> Passage:
        text = self.facts[number].text
        line = number + 1
        return Passage(f"f{number}", f"- {text}", "MEMORY.md", line, line, 0, len(text))

    def locate(self, target: str) -> tuple[Passage, ...]:
        raise NotImplementedError

    def forget(self, passages: Sequence[Passage], *, purge: bool = False) -> Forgotten:
        raise NotImplementedError

    def status(self) -> MemoryStatus:
        raise NotImplementedError

    def log(self, limit: int = 20) -> tuple[JournalEntry, ...]:
        raise NotImplementedError

    def undo(self) -> JournalEntry:
        raise NotImplementedError

    def rebuild(self) -> MemoryStatus:
        raise NotImplementedError

    def close(self) -> None:
        """Nothing to let go of."""


def check_messages(messages: Sequence[Message]) -> None:
    """Assert what OpenAI and Anthropic ask of a request's messages."""
    said = [message for message in messages if message.role != "system"]
    assert [m.role for m in messages[: len(messages) - len(said)]] == ["system"] * (
        len(messages) - len(said)
    ), "system messages stand first"
    assert said and said[0].role == "user", "the owner speaks first"
    assert said[-1].role in ("user", "tool"), "there is something to answer"
    waiting: list[str] = []
    before = ""
    for message in said:
        if message.role == "tool":
            assert message.tool_call_id in waiting, "a result answers a call just made"
            waiting.remove(message.tool_call_id)
            assert message.content, "a result is not empty"
        else:
            assert not waiting, f"every call has its result, {waiting} have none"
            assert message.role != before, f"two {message.role} messages in a row"
            assert message.content.strip() or message.tool_calls, "no message is empty"
            waiting = [call.id for call in message.tool_calls]
            assert len(set(waiting)) == len(waiting) and all(waiting), "calls have ids of their own"
        before = message.role
    assert not waiting, f"every call has its result, {waiting} have none"


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
