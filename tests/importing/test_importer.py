"""Exports taken over, once and again; a workspace exported and restored."""

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from assistant.agent.capture import reading
from assistant.cli.root import cli
from assistant.errors import ImportFailure, UsageError, WorkspaceError
from assistant.importing import archive
from assistant.importing.formats import Export
from assistant.importing.importer import Importer, Report
from assistant.importing.package import Package
from assistant.memory.base import SESSIONS, Fact, Query
from assistant.memory.embedding.polyglot import PolyglotEmbedder
from assistant.memory.local import LocalMemory
from assistant.session import history as turns
from assistant.session import listing, transcript
from assistant.session.entries import AssistantEntry, UserEntry
from assistant.settings.tree import Settings
from assistant.workspace.folder import Workspace
from tests.importing.exports import chatgpt, claude, folder, node, simple, zipped


@pytest.fixture
def memory(workspace: Workspace, embedder: PolyglotEmbedder) -> Iterator[LocalMemory]:
    opened = LocalMemory(workspace, Settings(), embedder)
    yield opened
    opened.close()


def take(
    place: Workspace, path: Path, memory: LocalMemory | None = None, *, again: bool = False
) -> Report:
    export = Export(Package(path))
    importer = Importer(place, export.kind, str, memory, again=again)
    return importer.run(export.items(), lambda _: None)


def test_an_export_is_taken_over_once_and_then_what_is_new(
    workspace: Workspace, memory: LocalMemory, tmp_path: Path
) -> None:
    boat = simple("boat", "Which keel?", "A long one")
    boat["mapping"] |= dict([node("m", "n1", "assistant", "Owns a ketch", recipient="bio")])
    first = zipped(tmp_path / "1.zip", {"conversations.json": [boat, simple("tea", "Which tea?")]})
    dry = take(workspace, first)
    assert (dry.conversations.new, dry.facts.new, dry.written) == (2, 1, False)
    assert not workspace.sessions.exists() and memory.waiting() == ()
    done = take(workspace, first, memory)
    assert (done.conversations.new, done.facts.new) == (2, 1)
    assert [each.fact.text for each in memory.waiting()] == ["Owns a ketch"]
    assert sorted(each.title for each in listing.sessions(workspace.sessions)) == [
        "About boat",
        "About tea",
    ]
    while not (found := memory.recall(Query("keel", k=1, within=SESSIONS)).passages):
        pass  # being indexed: each recall waits for it a while, and the time limit ends the test
    best = found[0]
    assert (best.start_line, best.date) == (1, "2023-11-14")

    memory.review(memory.waiting()[0].id, accept=False)
    tea = next(e.id for e in listing.sessions(workspace.sessions) if e.title == "About tea")
    (workspace.sessions / f"{tea}.jsonl").unlink()
    longer = simple("boat", "Which keel?", "A long one", "And the mast?", "Of spruce")
    longer["mapping"] |= {"m": boat["mapping"]["m"]}
    again = zipped(
        tmp_path / "2.zip",
        {"conversations.json": [longer, simple("tea", "Which tea?"), simple("new", "Hello")]},
    )
    for grown, new in ((1, 1), (0, 0)):
        done = take(workspace, again, memory)
        assert (done.conversations.grown, done.conversations.new) == (grown, new)
        assert (done.facts.new, done.facts.gone) == (0, 1)  # refused once is refused
    boats = transcript.read(workspace.sessions, listing.sessions(workspace.sessions)[0].id)
    assert len({each.id for each in boats}) == len(boats)
    assert len(listing.sessions(workspace.sessions)) == 2


def test_a_fact_without_words_stops_no_other(
    workspace: Workspace, memory: LocalMemory, tmp_path: Path
) -> None:
    told = ["Likes tea", "", " \u200b", "Has a dog"]
    path = tmp_path / "mem0.json"
    path.write_text(json.dumps([{"id": str(n), "memory": each} for n, each in enumerate(told)]))
    for keeper in (None, memory):
        report = take(workspace, path, keeper)
        assert (report.facts.new, report.left_out) == (2, {"empty facts": 2})
    assert [each.fact.text for each in memory.waiting()] == ["Likes tea", "Has a dog"]


def test_what_was_left_out_is_told_to_programs(workspace: Workspace, tmp_path: Path) -> None:
    path = zipped(tmp_path / "1.zip", {"conversations.json": [simple("empty")]})
    done = CliRunner().invoke(cli, ["-w", str(workspace.root), "import", str(path), "--json"])
    assert json.loads(done.stdout)["left_out"] == {"nothing said": 1}


def test_a_conversation_in_which_the_owner_says_nothing_is_named_and_not_counted(
    workspace: Workspace, memory: LocalMemory, tmp_path: Path
) -> None:
    mute = chatgpt("mute", node("a", "root", "assistant", "Hello"))
    nameless = simple("nameless", "One", "Two")
    nameless["mapping"]["n0"]["message"]["author"] = None
    loop = chatgpt("loop", node("a", "b", "user", "One"), node("b", "a", "assistant", "Two"))
    loop["current_node"] = "nowhere"
    told = claude("late", "One", "Two")
    del told["chat_messages"][0]
    for conversations, names, number in (
        ([mute, nameless, loop, simple("good", "One")], ["About mute", "About nameless"], 1),
        ([told], ["About late"], 0),
    ):
        path = zipped(tmp_path / "1.zip", {"conversations.json": conversations})
        for keeper in (None, memory):
            report = take(workspace, path, keeper)
            assert report.left_out_names.pop("nothing said", ["About loop"]) == ["About loop"]
            assert report.left_out_names == {"nothing said by you": names}
            assert report.conversations.found == number
    assert len(listing.sessions(workspace.sessions)) == 1
    done = CliRunner().invoke(cli, ["-w", str(workspace.root), "import", str(path)])
    assert "1 left out: nothing said by you (About late)" in done.stdout


def test_what_was_deleted_here_is_told_from_what_is_here_and_a_file_left_out_fails(
    workspace: Workspace, tmp_path: Path
) -> None:
    notes = folder(tmp_path / "notes", {"Keel.md": "Oak", "Mast.md": "Pine"})
    words = ["-w", str(workspace.root), "--no-daemon", "import", str(notes), "--yes"]
    first = CliRunner().invoke(cli, words)
    assert (
        first.exit_code == 0 and "2 notes: 2 new" in first.stdout and "--again" not in first.stdout
    )
    (workspace.root / "memory/imported/Keel.md").unlink()
    second = CliRunner().invoke(cli, words)
    assert "2 notes: 1 already here, 1 imported before" in second.stdout
    assert "--again also imports what you have deleted" in second.stdout
    (notes / "Rope.md").write_bytes(b"\xff hemp")
    third = CliRunner().invoke(cli, [*words, "--again"])
    assert third.exit_code == 1 and "not read: Rope.md" in third.output
    assert (workspace.root / "memory/imported/Keel.md").read_text() == "Oak"


def test_a_fact_keeps_the_day_it_was_written_down(
    workspace: Workspace, memory: LocalMemory, tmp_path: Path
) -> None:
    there = {
        "MEMORY.md": "## Boats -- 2024-05-06\n- Owns a ketch\n\n## Far -- 2199-01-01\n- A\n",
        "memory/2025-02-03.md": "- Sold the ketch\n",
        "SOUL.md": "Be kind\n",
    }
    take(workspace, folder(tmp_path / "claw", there), memory)
    for held in memory.waiting():
        memory.review(held.id, accept=True)
    dates = {each.text: each.date for each in memory.recall(Query("ketch", k=5)).passages}
    assert (dates["- Owns a ketch"], dates["- Sold the ketch"]) == ("2024-05-06", "2025-02-03")
    assert "2199" not in (workspace.root / "MEMORY.md").read_text()


def test_an_imported_conversation_is_not_read_for_facts(
    workspace: Workspace, memory: LocalMemory, tmp_path: Path
) -> None:
    for said in (("Which tea?", "Green"), ("Which tea?", "Green", "And when?", "At five")):
        take(
            workspace,
            zipped(tmp_path / "1.zip", {"conversations.json": [simple("a", *said)]}),
            memory,
        )
        (session,) = transcript.session_ids(workspace.sessions)
        entries = transcript.read(workspace.sessions, session)
        assert len(turns.group(entries)) == len(said) // 2
        assert not reading.is_left(turns.group(entries), entries)


def test_of_a_conversation_that_went_on_otherwise_what_is_new_is_added(
    workspace: Workspace, memory: LocalMemory, tmp_path: Path
) -> None:
    for number, said in enumerate((["Q", "One answer"], ["Q", "Another"], ["Q", "Another"])):
        path = zipped(tmp_path / f"{number}.zip", {"conversations.json": [simple("a", *said)]})
        take(workspace, path, memory)
    (session,) = transcript.session_ids(workspace.sessions)
    entries = transcript.read(workspace.sessions, session)
    said = [each.text for each in entries if isinstance(each, UserEntry | AssistantEntry)]
    assert said == ["Q", "One answer", "Another"]


def test_notes_become_files_and_what_was_changed_here_stays(
    workspace: Workspace, memory: LocalMemory, tmp_path: Path
) -> None:
    notes = folder(tmp_path / "notes", {"Keel.md": "The keel is oak\n", "A/Mast.md": "Spruce\n"})
    assert take(workspace, notes, memory).documents.new == 2
    assert memory.recall(Query("keel")).passages[0].source == "memory/imported/Keel.md"
    assert take(workspace, notes, memory).documents.known == 2
    (workspace.root / "memory/imported/Keel.md").write_text("The keel is elm\n")
    folder(notes, {"Keel.md": "The keel is teak\n", "A/Mast.md": "Pine\n"})
    done = take(workspace, notes, memory)
    assert (done.documents.grown, done.problems[0].where) == (1, "Keel.md")
    assert (workspace.root / "memory/imported/Keel.md").read_text() == "The keel is elm\n"
    assert memory.undo()[0].origin.kind == "markdown"
    assert (workspace.root / "memory/imported/A/Mast.md").read_text() == "Spruce\n"


def test_the_documents_of_a_project_are_undone_together(
    workspace: Workspace, memory: LocalMemory, tmp_path: Path
) -> None:
    docs = [{"filename": name, "content": text} for name, text in (
        ("Keel.md", "Oak"), ("Keel.md", "Elm"), ("../.." + "ü" * 300, "Teak"))]  # fmt: skip
    project = {"uuid": "p", "name": "Hull", "docs": docs}
    path = folder(tmp_path / "x", {"projects/p.json": json.dumps(project), "conversations.json":
                  json.dumps([{"uuid": "c", "chat_messages": []}])})  # fmt: skip
    assert take(workspace, path, memory).documents.new == 3
    made = list((workspace.root / "memory" / "imported" / "Hull").iterdir())
    assert {each.read_text() for each in made} == {"Oak", "Elm", "Teak"}
    assert take(workspace, path, memory).documents.known == 3
    assert memory.log(1)[0].text == "+3 -0 lines in 3 files"
    assert memory.undo()[0].text == "+0 -3 lines in 3 files"
    assert not any(each.exists() for each in made)
    assert take(workspace, path, memory).documents.gone == 3
    assert take(workspace, path, memory, again=True).documents.new == 3
    assert all(each.exists() for each in made)


def test_a_session_that_cannot_be_gone_on_with_is_named_and_stops_no_other(
    workspace: Workspace, memory: LocalMemory, tmp_path: Path
) -> None:
    said = [simple("boat", "Which keel?"), simple("tea", "Which tea?")]
    take(workspace, zipped(tmp_path / "1.zip", {"conversations.json": said}), memory)
    boat, tea = sorted(listing.sessions(workspace.sessions), key=lambda each: each.title)
    damaged = workspace.sessions / f"{boat.id}.jsonl"
    damaged.write_bytes(damaged.read_bytes().replace(b'"text"', b"text", 1))
    more = [simple(name, f"Which {name}?", "This") for name in ("boat", "tea", "new")]
    later = zipped(tmp_path / "2.zip", {"conversations.json": more})
    opened = transcript.reopen(workspace.sessions, tea.id)
    done = take(workspace, later, memory)
    assert [each.where for each in done.problems] == ["'About boat'", "'About tea'"]
    assert (done.conversations.new, done.conversations.grown) == (1, 0)
    opened.close()
    again = take(workspace, later, memory)
    assert [each.where for each in again.problems] == ["'About boat'"]
    assert (again.conversations.new, again.conversations.grown) == (0, 1)


def test_a_workspace_is_exported_and_restored_to_the_byte(
    workspace: Workspace, memory: LocalMemory, tmp_path: Path
) -> None:
    memory.remember([Fact("Ada has the key"), Fact("Maybe", waits=True)])
    take(workspace, zipped(tmp_path / "1.zip", {"conversations.json": [simple("a", "Hi")]}), memory)
    files = ("memory/Tee ü.md", "skills/x/SKILL.md", ".gitignore", "MEMORY.md.orig", "plans/a.pdf")
    folder(workspace.root, {name: f"{name}\n" for name in files})
    folder(workspace.root, {".git/config": "", ".assistant/heartbeat.json": "{}"})
    (workspace.root / "link.md").symlink_to(tmp_path)
    to = workspace.root / "all.zip"
    names, links = archive.export(workspace, to)
    own = {"MEMORY.md", ".assistant/review.jsonl", ".assistant/heartbeat.json", *files}
    assert links == {"link.md": "a link"} and own <= {*names}
    assert not {"all.zip", ".git/config"} & {*names}
    assert archive.export(workspace, tmp_path / "again.zip")[0] == names
    assert not any("index" in name or name.endswith(".lock") for name in names)
    with pytest.raises(UsageError, match="already exists"):
        archive.export(workspace, to)
    there = tmp_path / "there"
    assert archive.restore(to, there) == names
    assert all((there / n).read_bytes() == (workspace.root / n).read_bytes() for n in names)
    with pytest.raises(WorkspaceError, match="is not empty"):
        archive.restore(to, there)

    torn = tmp_path / "torn.zip"
    data = bytearray(to.read_bytes())
    begin = zipfile.ZipFile(to).getinfo("MEMORY.md").header_offset + 60
    data[begin : begin + 20] = bytes(each ^ 0xFF for each in data[begin : begin + 20])
    torn.write_bytes(data)
    letter, cut = tmp_path / "letter.zip", tmp_path / "cut.zip"
    letter.write_text("Dear all")
    cut.write_bytes(to.read_bytes()[:-100])
    outside_links = {archive.MANIFEST: {"version": 1, "files": {"../../out/x": ""}}}
    for path, why in (
        (torn, "or is damaged"),
        (cut, "or is damaged"),
        (letter, "not an archive of a workspace"),
        (zipped(tmp_path / "out.zip", outside_links), "or is damaged"),
        (zipped(tmp_path / "x.zip", {"conversations.json": []}), "not an archive of a workspace"),
        (tmp_path / "nowhere.zip", "nothing at"),
    ):
        with pytest.raises(ImportFailure, match=why):
            archive.restore(path, tmp_path / "elsewhere")
    assert not (tmp_path / "elsewhere").exists() and not (tmp_path.parent / "out").exists()
    assert json.loads(zipfile.ZipFile(to).read(archive.MANIFEST))["version"] == 1
