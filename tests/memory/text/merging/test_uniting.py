"""Two versions of a memory file, united fact by fact."""

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from assistant.memory.text.conflict_marks import conflict_in
from assistant.memory.text.merge import merge_copy, merge_texts

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
        (("**a**", "b"), ("a <!-- core -->", "b"), ("**a** <!-- core -->", "b")),
        (("a <!-- core -->", "b"), ("a <!-- for: trips -->", "b"),
         ("a <!-- core --> <!-- for: trips -->", "b")),
        (("a <!-- core -->", "b"), ("a <!-- not core --> <!-- 2026-11-20 -->", "b"),
         ("a <!-- not core --> <!-- 2026-11-20 -->", "b")),
        (("a", "b", "new <!-- core -->"), ("a", "b", "new <!-- 2026-11-20 -->"),
         ("a", "b", "new <!-- core --> <!-- 2026-11-20 -->")),
        (("~~a~~ (superseded 2026-11-22: b)", "b"), ("a <!-- core -->", "b"),
         ("~~a~~ (superseded 2026-11-22: b) <!-- core -->", "b")),
        (("a",), ("a", "b\n  - more\n  and more"), ("a", "more", "and more")),
    ],
)  # fmt: skip
def test_facts_are_united(
    ours: tuple[str, ...], theirs: tuple[str, ...], both: tuple[str, ...]
) -> None:
    base, one, other = memory("a", "b"), memory(*ours), memory(*theirs)
    assert merge_texts(base, one, other).text == memory(*both)
    assert merge_texts(base, other, one).text == memory(*both)


def test_a_comment_that_one_side_took_from_a_fact_is_gone() -> None:
    base = memory("a <!-- core --> <!-- for: trips -->")
    ours, theirs = memory("a <!-- core -->"), memory("a <!-- for: trips, tea -->")
    assert merge_texts(base, ours, theirs).text == memory("a <!-- for: trips, tea -->")
    theirs = memory("a <!-- for: trips -->")
    assert merge_texts(base, ours, theirs).text == memory("a")


def test_facts_added_at_two_places_stand_once() -> None:
    base = memory("a") + "\n## Later\n\n- z\n"
    ours = memory("a", "new") + "\n## Later\n\n- z\n"
    theirs = memory("a") + "\n## Later\n\n- z\n- new\n"
    assert merge_texts(base, ours, theirs).text.count("- new\n") == 1


def test_prose_that_both_changed_is_left_to_the_owner_and_facts_are_not() -> None:
    base = memory("a")
    ours = memory("a", "x", head="# Memory\n\nWhat I know now.\n\n")
    theirs = memory("a", "y", head="# Memory\n\nWhat we know.\n\n")
    done = merge_texts(base, ours, theirs)
    assert done.conflicts == 1 and conflict_in(done.text) == 3
    assert done.text.endswith("- a\n- x\n- y\n")
    assert "<<<<<<< ours\nWhat I know now.\n=======\nWhat we know.\n>>>>>>> theirs\n" in done.text
    assert conflict_in(ours) is None
    fence = "```\n- no fact\n# no heading\n```\n"
    assert merge_texts(f"{base}\n{fence}", f"{ours}\n{fence}", f"{base}\n{fence}").text.endswith(
        fence
    )


PROSE = {
    "paragraph": ("What I know.\nOf it all.\n", "What I know now.\nOf it all.\n"),
    "paragraph split": ("What I know.\n", "What I know\n\nnow.\n"),
    "code": ("```\n- no fact\n\n# no heading\n```\n", "```\n- no fact yet\n\n# no heading\n```\n"),
    "table": ("| a | b |\n|---|---|\n| 1 | 2 |\n", "| a | b |\n|---|---|\n| 1 | 3 |\n"),
    "quote": ("> Said once.\n> So.\n", "> Said twice.\n> So.\n"),
    "comment": ("<!-- a note -->\n", "<!-- another note -->\n"),
    "comment deleted": ("<!-- a note -->\n\n", ""),
}
PROSE_AT = {
    "above": "# Memory\n\n{}\n## Facts\n\n- a\n- b\n- c\n\n## More\n\n- z\n",
    "before facts": "# Memory\n\n## Facts\n\n{}\n- a\n- b\n- c\n\n## More\n\n- z\n",
    "between facts": "# Memory\n\n## Facts\n\n- a\n\n{}\n- b\n- c\n\n## More\n\n- z\n",
    "behind facts": "# Memory\n\n## Facts\n\n- a\n- b\n- c\n\n{}\n## More\n\n- z\n",
}
FACTS = {
    "add last": ("- c\n", "- c\n- new\n"),
    "add first": ("- a\n", "- 0 new\n- a\n"),
    "edit": ("- b\n", "- b, corrected\n"),
    "nest": ("- b\n", "- b\n  - in it\n"),
    "delete": ("- b\n", ""),
    "supersede": ("- b\n- c\n", "- ~~b~~ (superseded 2026-11-22: y)\n- c\n- y\n"),
    "swap": ("- b\n- c\n", "- c\n- b\n"),
    "file elsewhere": ("- z\n", "- z\n- c\n"),
}


@pytest.mark.parametrize("facts", FACTS)
@pytest.mark.parametrize("at", PROSE_AT)
@pytest.mark.parametrize("prose", PROSE)
def test_prose_that_one_side_changed_stands_as_it_has_it(prose: str, at: str, facts: str) -> None:
    before, after = PROSE[prose]

    def facts_changed(text: str) -> str:
        moved = text.replace("- c\n", "") if facts == "file elsewhere" else text
        return moved.replace(*FACTS[facts])

    base, one = (PROSE_AT[at].format(prose) for prose in (before, after))
    one = one.replace("\n\n\n", "\n\n")
    done = merge_texts(base, one, facts_changed(base))
    assert done == merge_texts(base, facts_changed(base), one)
    assert (done.text, done.conflicts) == (facts_changed(one), 0)
    if after:
        third = before.translate({ord("o"): "0", ord("2"): "4"})
        other = PROSE_AT[at].format(third)
        marks = "<<<<<<< ours\n{}=======\n{}>>>>>>> theirs\n"
        for ours, theirs, marked in (
            (one, facts_changed(other), marks.format(after, third)),
            (facts_changed(other), one, marks.format(third, after)),
        ):
            done = merge_texts(base, ours, theirs)
            assert done.text == facts_changed(PROSE_AT[at].format(marked))
            assert done.conflicts == 1


def test_paragraphs_are_merged_each_for_itself() -> None:
    base = "# M\n\nOne.\n\nTwo.\n\n- a\n\nThree.\n"
    ours = base.replace("One.", "Now one.").replace("Three.\n", "Now three.\n\nFour.\n")
    theirs = base.replace("Two.", "Now two.").replace("- a\n", "- a\n- b\n")
    both = ours.replace("Two.", "Now two.").replace("- a\n", "- a\n- b\n")
    assert merge_texts(base, ours, theirs) == merge_texts(base, theirs, ours)
    assert merge_texts(base, ours, theirs).text == both
    same = theirs.replace("One.", "Now one.")
    assert merge_texts(base, ours, same) == merge_texts(base, same, ours)
    assert merge_texts(base, ours, same).text == both
    renamed = base.replace("# M\n", "# Memory\n")
    edited = base.replace("Two.", "Now two.")
    assert merge_texts(base, renamed, edited).text == edited.replace("# M\n", "# Memory\n")
    gone = base.replace("Two.\n\n", "").replace("Three.\n", "")
    one = base.replace("One.", "Now one.")
    assert merge_texts(base, gone, one).text == gone.replace("One.", "Now one.")
    assert "Now two." in merge_texts(base, gone, theirs).text  # what one edited is not deleted


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
    text, left = merge_copy(ours, copy, {"gone"})
    assert text == memory(
        "~~a~~ (superseded 2026-11-22: d)\n  - in it\n  - else",
        "d",
        "~~b~~ (superseded 2026-11-21: c)",
        "~~bb~~ (superseded 2026-11-21: c)",
        "c",
    )
    assert left == ["Else.\n"]
    assert merge_copy(text, copy, {"gone"}) == (text, left)
    assert merge_copy("", "- of a lost log\n") == ("- of a lost log\n", [])
    windows = ours.replace("\n", "\r\n")
    assert merge_copy(windows, copy, {"gone"}) == (text.replace("\n", "\r\n"), left)


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
        self.text = self.text.replace(heading, f"{heading}- {fact}\n", 1)
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
        done = merge_texts(base, one.text, other.text)
        assert done == merge_texts(base, other.text, one.text)
        assert done.conflicts == 0
        assert merge_texts(base, done.text, done.text) == done
        windows, one_windows = (text.replace("\n", "\r\n") for text in (done.text, one.text))
        assert merge_texts(base, one_windows, other.text).text == windows
        assert merge_texts(base, other.text, one_windows) == merge_texts(
            base, one_windows, other.text
        )
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
        text, left = merge_copy(one.text, other.text)
        lines = text.split("\n")
        for fact in one.typed | other.typed:
            assert f"- {fact}" in lines or f"- ~~{fact}~~" in text, (fact, text)
        assert len(facts_of(lines)) == len(set(facts_of(lines))), text
        assert (merge_copy(text, other.text), left) == ((text, []), [])


@pytest.mark.parametrize(
    ("ours", "theirs", "both"),
    [
        (("b", "c", "a"), ("b", "c"), ("b", "c")),
        (("c", "a", "b"), ("a", "~~b~~ (superseded 2026-11-22: y)", "c", "y"),
         ("c", "a", "~~b~~ (superseded 2026-11-22: y)", "y")),
        (("c", "a", "b"), ("a", "b, corrected", "c"), ("c", "a", "b, corrected")),
        (("b", "a", "c"), ("a", "c", "b"), ("b", "a", "c")),
        (("a", "b", "c", "x"), ("c", "a", "y", "b"), ("c", "a", "y", "b", "x")),
    ],
)  # fmt: skip
def test_a_moved_fact_is_what_the_other_side_made_of_it(
    ours: tuple[str, ...], theirs: tuple[str, ...], both: tuple[str, ...]
) -> None:
    base, one, other = memory("a", "b", "c"), memory(*ours), memory(*theirs)
    assert merge_texts(base, one, other).text == merge_texts(base, other, one).text == memory(*both)


def test_a_fact_filed_under_another_heading_takes_its_supersession_along() -> None:
    base = memory("a", "b") + "\n## People\n\n- z\n"
    ours = memory("a") + "\n## People\n\n- z\n- b\n"
    theirs = memory("a", "~~b~~ (superseded 2026-11-22: y)", "y") + "\n## People\n\n- z\n"
    filed = "\n## People\n\n- z\n- ~~b~~ (superseded 2026-11-22: y)\n"
    assert merge_texts(base, ours, theirs).text == memory("a", "y") + filed
    renamed = memory("a", "b") + "\n## Friends\n\n- z\n"
    assert merge_texts(base, renamed, base.replace("- z\n", "- z\n- new\n")).text == (
        memory("a", "b") + "\n## Friends\n\n- z\n\n## People\n\n- new\n"
    )


class Machine(Side):
    """A machine that syncs with the others through one they share; its owner moves lines, too."""

    synced = ""

    def act(self, number: int) -> None:
        lines = self.text.split("\n")
        items = [n for n, line in enumerate(lines) if line.startswith("- ")]
        match self.chance.randrange(4):
            case 0 if items:  # one line elsewhere, under another heading perhaps
                line = lines.pop(self.chance.choice(items))
                at = [n for n, each in enumerate(lines) if each.startswith(("- ", "## "))]
                lines.insert(self.chance.choice(at or [len(lines) - 1]) + 1, line)
                self.text = "\n".join(lines)
            case 1 if items:  # all of them sorted anew
                taken = [lines[n] for n in items]
                self.chance.shuffle(taken)
                for n, line in zip(items, taken, strict=True):
                    lines[n] = line
                self.text = "\n".join(lines)
            case _:
                super().act(number)


def three_machines(seed: int) -> None:
    chance = random.Random(seed)
    base = shared = memory(*(f"Known {n}" for n in range(8)))
    machines = [Machine(base, chance, name) for name in ("Ada", "Ben", "Cem")]
    for machine in machines:
        machine.synced = base
    alive: set[str] = {f"Known {n}" for n in range(8)}
    dead: set[str] = set()

    def sync(machine: Machine) -> None:
        nonlocal shared
        before, now = (set(facts_of(each.split("\n"))) for each in (machine.synced, machine.text))
        dead.update(fact for fact in before - now if not fact.startswith("Both"))  # learnt again
        alive.difference_update(before - now)
        alive.update((now - before) - dead)
        alive.difference_update(dead)
        done = merge_texts(machine.synced, machine.text, shared)
        assert done == merge_texts(machine.synced, shared, machine.text)
        assert done.conflicts == 0
        shared = machine.text = machine.synced = done.text
        there = facts_of(done.text.split("\n"))
        assert len(there) == len(set(there)), ("twice", seed, done.text)
        assert not dead & set(there), ("back", seed, dead & set(there), done.text)
        assert alive <= set(there), ("lost", seed, alive - set(there), done.text)
        struck = set(re.findall(r"^- ~~(.*?)~~", done.text, re.MULTILINE))
        assert superseded & set(there) <= struck, ("unstruck", seed, done.text)
        superseded.update(struck)

    superseded: set[str] = set()
    for number in range(chance.randrange(3, 30)):
        machine = chance.choice(machines)
        if chance.random() < 0.3:
            sync(machine)
        else:
            machine.act(number)
    for machine in machines * 2:
        sync(machine)
    assert {machine.text for machine in machines} == {shared}


def test_three_machines_that_move_lines_bring_nothing_back_and_lose_nothing() -> None:
    for seed in range(60):
        three_machines(seed)


@pytest.mark.slow
def test_nor_in_many() -> None:
    check(3000)
    for seed in range(2000):
        three_machines(seed)
