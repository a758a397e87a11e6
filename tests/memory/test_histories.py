"""Any history of a memory: what stands is recalled, what is gone never, whatever died in between.

A machine of Hypothesis drives the whole of memory (real files, real model, real Chroma) and holds
every answer against `Expected`, which is all that the owner need know of how memory works.
"""

import os
import re
import shutil
import signal
import tempfile
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from assistant.errors import AssistantError, LedgerError
from assistant.memory.base import Fact, Keeper, Passage, Query
from assistant.memory.daemon import client, sockets
from assistant.memory.embedding.polyglot import PolyglotEmbedder
from assistant.memory.local import LocalMemory
from assistant.memory.text.markdown import plain
from assistant.settings.tree import Settings
from assistant.workspace.folder import Workspace
from tests.memory.daemon.daemons import pid
from tests.memory.memory_contract import save_by_rename
from tests.support.chunking import chunk

THINGS = (
    "The door code of the office is {}",
    "Ana's sheep graze near {} in summer",
    "Ben keeps the kayak in shed {}",
    "The café's table number is {} on Fridays",
    "Kim writes `x_1 = *p` and <b>bold</b> in note {}",
    "# {} is how the headline of the flyer begins",
)
VALUES = ("4711", "Porto", "9 ½", "not the old harbour", "zwölf", "[memory]", "1. May")
FACTS = [thing.format(value) for thing in THINGS for value in VALUES]
TYPED = [
    f"{name} owes {sum} for {what}"
    for name in ("Dov", "Eva", "Finn", "Gil", "Hana")
    for sum in ("3 €", "twelve crowns", "nothing")
    for what in ("bread", "the lamp")
]
FILES = ("MEMORY.md", "memory/people.md")
SAVES: tuple[Callable[[Path, str], object], ...] = (
    partial(Path.write_text, encoding="utf-8", newline=""),
    save_by_rename,
)
STRUCK = re.compile(r"^- ~~(.+)~~ \(superseded [\d-]+: (.+)\)$", re.MULTILINE)
TOP = 5
OURS, THEIRS = "The ferry leaves at six", "The ferry leaves at nine"
SAVE_SECONDS = 0.1
MOVES = 1
KILLS = 2
"""Of one history, as the index is probed after each, in a process that loads Chroma: seconds."""
facts, any_number = st.sampled_from(FACTS), st.integers(0, 999)
files, saves = st.sampled_from(FILES), st.sampled_from(SAVES)


@dataclass(frozen=True)
class Expected:
    """What must be recalled: the facts that stand, and of superseded ones their successors."""

    current: frozenset[str] = frozenset()
    superseded: frozenset[tuple[str, str]] = frozenset()

    def plus(self, fact: str) -> "Expected":
        return Expected(self.current | {fact}, self.superseded)

    def minus(self, fact: str) -> "Expected":
        return Expected(self.current - {fact}, self.superseded)

    def replaced(self, old: str, new: str) -> "Expected":
        return Expected(self.current - {old} | {new}, self.superseded | {(old, new)})

    def undone(self, before: "Expected", after: "Expected") -> "Expected":
        return Expected(
            self.current - (after.current - before.current) | (before.current - after.current),
            self.superseded - (after.superseded - before.superseded),
        )


@dataclass(frozen=True)
class Written:
    """A write that can be undone: what was expected before and after, the files, and the edits by
    hand that there had been."""

    before: Expected
    after: Expected
    files: dict[str, str]
    edits: int


class Histories(RuleBasedStateMachine):
    """The memory in this process; a kill puts back the index as it lay on disk."""

    embedder: PolyglotEmbedder

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.workspace = Workspace(Path(self.folder.name).resolve() / "workspace")
        (self.workspace.root / "memory").mkdir(parents=True)
        for name in FILES:
            (self.workspace.root / name).write_text(f"# About {name}\n", encoding="utf-8")
        self.expected = Expected()
        self.writes: list[Written] = []
        self.edits = self.kills = self.moves = self.losses = 0
        self.typed = list(TYPED)
        self.loaded: str | None = None
        self.lost: set[str] = set()
        self.older = ""
        self.learnt: set[str] = set()
        self.memory = self.opened()

    def teardown(self) -> None:
        self.memory.close()
        self.folder.cleanup()

    def opened(self) -> Keeper:
        return LocalMemory(self.workspace, Settings(), self.embedder)

    def killed(self) -> None:
        """The process is gone, and its index as it was that instant."""
        image = Path(self.folder.name) / "image"
        try:
            shutil.copytree(self.workspace.index, image)
        except shutil.Error as error:  # what Chroma's thread was just making anew is left out
            assert all("No such file" in reason for *_, reason in error.args[0]), error
        self.memory.close()
        shutil.rmtree(self.workspace.index)
        image.replace(self.workspace.index)

    # What memory is asked to do

    @initialize(number=any_number)
    def begun(self, number: int) -> None:
        """Some facts are there from the start, or there would be little to confuse."""
        for step in range(4):
            self.remember(FACTS[(number * (step + 1)) % len(FACTS)])

    @rule(fact=facts)
    def remember(self, fact: str) -> None:
        with self.writing() as write:
            (done,) = self.memory.remember([Fact(fact)])
            known = fact in self.expected.current
            assert done.status == ("exists" if known else "stored")
            write(self.expected.plus(fact), changed=not known)
            self.learnt |= set() if known else {fact}

    @rule(number=any_number, fact=facts, by_place=st.booleans())
    @precondition(lambda self: self.expected.current)
    def supersede(self, number: int, fact: str, by_place: bool) -> None:
        old = self.one(number)
        (passage,) = self.memory.locate(old).passages
        target = passage.citation if by_place else passage.id
        with self.writing() as write:
            (done,) = self.memory.remember([Fact(fact, replaces=target)])
            if fact == old:
                assert done.status == "exists"
                write(self.expected, changed=False)
            else:
                assert done.status == "superseded"
                write(self.expected.replaced(old, fact))

    @rule(number=any_number)
    @precondition(lambda self: self.expected.current)
    def forget(self, number: int) -> None:
        gone = self.one(number)
        with self.writing() as write:
            self.memory.forget(self.memory.locate(gone).passages)
            self.lost.discard(gone)
            write(self.expected.minus(gone))

    @rule()
    @precondition(lambda self: self.writes)
    def undo(self) -> None:
        last, text = self.writes[-1], self.texts()
        try:
            self.memory.undo()
        except LedgerError:
            assert self.edits > last.edits, "nothing stood in the way"
            assert self.texts() == text
            return
        self.writes.pop()
        self.expected = self.expected.undone(last.before, last.after)
        if self.edits == last.edits:
            assert self.texts() == last.files

    @rule()
    def restore(self) -> None:
        lost = self.memory.erased()
        texts = {entry.text for entry in lost}
        assert texts <= self.lost
        assert not texts & self.expected.current
        if lost:
            with self.writing() as write:
                self.memory.restore([lost[0].id])  # each is a write of its own, undone by itself
                write(self.expected.plus(lost[0].text))

    # What the owner does to the files

    @rule(name=files, save=saves, at=any_number)
    @precondition(lambda self: self.typed)
    def type_a_fact(self, name: str, save: Callable[[Path, str], object], at: int) -> None:
        fact = self.typed.pop(at % len(self.typed))
        lines = self.text(name).splitlines(keepends=True)
        at = at % len(lines) + 1
        self.save(name, save, "".join([*lines[:at], f"- {fact}\n\n", *lines[at:]]))
        self.expected = self.expected.plus(fact)

    @rule(number=any_number, save=saves)
    @precondition(lambda self: self.expected.current and self.typed)
    def reword_a_fact(self, number: int, save: Callable[[Path, str], object]) -> None:
        old, new = self.one(number), self.typed.pop()
        self.reline(old, f"- {new}\n", save)
        self.expected = self.expected.minus(old).plus(new)
        self.lost.add(old)  # a line typed and one gone may be a stale save: it may be offered

    @rule(number=any_number, save=saves)
    @precondition(lambda self: self.expected.current)
    def delete_a_fact(self, number: int, save: Callable[[Path, str], object]) -> None:
        old = self.one(number)
        self.reline(old, "", save)
        self.expected = self.expected.minus(old)
        self.lost.add(old)  # a copy from before the fact was written would say the same

    @rule(name=files, save=saves, line=st.sampled_from(["# A title", "Some words of mine.", ""]))
    def put_on_top(self, name: str, save: Callable[[Path, str], object], line: str) -> None:
        self.save(name, save, f"{line}\n\n{self.text(name)}")

    @rule()
    def make_a_copy(self) -> None:
        self.older, self.learnt = self.text("MEMORY.md"), set()

    @rule()
    def load_in_an_editor(self) -> None:
        self.loaded = self.text("MEMORY.md")

    @rule(save=saves)
    @precondition(lambda self: self.loaded and self.typed)
    def save_a_stale_buffer(self, save: Callable[[Path, str], object]) -> None:
        """What was written to MEMORY.md since it was loaded is gone; what was there is back."""
        before = self.stated("MEMORY.md")
        self.loaded = f"{self.loaded}- {self.typed.pop()}\n"
        self.save("MEMORY.md", save, self.loaded)
        current = self.stated("MEMORY.md") | self.stated("memory/people.md")
        self.expected = Expected(frozenset(current), frozenset(self.struck()))
        self.lost |= before - current

    @rule(save=saves, steps=st.booleans())
    @precondition(lambda self: self.older)
    def bring_back_an_older_copy(self, save: Callable[[Path, str], object], steps: bool) -> None:
        """All that was learnt since is gone, and offered; a copy in two steps says no more."""
        before = self.stated("MEMORY.md")
        if steps:
            self.save("MEMORY.md", save, self.older[: len(self.older) // 2])
            self.memory.status()
        self.save("MEMORY.md", save, self.older)
        current = self.stated("MEMORY.md") | self.stated("memory/people.md")
        self.expected = Expected(frozenset(current), frozenset(self.struck()))
        gone = before - current
        self.lost |= gone
        offered = {entry.text for entry in self.memory.erased()}
        assert self.learnt & gone <= offered
        self.older = ""

    @rule(fact=facts)
    @precondition(lambda self: self.typed)
    def remember_while_a_save_is_under_way(self, fact: str) -> None:
        """A program that has the file open is waited for, and what it writes stays."""
        typed, before = self.typed.pop(), self.texts()
        known = fact in self.expected.current
        with (self.workspace.root / "MEMORY.md").open("a", encoding="utf-8") as file:
            saving = threading.Timer(
                SAVE_SECONDS, lambda: (file.write(f"\n- {typed}\n"), file.close())
            )
            saving.start()
            (done,) = self.memory.remember([Fact(fact)])
            saving.join()
        assert done.status == ("exists" if known else "stored")
        self.edits += 1
        self.expected = self.expected.plus(typed)
        if not known:
            saved = before | {"MEMORY.md": f"{before['MEMORY.md']}\n- {typed}\n"}
            after = self.expected.plus(fact)
            self.writes.append(Written(self.expected, after, saved, self.edits))
            self.expected = after
            self.learnt |= {fact}

    @rule(name=files, fact=facts)
    def merge_badly(self, name: str, fact: str) -> None:
        """Nothing is written into a conflict, which its owner settles."""
        text = self.text(name)
        conflict = f"{text}\n<<<<<<< ours\n- {OURS}\n=======\n- {THEIRS}\n>>>>>>> theirs\n"
        self.save(name, SAVES[0], conflict)
        found = self.memory.recall(Query(OURS, k=TOP)).passages
        assert not any(mark in each.text for each in found for mark in ("<<<", "===", ">>>"))
        if name == "MEMORY.md" and fact not in self.expected.current:
            with pytest.raises(AssistantError):
                self.memory.remember([Fact(fact)])
        assert self.text(name) == conflict
        self.save(name, SAVES[0], text)

    # What befalls the process and its index

    @rule()
    @precondition(lambda self: self.moves < MOVES)
    def move(self) -> None:
        """The folder goes elsewhere; whoever has it open writes nothing where it was."""
        self.moves += 1
        before, old = self.ids(), self.workspace.root
        moved = Workspace(old.with_name(f"moved-{self.moves}"))
        old.rename(moved.root)
        with pytest.raises(AssistantError):
            self.memory.remember([Fact("Nobody is at home here")])
        self.memory.close()
        assert not old.exists()
        self.workspace = moved
        self.memory = self.opened()
        assert self.ids() == before

    @rule()
    @precondition(lambda self: self.kills < KILLS)
    def kill(self) -> None:
        self.kills += 1
        before = self.ids()
        self.killed()
        self.memory = self.opened()
        assert self.ids() == before

    @rule()
    def restart(self) -> None:
        before = self.ids()
        self.memory.close()
        self.memory = self.opened()
        assert self.ids() == before

    @rule()
    def rebuild(self) -> None:
        before = self.ids()
        self.memory.rebuild()
        assert self.ids() == before

    @rule(lost=st.sampled_from(["index", "index/chroma", "index/catalog.db"]))
    def lose(self, lost: str) -> None:
        before = self.ids()
        path = self.workspace.private / lost
        while path.exists():  # Chroma's own threads may still write
            path.unlink() if path.is_file() else shutil.rmtree(path, ignore_errors=True)
        assert self.ids() == before
        assert all("\n" not in notice for notice in self.memory.status().notices)

    # What must hold after each of these

    @invariant()
    def what_stands_is_recalled_and_what_is_gone_is_not(self) -> None:
        known = self.expected
        for fact in known.current | {old for old, _ in known.superseded}:
            passages = self.memory.recall(Query(fact, k=TOP)).passages
            said = [self.verbatim(passage) for passage in passages]
            assert {passage.status for passage in passages} <= {"current"}
            assert set(said) <= known.current | {"Some words of mine."}
            assert (fact in said) == (fact in known.current), said

    @invariant()
    def what_was_superseded_is_recalled_if_asked_for_and_below_its_successor(self) -> None:
        room = 4 * TOP + len(self.expected.superseded)  # all that came after it stands above it
        for old, _ in self.expected.superseded:
            query = Query(old, k=room, budget=100 * room, include_superseded=True)
            found = self.memory.recall(query).passages
            said = [(passage.status, self.verbatim(passage)) for passage in found]
            assert ("superseded", old) in said
            for above, new in self.expected.superseded:
                if ("superseded", above) in said and ("current", new) in said:
                    assert said.index(("current", new)) < said.index(("superseded", above))

    @invariant()
    def no_fact_stands_twice(self) -> None:
        stated = Counter(fact for name in FILES for fact in self.items(name))
        assert max(stated.values(), default=1) == 1, stated
        assert set(stated) == set(self.expected.current)

    # Parts

    def one(self, number: int) -> str:
        return sorted(self.expected.current)[number % len(self.expected.current)]

    def text(self, name: str) -> str:
        return (self.workspace.root / name).read_bytes().decode()

    def texts(self) -> dict[str, str]:
        return {name: self.text(name) for name in FILES}

    def save(self, name: str, save: Callable[[Path, str], object], text: str) -> None:
        save(self.workspace.root / name, text)
        self.edits += 1

    def reline(self, fact: str, line: str, save: Callable[[Path, str], object]) -> None:
        """Put another line in the place of a fact's."""
        (passage,) = self.memory.locate(fact).passages
        text = self.text(passage.source)
        lines = text.splitlines(keepends=True)
        lines[passage.start_line - 1] = line
        self.save(passage.source, save, "".join(lines))

    def items(self, name: str) -> list[str]:
        found = chunk(self.text(name), name, count_tokens=len, max_tokens=10_000)
        return [
            each.plain
            for each in found
            if each.status == "current" and each.plain != "Some words of mine."
        ]

    def stated(self, name: str) -> set[str]:
        return set(self.items(name))

    def struck(self) -> set[tuple[str, str]]:
        """The facts that are struck out in the files, with their successors."""
        found = (each for name in FILES for each in STRUCK.findall(self.text(name)))
        return {(plain(old), plain(new)) for old, new in found}

    def ids(self) -> dict[str, str]:
        """The facts that stand, by id."""
        return {self.memory.locate(fact).passages[0].id: fact for fact in self.expected.current}

    def verbatim(self, passage: Passage) -> str:
        """What a passage says, which is the file's own text at the place that it cites."""
        text = self.text(passage.source)
        assert passage.text == text[passage.start_char : passage.end_char]
        assert text.split("\n")[passage.start_line - 1].endswith(passage.text.split("\n")[0])
        return plain(passage.text)

    def writing(self) -> "Writing":
        return Writing(self)


class Writing:
    """A write in the making: `write(expected, changed=…)` tells what came of it."""

    def __init__(self, machine: Histories) -> None:
        self.machine = machine
        self.before, self.files = machine.expected, machine.texts()

    def __enter__(self) -> Callable[..., None]:
        return self.done

    def __exit__(self, *exc_info: object) -> None:
        pass

    def done(self, expected: Expected, *, changed: bool = True) -> None:
        self.machine.expected = expected
        if changed:
            self.machine.writes.append(
                Written(self.before, expected, self.files, self.machine.edits)
            )
        else:
            assert self.machine.texts() == self.files


class DaemonHistories(Histories):
    """The memory behind a daemon, which is killed for real, or loses its socket."""

    @rule()
    @precondition(lambda self: self.losses < MOVES)
    def lose_the_socket(self) -> None:
        """As when a logout removes the runtime directory."""
        self.losses += 1
        before = self.ids()
        for path in list(sockets.paths(self.workspace.root)):
            path.unlink(missing_ok=True)
        self.memory.close()
        self.memory = self.opened()
        assert self.ids() == before

    def opened(self) -> Keeper:
        return client.connect(self.workspace, {})

    def killed(self) -> None:
        os.kill(pid(self.workspace), signal.SIGKILL)
        self.memory.close()

    def teardown(self) -> None:
        self.killed()
        self.folder.cleanup()


def run(machine: type[Histories], examples: int, steps: int) -> None:
    run_state_machine_as_test(
        machine,
        settings=settings(
            phases=[Phase.generate],  # a step takes a tenth of a second: a failure is told as met
            max_examples=examples,
            stateful_step_count=steps,
            derandomize=examples < 50,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


@pytest.fixture(autouse=True)
def model(embedder: PolyglotEmbedder) -> None:
    Histories.embedder = embedder


@pytest.mark.timeout(1200)
def test_histories() -> None:
    run(Histories, examples=2, steps=20)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_many_histories() -> None:
    run(Histories, examples=400, steps=40)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_histories_of_a_daemon_that_is_killed() -> None:
    run(DaemonHistories, examples=60, steps=25)
