"""What the chat says once of what waits for the owner."""

from datetime import date

from assistant import config
from assistant.app.chat import REMAINS, open_chat
from assistant.app.options import ChatOptions
from assistant.disk import storage
from assistant.errors import MemoryFailure, StorageError
from assistant.events import Notice
from assistant.memory.base import Due, Fact, Held, JournalEntry, Origin, Returned
from assistant.upkeep.agenda import once_a_day, undecided
from assistant.workspace import trust
from assistant.workspace.folder import Workspace
from tests.support.conversations import ListMemory


class Undecided(ListMemory):
    """A memory from which a save erased a fact."""

    def erased(self) -> tuple[JournalEntry, ...]:
        return (JournalEntry("j1", "", "remember", "MEMORY.md", "Ben sails", Origin()),)

    def returned(self) -> tuple[Returned, ...]:
        return (Returned("j2", "MEMORY.md", 4, "Ben rows", purged=False),)


class DuelessMemory(ListMemory):
    def due(self, first: str, last: str) -> tuple[Due, ...]:
        return ()


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
        "1 forgotten fact was brought back by a save: `assistant memory restore`",
    ]


def test_a_damaged_file_is_named_and_a_failing_memory_is_recalls_to_tell() -> None:
    damaged = StorageError("review.jsonl:1 is damaged", "Put the line right")
    assert undecided(Broken(damaged)) == [str(damaged)]
    assert undecided(Broken(MemoryFailure("the daemon is gone"))) == []


def test_what_waits_is_shown_once_a_day_and_again_when_it_has_changed(workspace: Workspace) -> None:
    day = date(2026, 11, 26)
    storage.private_directory(workspace.private)
    storage.replace(workspace.day, b"2026-11-26")  # what is due today was shown
    for held, when, shown in (
        ("a", day, "1 fact waits"),
        ("a", day, ""),
        ("ab", day, "2 facts wait"),
        ("ab", day, ""),
    ):
        memory = ListMemory(held=list(map(Fact, held)))
        lines = once_a_day(workspace, memory, when, undecided(memory))
        assert [line.startswith(shown) for line in lines] == ([True] if shown else [])
        assert once_a_day(workspace, memory, when, ()) == []
    storage.replace(workspace.day, storage.read(workspace.day).replace(b"26", b"25"))
    (again,) = once_a_day(workspace, DuelessMemory(held=[Fact("a")]), day, undecided(memory))
    assert again.startswith("2 facts wait")


def test_a_notice_about_a_name_that_is_not_utf_8_is_shown_once(workspace: Workspace) -> None:
    day, notice = date(2026, 11, 26), "skills/a\udcff cannot be read"
    assert notice in once_a_day(workspace, DuelessMemory(), day, [notice])
    assert once_a_day(workspace, DuelessMemory(), day, [notice]) == []


def test_rules_and_skills_without_effect_are_named_once_a_day(workspace: Workspace) -> None:
    trust.grant(workspace)
    config.config_file().parent.mkdir(parents=True, exist_ok=True)
    config.config_file().write_text('[policy]\nask = ["shel:git *"]\n')
    (workspace.skills / "tea").mkdir(parents=True)
    (workspace.skills / "tea" / "SKILL.md").write_text("no front matter\n")

    def notices(off_the_record: bool = False) -> str:
        options = ChatOptions(off_the_record=off_the_record)
        with open_chat(workspace, options, no_daemon=True) as chat:
            return "\n".join(e.text for e in chat.send("hello") if isinstance(e, Notice))

    first = notices()
    assert "'shel:git *', but no tool is called 'shel'; did you mean shell?" in first
    assert "tea" in first
    assert notices() == ""
    assert notices(off_the_record=True) == notices(off_the_record=True) == f"{first}\n{REMAINS}"
    storage.replace(workspace.day, b"2020-01-01")
    assert "no tool is called" in notices()
