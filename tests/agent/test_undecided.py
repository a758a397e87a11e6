"""What the chat says once of what waits for the owner."""

from assistant.conversation import undecided
from assistant.errors import MemoryFailure, StorageError
from assistant.memory.base import Fact, Held, JournalEntry, Origin
from tests.support.conversations import ListMemory


class Undecided(ListMemory):
    """A memory from which a save erased a fact."""

    def erased(self) -> tuple[JournalEntry, ...]:
        return (JournalEntry("j1", "", "remember", "MEMORY.md", "Ben sails", Origin()),)


class Broken(ListMemory):
    def __init__(self, error: Exception) -> None:
        super().__init__()
        self._error = error

    def waiting(self) -> tuple[Held, ...]:
        raise self._error


def test_what_waits_is_counted_and_the_command_named() -> None:
    assert undecided(ListMemory()) == []
    assert undecided(ListMemory(held=[Fact("a"), Fact("b")])) == [
        "2 facts wait for your review: `assistant memory review`"
    ]
    assert undecided(Undecided(held=[Fact("a")])) == [
        "1 fact waits for your review: `assistant memory review`",
        "1 fact was erased by a save: `assistant memory restore`",
    ]


def test_a_damaged_file_is_named_and_a_failing_memory_is_recalls_to_tell() -> None:
    damaged = StorageError("review.jsonl:1 is damaged", "Put the line right")
    assert undecided(Broken(damaged)) == [str(damaged)]
    assert undecided(Broken(MemoryFailure("the daemon is gone"))) == []
