"""However a fact came in, and however it is worded: a purge leaves no byte of it."""

import json
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import date
from pathlib import Path

import pytest

from assistant import config
from assistant.memory.base import Fact, Origin
from assistant.memory.embedding.embedder import Embedder
from assistant.memory.local import LocalMemory
from assistant.session import transcript
from assistant.session.entries import (
    AssistantEntry,
    AttachmentEntry,
    CapturedEntry,
    CapturedFact,
    CaptureEntry,
    CitedPassage,
    CompactionEntry,
    Entry,
    NoticeEntry,
    RecalledEntry,
    TitleEntry,
    ToolResultEntry,
    UserEntry,
)
from assistant.settings.tree import Settings
from assistant.workspace import template
from assistant.workspace.folder import Workspace
from tests.cli.memory.test_upkeep import run
from tests.support.daemon import ended
from tests.support.hashing import HashingEmbedder

TODAY = date(2026, 11, 23)
FACTS = (
    "The secret garden lies behind the Quenby mill",
    "Door code: *7741* at Quenby's",
    "Mrs. O'Quenby takes her coffee with salt, never sugar",
    "quenby@harbour.example is Ada's private address",
    "I owe Quenby $1,250.50 for the boat",
    "Der Schlüssel zu Quenbys Gartenhaus hängt über der Tür",
    "Quenby heißt eigentlich „Übermüller“",
    "Am 3. Mai wird Quenby 70 [geheim]",
    "Die Narbe von Quenby kommt von einem Unfall_im_Wald",
    "La contraseña de Quenby está debajo del azulejo azul",
    "¿Sabías? Quenby se casó en secreto con Íñigo",
    "Quenby cobra 2.300 € al mes, según él",
    "L'adresse de Quenby, c'est 12 rue de l'Église",
    "Quenby n'a jamais dit à sa mère qu'il était parti à Nîmes",
    "Le médecin de Quenby s'appelle <Duval> & fils",
)
"""Fifteen wordings in four languages, each with one word that stands nowhere else."""
TELLING = "quenby"
Way = Callable[["Life", str], None]
WAYS: dict[str, Way] = {}


def way(leave: Way) -> Way:
    """A way by which a fact comes in."""
    WAYS[leave.__name__] = leave
    return leave


class Life:
    """A workspace in which things happen before something is forgotten."""

    def __init__(self, place: Workspace, embedder: Embedder) -> None:
        self.place = place
        self.memory = LocalMemory(place, Settings(), embedder, today=lambda: TODAY)

    def tell(self, *facts: Fact | str) -> None:
        self.memory.remember([each if isinstance(each, Fact) else Fact(each) for each in facts])

    def address(self, fact: str) -> str:
        return self.memory.locate(fact).passages[0].id

    def type(self, text: str, name: str = "MEMORY.md") -> None:
        path = self.place.root / name
        path.parent.mkdir(exist_ok=True)
        there = path.read_text(encoding="utf-8") if path.exists() else ""
        path.write_text(f"{there}\n{text}\n", encoding="utf-8")
        self.memory.refresh()

    def change(self, old: str, new: str, name: str = "MEMORY.md") -> None:
        path = self.place.root / name
        text = path.read_text(encoding="utf-8")
        assert old in text
        path.write_text(text.replace(old, new), encoding="utf-8")
        self.memory.refresh()

    def talk(self, *entries: Entry) -> str:
        record = transcript.create(self.place.sessions)
        record.append(UserEntry("Hello"))
        for each in entries:
            record.append(each)
        record.close()
        return record.session


@way
def remembered(life: Life, fact: str) -> None:
    life.tell(fact)


@way
def remembered_in_other_case(life: Life, fact: str) -> None:
    life.tell(fact)
    life.memory.forget(life.memory.locate(fact).passages)
    life.tell(fact.upper())
    life.memory.forget(life.memory.locate(fact.upper()).passages)


@way
def in_the_place_of_another(life: Life, fact: str) -> None:
    life.tell("The old one stands")
    life.tell(Fact(fact, replaces=life.address("The old one stands")))


@way
def replaced_and_told_again(life: Life, fact: str) -> None:
    life.tell(fact)
    life.tell(Fact("Another holds now", replaces=life.address(fact)))


@way
def replaced_twice(life: Life, fact: str) -> None:
    replaced_and_told_again(life, fact)
    life.tell(fact)
    life.tell(Fact("Yet another holds", replaces=life.address(fact)))


@way
def forgotten_and_restored(life: Life, fact: str) -> None:
    life.tell(fact)
    life.memory.forget(life.memory.locate(fact).passages)
    life.memory.undo()


@way
def undone(life: Life, fact: str) -> None:
    life.tell(fact)
    life.memory.undo()


@way
def typed_in_a_file_of_its_own(life: Life, fact: str) -> None:
    life.type(f"# Notes\n\n* {fact}", "memory/notes.md")


@way
def typed_as_a_paragraph(life: Life, fact: str) -> None:
    life.type(f"{fact}\n\nand so on")


@way
def typed_within_an_item(life: Life, fact: str) -> None:
    life.type(f"- People\n  - {fact}\n  - Others")


@way
def typed_and_struck_out(life: Life, fact: str) -> None:
    life.type(f"- ~~{fact}~~")


@way
def typed_and_deleted(life: Life, fact: str) -> None:
    life.tell(fact)
    path = life.place.root / "MEMORY.md"
    kept = [line for line in path.read_text("utf-8").splitlines() if TELLING not in line.lower()]
    path.write_text("\n".join(kept) + "\n", encoding="utf-8")
    life.memory.refresh()


@way
def with_other_line_ends(life: Life, fact: str) -> None:
    life.change("\n", "\r\n")
    life.tell(fact)


@way
def below_a_heading_of_the_owners(life: Life, fact: str) -> None:
    life.type("## People")
    life.tell(Fact(fact, under="People"))


@way
def archived(life: Life, fact: str) -> None:
    replaced_and_told_again(life, fact)
    life.memory.upkeep()


@way
def sorted_in(life: Life, fact: str) -> None:
    life.tell(Fact(fact, recorded="2025-05-08"))
    life.memory.upkeep()


@way
def waiting(life: Life, fact: str) -> None:
    life.tell(Fact(f"A page says: {fact}", origin=Origin("tool")))


@way
def accepted(life: Life, fact: str) -> None:
    life.tell(Fact(fact, origin=Origin("tool")))
    (held,) = life.memory.waiting()
    life.memory.review(held.id, accept=True)


@way
def refused(life: Life, fact: str) -> None:
    life.tell(Fact(fact, origin=Origin("tool")))
    (held,) = life.memory.waiting()
    life.memory.review(held.id, accept=False)


@way
def refused_and_undone(life: Life, fact: str) -> None:
    refused_as_quoted(life, fact)
    life.memory.undo()


@way
def refused_as_quoted(life: Life, fact: str) -> None:
    waiting(life, fact)
    (held,) = life.memory.waiting()
    life.memory.review(held.id, accept=False)


@way
def erased_and_restored(life: Life, fact: str) -> None:
    path = life.place.root / "MEMORY.md"
    before = path.read_bytes()
    life.tell("Comes before", fact)
    path.write_bytes(before)
    life.memory.refresh()
    life.memory.restore([each.id for each in life.memory.erased()])


@way
def said_in_a_chat(life: Life, fact: str) -> None:
    life.talk(UserEntry(f"What about this? {fact}!"))


@way
def said_with_marks(life: Life, fact: str) -> None:
    life.talk(AssistantEntry(f"> «**{fact}**», you said…"), TitleEntry(fact))


@way
def said_in_another_order(life: Life, fact: str) -> None:
    life.talk(UserEntry(" ".join(reversed(fact.split()))))


@way
def returned_by_a_tool(life: Life, fact: str) -> None:
    life.talk(ToolResultEntry("c", "read_file", f"12: {fact}\n13: else"), NoticeEntry(fact))


@way
def attached(life: Life, fact: str) -> None:
    life.talk(AttachmentEntry("notes.txt", f"- {fact.lower()}\n- else"))


@way
def recalled(life: Life, fact: str) -> None:
    life.talk(RecalledEntry((CitedPassage("p", "MEMORY.md:3", f"- {fact}"),)))


@way
def captured(life: Life, fact: str) -> None:
    named = CapturedFact(fact, "owner", ("e1",))
    session = life.talk(CaptureEntry("e1", (named,)), CapturedEntry(("e2",), 1, 0, (fact,)))
    life.tell(Fact(fact, origin=Origin("owner", session, ("e1",))))


@way
def summarised(life: Life, fact: str) -> None:
    life.talk(CompactionEntry(f"They spoke. {fact}.", "e1", 1, 10, 5))


@way
def sent_in_a_prompt(life: Life, fact: str) -> None:
    session = life.talk(UserEntry(fact))
    prompts = life.place.sessions / f"{session}.prompts"
    prompts.write_text(json.dumps({"text": f"Memory:\n- {fact}\nand more"}) + "\n")


@way
def typed_at_the_prompt(life: Life, fact: str) -> None:
    history = config.state_dir() / "prompts"
    history.parent.mkdir(parents=True, exist_ok=True)
    history.write_text(f"\n# 2026-11-21 10:00:00\n+/remember {fact}\n", encoding="utf-8")


@way
def in_a_copy_that_was_taken_in(life: Life, fact: str) -> None:
    life.place.merged.mkdir(parents=True)
    (life.place.merged / "MEMORY (conflict).md").write_text(f"# Memory\n\n- {fact}\n", "utf-8")


@way
def drawn_on_the_map(life: Life, fact: str) -> None:
    (life.place.private / "map.html").write_text(f"<li>{fact}</li>", "utf-8")


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Workspace]:
    made = template.create(tmp_path / "place").workspace
    yield made
    ended(made.root)


def live(place: Workspace, name: str, fact: str, embedder: Embedder) -> None:
    """Have the fact come in this way; in the end it stands in MEMORY.md."""
    life = Life(place, embedder)
    with closing(life.memory):
        WAYS[name](life, fact)
        life.tell(fact, "Ben sails")


def left(place: Workspace) -> set[str]:
    """The files that hold the telling word."""
    found = set()
    for root in (place.root, config.state_dir(), config.cache_dir() / "vectors"):
        for path in (each for each in root.rglob("*") if each.is_file()):
            data = path.read_bytes()
            data = zlib.decompress(data) if path.parent.name == "history" else data
            if TELLING.encode() in data.lower():
                found.add(path.name)
    return found


@pytest.mark.parametrize(
    ("number", "name"),
    [
        value if value[0] == 8 else pytest.param(*value, marks=pytest.mark.slow)
        for value in enumerate(WAYS)
    ],
)
def test_a_purge_leaves_no_byte_however_the_fact_came_in(
    place: Workspace, number: int, name: str
) -> None:
    fact = FACTS[number % len(FACTS)]
    live(place, name, fact, HashingEmbedder())
    assert left(place)
    told = [fact]
    while told:  # where it stands within something else, its place is named, and goes as well
        done = run(place, "forget", told.pop(), "--yes", "--purge", "--sessions")
        assert done.returncode == 0, done.stderr
        told += re.findall(r"assistant forget --purge (\S+)", done.stdout + done.stderr)[:1]
    run(place, "daemon", "stop")
    assert left(place) == set(), (name, fact, done.stdout)
    assert "Ben sails" in (place.root / "MEMORY.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "words", ["The owner grows quenby", "THE OWNER GROWS QUENBY", "grows quenby", "quenby"]
)
def test_a_purge_finds_the_messages_that_an_earlier_one_without_sessions_left(
    place: Workspace, words: str
) -> None:
    fact, said = "The owner grows quenby", "Out at the front is a whole bed of\nquenby of mine"
    history = config.state_dir() / "prompts"
    history.parent.mkdir(parents=True, exist_ok=True)
    typed = said.replace("\n", "\n+")
    history.write_text(f"\n# 2026-11-21 10:00:00\n+{typed}\n\n# 2026-11-21 10:01:00\n+Kept\n")
    life = Life(place, HashingEmbedder())
    with closing(life.memory):
        session = life.talk(
            UserEntry(said),
            AssistantEntry("How they must smell!"),
            CaptureEntry("e3", (CapturedFact(fact, "owner", ("e2",)),)),
            CapturedEntry(("e4",), 1, 0, (fact,)),
        )
        life.tell(Fact(fact, origin=Origin("owner", session, ("e2",))), "Ben sails")
    done = run(place, "forget", fact, "--yes", "--purge")
    assert "past conversations: assistant forget --purge --sessions WORDS" in done.stderr
    done = run(place, "forget", words, "--yes", "--purge", "--sessions")
    assert (done.returncode, done.stderr) == (0, "")
    run(place, "daemon", "stop")
    assert left(place) == set() and history.read_text().endswith("+Kept\n")


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", WAYS)
def test_a_purge_leaves_no_byte_however_it_is_worded(tmp_path: Path, name: str) -> None:
    wrong = []
    for number, fact in enumerate(FACTS):
        made = template.create(tmp_path / f"place-{number}").workspace
        live(made, name, fact, HashingEmbedder())
        memory = LocalMemory(made, Settings(), HashingEmbedder(), today=lambda: TODAY)
        with closing(memory):
            done = memory.purge(memory.locate(fact).passages, sessions=True)
            while named := re.findall(r"assistant forget --purge (\S+)", "\n".join(done.left)):
                done = memory.purge(memory.locate(named[0]).passages, sessions=True)
        wrong += [(fact, file) for file in left(made)]
    assert wrong == []
