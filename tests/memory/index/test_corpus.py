"""What is wrong with files, told until it is right again."""

from assistant.disk.storage import Stat
from assistant.memory.index.corpus import KEPT, Faults, text_warning
from assistant.workspace.folder import Survey

NAME = "memory/log.md"
STAT = Stat(1, 10, 2, 3)
LATER = Stat(1, 11, 4, 5)
CONFLICT = b"- one\n<<<<<<< ours\n- two\n=======\n- three\n>>>>>>> theirs\n"


def test_a_file_at_fault_is_known_until_it_changes() -> None:
    faults = Faults()
    faults.add(NAME, STAT, "is not UTF-8 text", indexed=False)
    assert faults.lines() == (f"{NAME} is not UTF-8 text",)
    assert faults.has(NAME, STAT) and not faults.has(NAME, LATER)
    faults.add(NAME, LATER, "cannot be read", indexed=True)
    assert faults.lines() == (f"{NAME} cannot be read; its indexed content stays searchable",)
    faults.clear()
    assert faults.lines() == () and not faults.has(NAME, LATER)


def test_of_a_file_that_is_gone_nothing_is_wrong() -> None:
    faults = Faults()
    faults.add(NAME, STAT, "cannot be read", indexed=False)
    faults.update(Survey([NAME], {}), [])
    assert faults.lines()
    faults.update(Survey([], {}), [NAME])
    assert faults.lines() == ()


def test_what_lies_below_a_folder_that_cannot_be_looked_into_is_not_gone() -> None:
    faults = Faults()
    survey = Survey([], {"memory/private": "cannot be read", "memory/odd.md": "is not a file"})
    unseen = faults.update(survey, ["memory/private/a/b.md", "memory/privately.md"])
    assert unseen == {"memory/private/a/b.md"}
    assert faults.lines() == (
        f"memory/private cannot be read. {KEPT}",
        "memory/odd.md is not a file. It is left out",
    )


def test_a_file_that_holds_a_conflict_is_doubted() -> None:
    assert text_warning(CONFLICT).startswith("has an unresolved merge conflict (line 2)")
    assert text_warning(b"- one\n") == ""
