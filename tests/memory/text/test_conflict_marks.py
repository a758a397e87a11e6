"""The marks of a conflict, as different programs leave them, and what only looks like them."""

import pytest

from assistant.memory.text.conflict_marks import conflict_in, without_marks

ONE, NONE, TWO = "- The key is with Ada", "- The key is lost", "- The key is with Ole"
CONFLICTS = {
    "git": ("<<<<<<< HEAD", ONE, "=======", TWO, ">>>>>>> other"),
    "git, with what was there": (
        "<<<<<<< HEAD", ONE, "||||||| base", NONE, "=======", TWO, ">>>>>>> other",
    ),
    "marks of a length that was set": (
        "<<<<<<<<<<<< HEAD", ONE, "============", TWO, ">>>>>>>>>>>> other",
    ),
    "Subversion": ("<<<<<<< .mine", ONE, "||||||| .r3", NONE, "=======", TWO, ">>>>>>> .r4"),
    "Jujutsu, as a change": (
        "<<<<<<< Conflict 1 of 1", "%%%%%%% Changes from base to side #1", f"-{NONE}", f"+{ONE}",
        "+++++++ Contents of side #2", TWO, ">>>>>>> Conflict 1 of 1 ends",
    ),
    "Jujutsu, in its later form": (
        "<<<<<<< conflict 1 of 1", "%%%%%%% diff from: abc", "\\\\\\\\\\\\\\        to: def",
        f"-{NONE}", f"+{ONE}", "+++++++ ghi", TWO, ">>>>>>> conflict 1 of 1 ends",
    ),
    "Jujutsu, as it was": (
        "<<<<<<< Conflict 1 of 1", "+++++++ Contents of side #1", ONE,
        "------- Contents of base", NONE, "+++++++ Contents of side #2", TWO,
        ">>>>>>> Conflict 1 of 1 ends",
    ),
    "half settled": ("<<<<<<< HEAD", ONE, "=======", TWO),
}  # fmt: skip
INNOCENT = {
    "a heading's underline": ("Keys", "=======", "", ONE),
    "a quote in a quote": (ONE, "", ">>>>>>> That is what he said"),
    "an example": ("```", *CONFLICTS["git"], "```", ONE),
    "four quotes deep": (">>>> ORIGINAL words", "", ONE, "<<<<", "==== THEIRS"),
    "a mark alone": ("<<<<<<< HEAD", ONE, "", "-------", "", TWO),
    "two of other lengths": ("<<<<<<< HEAD", ONE, "", "Keys", "==========", TWO),
}


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("lines", CONFLICTS.values(), ids=CONFLICTS)
def test_the_marks_of_a_conflict_are_known_and_are_no_facts(
    lines: tuple[str, ...], ending: str
) -> None:
    text = ending.join(["# Memory", "", *lines, ""])
    assert conflict_in(text) == 3
    shown = without_marks(text)
    assert len(shown) == len(text)
    left = [line.strip() for line in shown.split("\n")[2:] if line.strip()]
    assert left == [line for line in lines if line.lstrip("+-").startswith((" The", "- The"))]


@pytest.mark.parametrize("lines", INNOCENT.values(), ids=INNOCENT)
def test_what_only_looks_like_a_conflict_is_none(lines: tuple[str, ...]) -> None:
    text = "\n".join(lines)
    assert conflict_in(text) is None
    assert without_marks(text) == text
