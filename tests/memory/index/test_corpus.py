"""What is wrong with files, told until it is right again."""

from assistant.memory.index.catalog import Stat
from assistant.memory.index.corpus import KEPT, Faults, doubt
from assistant.workspace.folder import Survey

NAME = "memory/log.md"
STAT = Stat(1, 10, 2, 3)
LATER = Stat(1, 11, 4, 5)
CONFLICT = b"- one\n<<<<<<< ours\n- two\n=======\n- three\n>>>>>>> theirs\n"


def test_a_file_at_fault_is_known_until_it_changes() -> None:
    faults = Faults()
    faults.add(NAME, STAT, "is not UTF-8 text", indexed=False)
    assert faults.told() == (f"{NAME} is not UTF-8 text",)
    assert faults.has(NAME, STAT) and not faults.has(NAME, LATER)
    faults.add(NAME, LATER, "cannot be read", indexed=True)
    assert faults.told() == (
        f"{NAME} cannot be read; what was indexed of it before stays searchable",
    )
    faults.clear()
    assert faults.told() == () and not faults.has(NAME, LATER)


def test_of_a_file_that_is_gone_nothing_is_wrong() -> None:
    faults = Faults()
    faults.add(NAME, STAT, "cannot be read", indexed=False)
    faults.see(Survey([NAME], {}), [])
    assert faults.told()
    faults.see(Survey([], {}), [NAME])
    assert faults.told() == ()


def test_what_lies_below_a_folder_that_cannot_be_looked_into_is_not_gone() -> None:
    faults = Faults()
    survey = Survey([], {"memory/private": "cannot be read", "memory/odd.md": "is no file"})
    unseen = faults.see(survey, ["memory/private/a/b.md", "memory/privately.md"])
    assert unseen == {"memory/private/a/b.md"}
    assert faults.told() == (
        f"memory/private cannot be read. {KEPT}",
        "memory/odd.md is no file. It is left out",
    )


def test_a_file_that_holds_a_conflict_is_doubted() -> None:
    assert doubt(CONFLICT).startswith("holds a conflict of a merge (line 2)")
    assert doubt(b"- one\n") == ""
