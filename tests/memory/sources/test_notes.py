"""Notes where they lie: which there are, recalled beside the owner's facts and by themselves."""

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from assistant.errors import ConfigError, LedgerError, UsageError
from assistant.memory.base import Fact, Passage, Query
from assistant.memory.embedding.polyglot import PolyglotEmbedder
from assistant.memory.index.refresh import Synchronizer
from assistant.memory.local import LocalMemory
from assistant.memory.search.selection import MOST_TOKENS
from assistant.memory.sources import collection
from assistant.memory.sources.library import merged
from assistant.memory.sources.notes import Notes
from assistant.settings.sections import IndexSettings, SourceSettings
from assistant.settings.tree import Settings, validate
from assistant.workspace.folder import Survey, Workspace
from tests.support.documents import docx, pdf

Open = Callable[..., LocalMemory]


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    """A vault with two notes, and all that is none."""
    root = tmp_path / "vault"
    notes = {
        "Boat.md": "The hull is painted by [[Henrik|Henrik Larsen]] each spring.\n",
        "Daily/2026-02-11.md": "- Rowed in fog with Ada\n",
        ".obsidian/templates.json": json.dumps({"folder": "Forms"}),
        ".trash/Gone.md": "zebra\n",
        "Forms/Day.md": "zebra\n",
        "Templates/Day.md": "zebra\n",
        "Map.canvas": "zebra\n",
        "Boat.sync-conflict-20260101-120000-ABCDEFG.md": "zebra\n",
        "Boat (Ada's conflicted copy 2026-01-01).md": "zebra\n",
        "Boat.md.orig": "zebra\n",
    }
    for name, text in notes.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    (root / "Daily" / "up").symlink_to(root)
    (root / "Loop.md").symlink_to(root / "Loop.md")
    (root / "again").symlink_to(root / "Daily")
    return root


@pytest.fixture
def opened(workspace: Workspace, vault: Path, embedder: PolyglotEmbedder) -> Iterator[Open]:
    """Opens memory with the vault as a source."""
    memories = []

    def open_memory(**settings: object) -> LocalMemory:
        source = SourceSettings.model_validate({"name": "vault", "path": str(vault), **settings})
        memories.append(LocalMemory(workspace, Settings(sources=(source,)), embedder))
        return memories[-1]

    yield open_memory
    for memory in memories:
        memory.close()


def found(memory: LocalMemory, words: str, within: str = "") -> list[str]:
    """What is recalled once all notes are indexed."""
    query = Query(words, k=4, within=within)
    memory.recall(query)
    while any(notes.left for notes in memory.status().notes):
        memory.recall(query)
    return [passage.citation for passage in memory.recall(query).passages]


@pytest.mark.parametrize(
    ("globs", "names"),
    [
        ({}, ["Boat.md", "Daily/2026-02-11.md"]),
        ({"include": ("Daily/**",)}, ["Daily/2026-02-11.md"]),
        ({"exclude": ("daily",)}, ["Boat.md"]),
        ({"exclude": ("2026-*.md", "./Boat.md")}, []),
    ],
)
def test_what_is_a_note(
    workspace: Workspace, vault: Path, globs: dict[str, tuple[str, ...]], names: list[str]
) -> None:
    source = SourceSettings.model_validate({"name": "vault", "path": str(vault), **globs})
    assert Notes(workspace, source).survey().sources == names


def test_notes_are_recalled_where_they_lie_and_never_written(opened: Open, vault: Path) -> None:
    before = {path: path.read_bytes() for path in vault.rglob("*") if path.is_file()}
    memory = opened()
    memory.remember([Fact("The boat is insured by Pantaenius")])
    both = found(memory, "who paints the hull of the boat?")
    assert both[0] == "vault:Boat.md:1" and "MEMORY.md:5" in both
    assert found(memory, "hull", "VAULT")[0] == "vault:Boat.md:1"
    for change in (memory.locate, lambda place: memory.remember([Fact("Red", replaces=place)])):
        with pytest.raises(LedgerError, match="never written to") as refused:
            change("Vault:Boat.md:1")
        assert refused.value.cure == f"Edit line 1 of {vault / 'Boat.md'}"
    assert not any("vault" in each for each in found(memory, "hull", "memory"))
    with pytest.raises(UsageError, match="no notes called 'attic'"):
        found(memory, "hull", "attic")
    (state,) = memory.status().notes
    assert (state.name, state.notes, state.left) == ("vault", 2, 0)
    assert {path: path.read_bytes() for path in vault.rglob("*") if path.is_file()} == before
    (vault / "Boat.md").write_text("The hull is painted by Ingrid.\n", encoding="utf-8")
    assert "Ingrid" in memory.recall(Query("hull", within="vault")).passages[0].text


def test_a_source_that_is_away_keeps_what_was_indexed(opened: Open, vault: Path) -> None:
    memory = opened()
    assert found(memory, "hull", "vault")
    away = vault.with_name("away")
    vault.rename(away)
    for _ in range(2):
        recall = memory.recall(Query("who paints the hull"))
        assert recall.passages[0].source == "vault:Boat.md"
        assert "stays searchable" in recall.notices[0]
        vault.mkdir(exist_ok=True)  # what is left where a disk was mounted
    assert any("vault has nothing in" in notice for notice in memory.status().notices)
    shutil.rmtree(vault)
    away.rename(vault)
    assert memory.recall(Query("hull")).notices == ()


@pytest.mark.parametrize("text", ["", "The hull is red.\n"])
def test_no_word_of_a_deleted_note_or_line_stays_in_its_index(
    workspace: Workspace, opened: Open, vault: Path, text: str
) -> None:
    def holding() -> list[Path]:
        index = Notes(workspace, SourceSettings(name="vault", path=str(vault))).index
        files = (path for path in index.rglob("*") if path.is_file())
        return [path for path in files if b"Larsen" in path.read_bytes()]

    memory = opened()
    assert found(memory, "hull", "vault") and holding()
    (vault / "Boat.md").write_text(text) if text else (vault / "Boat.md").unlink()
    assert ("vault:Boat.md:1" in found(memory, "hull", "vault")) == bool(text)
    assert holding() == []


def test_a_workspace_among_the_notes_is_not_recalled_twice(
    workspace: Workspace, embedder: PolyglotEmbedder
) -> None:
    (workspace.root / "memory").mkdir(exist_ok=True)
    for name in ("MEMORY.md", "memory/boat.md", "Diary.md"):
        (workspace.root / name).write_text("- The hull is red\n")
    notes = Notes(workspace, SourceSettings(name="all", path=str(workspace.root.parent)))
    named = [name.removeprefix(f"{workspace.root.name}/") for name in notes.survey().sources]
    assert "Diary.md" in named and not {"MEMORY.md", "memory/boat.md"} & {*named}


class Denied(Notes):
    """A vault with a folder that nobody may look into; root, who runs tests too, always may."""

    def survey(self) -> Survey:
        seen = super().survey()
        if not (self.root / "Daily").exists():
            seen.odd["Daily"] = "cannot be read: Permission denied"
        return seen


def test_a_folder_that_cannot_be_looked_into_keeps_what_was_indexed(
    workspace: Workspace, vault: Path, embedder: PolyglotEmbedder
) -> None:
    notes = Denied(workspace, SourceSettings(name="vault", path=str(vault)))
    index = Synchronizer(notes, embedder, IndexSettings())
    assert index.refresh().changed == ("Boat.md", "Daily/2026-02-11.md")
    shutil.rmtree(vault / "Daily")
    (vault / "Boat.md").unlink()
    done = index.refresh()
    assert (done.changed, [*index.store.catalog.sources()]) == (
        ("Boat.md",), ["Daily/2026-02-11.md"],
    )  # fmt: skip
    assert done.faults == (
        "Daily cannot be read: Permission denied. Its indexed content stays searchable",
    )
    index.close()


def test_what_cannot_be_read_is_told_with_its_source(
    opened: Open, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collection, "SLICE", 60.0)
    monkeypatch.setattr(collection, "PATIENCE", 60.0)
    (vault / "Odd.md").write_bytes(b"\xff\xfe odd, and all that follows can be read\n")
    memory = opened()
    (notice,) = memory.recall(Query("hull")).notices
    assert notice.startswith("vault:Odd.md is not UTF-8")
    assert memory.recall(Query("hull")).notices == ()
    assert notice in memory.status().notices
    for within in ("vault", "", "vault"):
        assert memory.recall(Query("hull", within=within)).notices == ()
    (vault / "Odder.md").write_bytes(b"\xff\xfe odder")
    assert len(memory.recall(Query("hull", within="vault")).notices) == 2
    for within in ("", "vault"):
        assert memory.recall(Query("hull", within=within)).notices == ()
    assert len(memory.status().notices) == 2


def test_progress_ends_though_a_note_cannot_be_read(
    workspace: Workspace, vault: Path, embedder: PolyglotEmbedder
) -> None:
    (vault / "Zero.md").write_bytes(b"\0" * 400)
    source = SourceSettings(name="vault", path=str(vault))
    told: list[tuple[str, int, int]] = []
    memory = LocalMemory(
        workspace, Settings(sources=(source,)), embedder, progress=lambda *line: told.append(line)
    )
    found(memory, "hull")
    assert "Zero.md" in " ".join(memory.status().notices)
    assert told and told[-1][0].startswith("vault: ") and told[-1][1] == told[-1][2]
    told.clear()
    memory.recall(Query("hull"))
    memory.recall(Query("hull", within="vault"))
    assert told == []
    (vault / "New.md").write_text("The mast is new\n")
    assert found(memory, "mast")[0] == "vault:New.md:1" and told[-1][1] == told[-1][2]
    memory.close()


def _passage(number: int, score: float, source: str = "MEMORY.md") -> Passage:
    return Passage(
        f"{source}{number}", "x" * 200, "x" * 200, source, number, number, 0, 200, score=score
    )


def test_facts_that_match_keep_half_of_a_recall_however_much_the_notes_hold() -> None:
    facts = [_passage(n, 10 - n / 10) for n in range(20)]
    notes = [_passage(n, 12 - n / 100, "vault:N.md") for n in range(200)]
    both = merged(facts, notes, 10, 1000)
    assert [each.id for each in both if each in facts] == [each.id for each in facts[:5]]
    assert sum(each.tokens for each in both) <= 1000
    assert merged(facts, [_passage(1, 1.0, "vault:N.md")], 10, 1000) == facts[:10]
    assert len(merged([], notes, 10, 1000)) == 10


def test_facts_about_something_else_take_no_place_of_the_notes(
    workspace: Workspace, vault: Path, opened: Open
) -> None:
    facts = ("Ada is allergic to walnuts", "The bike lock code is 4417", "Coffee without sugar")
    (workspace.root / "MEMORY.md").write_text("".join(f"- {fact}\n" for fact in facts))
    sails = ("The sail is mended by Ruth", "Sails are mended with waxed thread",
             "The torn sail was mended in May", "A sail is mended for 80 euros")  # fmt: skip
    for number, text in enumerate(sails):
        (vault / f"Sail {number}.md").write_text(f"{text}\n")
    assert all(name.startswith("vault:Sail") for name in found(opened(), "mend a sail"))


def test_a_turn_keeps_its_procedure_and_has_one_allowance_for_all_notes(
    workspace: Workspace, tmp_path: Path, embedder: PolyglotEmbedder
) -> None:
    rules = ("greet the neighbours", "water the ferns", "sort the receipts", "wind the clock")
    procedures = "".join(f"- On a {rule} day: {f'{rule}, then rest; ' * 12}\n" for rule in rules)
    (workspace.root / "AGENTS.md").write_text(procedures)
    for number in range(40):
        text = (
            f"The torn sail number {number} is mended with waxed thread, a palm and a needle. " * 2
        )
        note = tmp_path / f"vault{number % 2}" / f"Sail {number}.md"
        note.parent.mkdir(exist_ok=True)
        note.write_text(text)
    sources = tuple(
        SourceSettings(name=name, path=str(tmp_path / name)) for name in ("vault0", "vault1")
    )
    memory = LocalMemory(workspace, Settings(sources=sources), embedder)
    found(memory, "mend a sail")
    turn = Query("mend a torn sail", turn=True, own=("AGENTS.md", 4))
    notes = [each.tokens for each in memory.recall(turn).passages if each.source != "AGENTS.md"]
    in_little_room = memory.recall(replace(turn, budget=500)).passages
    memory.close()
    assert MOST_TOKENS // 2 < sum(notes) <= MOST_TOKENS
    assert "AGENTS.md" in {each.source for each in in_little_room}


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ({"name": "sessions", "path": "/x"}, "another name than memory and sessions"),
        ({"name": "a b", "path": "/x"}, "sources.1.name"),
        ({"name": "vault", "path": "notes"}, "an absolute path"),
        ({"name": "vault", "path": "~nobody-of-this-name/notes"}, "an absolute path"),
    ],
)
def test_a_source_that_cannot_be_is_refused(source: dict[str, str], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        validate({"sources": [source]})


def test_documents_are_notes(vault: Path, opened: Open) -> None:
    (vault / "Lease.PDF").write_bytes(pdf("The rent of the flat is 900 euro"))
    (vault / "Letter.docx").write_bytes(docx("The landlord is called Ines Vogel"))
    (vault / "scan.pdf").write_bytes(pdf(""))
    memory = opened()
    assert found(memory, "what is the rent", "vault")[0] == "vault:Lease.PDF:3"
    (lease,) = memory.recall(Query("rent of the flat", k=1, within="vault")).passages
    assert lease.heading == ("Lease", "Page 1")
    assert found(memory, "who is the landlord", "vault")[0] == "vault:Letter.docx:3"
    (vault / "Lease.PDF").write_bytes(pdf("The rent of the flat is 950 euro"))
    (lease,) = memory.recall(Query("rent of the flat", k=1, within="vault")).passages
    assert "950" in lease.text
    told = " ".join(memory.status().notices)
    assert "scan.pdf cannot be read: it contains no text; it may be a scan" in told
    assert "UTF-8" not in told  # as none of them is
