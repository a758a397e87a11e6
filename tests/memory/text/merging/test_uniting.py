"""Two versions of a memory file, united fact by fact."""

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from assistant.memory.text.merge import marked_line, taken_in, united

HEAD = "# Memory\n\nWhat I know.\n\n"


def memory(*facts: str, day: str = "2026-11-20", head: str = HEAD) -> str:
    return f"{head}## Remembered -- {day}\n\n" + "".join(f"- {fact}\n" for fact in facts)


@pytest.mark.parametrize(
    ("ours", "theirs", "both"),
    [
        (("a", "b", "x"), ("a", "b", "y"), ("a", "b", "x", "y")),
        (("a", "b", "same"), ("a", "b", "same"), ("a", "b", "same")),
        (("a",), ("a", "b", "y"), ("a", "y")),
        (("a",), ("a", "~~b~~ (superseded 2026-11-22: y)", "y"), ("a", "y")),
        (
            ("~~a~~ (superseded 2026-11-22: x)", "b", "x"),
            ("~~a~~ (superseded 2026-11-21: y)", "b", "y"),
            ("~~a~~ (superseded 2026-11-22: x)", "b", "x", "~~y~~ (superseded 2026-11-22: x)"),
        ),
        (
            ("~~a~~ (superseded 2026-11-22: x)", "b", "x"),
            ("~~a~~ (superseded 2026-11-22: y)", "b", "y"),
            ("~~a~~ (superseded 2026-11-22: y)", "b", "x", "y"),
        ),
        (("~~a~~", "b"), ("~~a~~ (superseded 2026-11-21: y)", "b", "y"),
         ("~~a~~ (superseded 2026-11-21: y)", "b", "y")),
        (("a, corrected", "b"), ("a", "b", "y"), ("a, corrected", "b", "y")),
        (("a", "b\n  - more"), ("a", "b\n  - else"), ("a", "b\n  - else\n  - more")),
        (("**a**", "b"), ("a", "b"), ("**a**", "b")),
        (("a",), ("a", "b\n  - more\n  and more"), ("a", "more", "and more")),
    ],
)  # fmt: skip
def test_facts_are_united(
    ours: tuple[str, ...], theirs: tuple[str, ...], both: tuple[str, ...]
) -> None:
    base, one, other = memory("a", "b"), memory(*ours), memory(*theirs)
    assert united(base, one, other).text == memory(*both)
    assert united(base, other, one).text == memory(*both)


def test_facts_added_at_two_places_stand_once() -> None:
    base = memory("a") + "\n## Later\n\n- z\n"
    ours = memory("a", "new") + "\n## Later\n\n- z\n"
    theirs = memory("a") + "\n## Later\n\n- z\n- new\n"
    assert united(base, ours, theirs).text.count("- new\n") == 1


def test_prose_that_both_changed_is_left_to_the_owner_and_facts_are_not() -> None:
    base = memory("a")
    ours = memory("a", "x", head="# Memory\n\nWhat I know now.\n\n")
    theirs = memory("a", "y", head="# Memory\n\nWhat we know.\n\n")
    done = united(base, ours, theirs)
    assert done.conflicts == 1 and marked_line(done.text) == 3
    assert done.text.endswith("- a\n- x\n- y\n")
    assert "<<<<<<< ours\nWhat I know now.\n=======\nWhat we know.\n>>>>>>> theirs\n" in done.text
    assert marked_line(ours) is None
    fence = "```\n- no fact\n# no heading\n```\n"
    assert united(f"{base}\n{fence}", f"{ours}\n{fence}", f"{base}\n{fence}").text.endswith(fence)


def test_a_copy_gives_its_facts_and_takes_none() -> None:
    ours = memory("a\n  - in it", "~~b~~ (superseded 2026-11-21: c)", "c")
    copy = memory(
        "A",
        "d",
        "gone",
        "~~a~~ (superseded 2026-11-22: d)\n  - else",
        "~~b~~ (superseded 2026-11-20: bb)",
        "bb",
        head="# Memory\n\nElse.\n\n",
    )
    text, left = taken_in(ours, copy, {"gone"})
    assert text == memory(
        "~~a~~ (superseded 2026-11-22: d)\n  - in it\n  - else",
        "~~b~~ (superseded 2026-11-21: c)",
        "c",
        "d",
        "~~bb~~ (superseded 2026-11-21: c)",
    )
    assert left == ["Else.\n"]
    assert taken_in(text, copy, {"gone"}) == (text, left)
    windows = ours.replace("\n", "\r\n")
    assert taken_in(windows, copy, {"gone"}) == (text.replace("\n", "\r\n"), left)


@dataclass
class Side:
    """One machine's copy, and what its owner did to it."""

    text: str
    chance: random.Random
    name: str
    typed: set[str] = field(default_factory=set)
    deleted: set[str] = field(default_factory=set)

    def current(self) -> list[str]:
        return re.findall(r"^- ([^~\n]+)\n", self.text, re.MULTILINE)

    def act(self, number: int) -> None:
        """One thing that an owner or the assistant does."""
        fact = self.chance.choice(self.current() or ["none"])
        match self.chance.randrange(6):
            case 0 | 1:
                self.remember(f"{self.name} learnt {number}")
            case 2:
                self.remember(f"Both learnt {self.chance.randrange(4)}")
            case 3:
                self.text = self.text.replace(f"- {fact}\n", "")
                self.deleted.add(fact)
                self.typed.discard(fact)
            case 4:
                new, day = f"{self.name} knows better {number}", self.chance.randrange(20, 25)
                struck = f"- ~~{fact}~~ (superseded 2026-11-{day}: {new})\n"
                self.text = self.text.replace(f"- {fact}\n", struck)
                self.typed.discard(fact)
                self.remember(new)
            case 5:
                self.text = self.text.replace(f"- {fact}\n", f"- {fact} ({self.name} {number})\n")
                self.typed.discard(fact)
                self.typed.add(f"{fact} ({self.name} {number})")

    def remember(self, fact: str) -> None:
        if fact in self.current() or f"~~{fact}~~" in self.text:
            return
        heading = f"## Remembered -- 2026-11-{self.chance.randrange(20, 25)}\n\n"
        if heading not in self.text:
            self.text += f"\n{heading}"
        self.text = self.text.replace(heading, f"{heading}- {fact}\n")
        self.typed.add(fact)


def histories(count: int) -> Iterator[tuple[str, Side, Side]]:
    for seed in range(count):
        chance = random.Random(seed)
        base = memory(*(f"Known {n}" for n in range(8)))
        sides = Side(base, chance, "Ada"), Side(base, chance, "Ben")
        for number in range(chance.randrange(1, 14)):
            sides[chance.randrange(2)].act(number)
        yield base, *sides


def facts_of(lines: list[str]) -> list[str]:
    """What the list items say, or said before they were struck out."""
    items = (line for line in lines if line.startswith("- "))
    return [re.sub(r"^- (?:~~)?(.*?)(?:~~ .*)?$", r"\1", item) for item in items]


def check(count: int) -> None:
    for base, one, other in histories(count):
        done = united(base, one.text, other.text)
        assert done == united(base, other.text, one.text)
        assert done.conflicts == 0
        assert united(base, done.text, done.text) == done
        windows, one_windows = (text.replace("\n", "\r\n") for text in (done.text, one.text))
        assert united(base, one_windows, other.text).text == windows
        assert united(base, other.text, one_windows) == united(base, one_windows, other.text)
        lines = done.text.split("\n")
        for side in (one, other):
            for fact in side.typed:
                assert f"- {fact}" in lines or f"- ~~{fact}~~" in done.text, (fact, done.text)
        known = set(re.findall(r"^- (.+)", base, re.MULTILINE))
        assert not {f"- {fact}" for fact in (one.deleted | other.deleted) & known} & set(lines)
        assert len(facts_of(lines)) == len(set(facts_of(lines))), done.text


def test_no_line_is_lost_or_doubled_in_any_history() -> None:
    check(60)


def test_a_conflict_copy_loses_and_doubles_nothing() -> None:
    for _, one, other in histories(60):
        text, left = taken_in(one.text, other.text)
        lines = text.split("\n")
        for fact in one.typed | other.typed:
            assert f"- {fact}" in lines or f"- ~~{fact}~~" in text, (fact, text)
        assert len(facts_of(lines)) == len(set(facts_of(lines))), text
        assert (taken_in(text, other.text), left) == ((text, []), [])


@pytest.mark.slow
def test_nor_in_many() -> None:
    check(3000)
