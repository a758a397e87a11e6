"""The files of a workspace are found, and read as what they are."""

import os
from pathlib import Path

import pytest

from assistant.errors import StorageError, WorkspaceError
from assistant.workspace import folder as workspace
from assistant.workspace.folder import DEEPEST, Workspace
from tests.support.chunking import chunk
from tests.support.odd import deep_folders, leave_odd_entries

ROOT = Path(__file__).resolve().parents[2]
FILES = ("AGENTS.md", "HEARTBEAT.md", "IDENTITY.md", "MEMORY.md", "SOUL.md", "USER.md")


def test_there_is_none_where_there_is_no_folder(tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError, match="no workspace at"):
        workspace.find(tmp_path / "nowhere")


def test_read_text(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(b"\xef\xbb\xbfone\r\ntwo")
    assert workspace.read_text(path) == "one\r\ntwo"
    path.write_bytes(b"caf\xe9")
    with pytest.raises(StorageError, match=r"a\.md is not UTF-8 text: byte 3"):
        workspace.read_text(path)
    path.write_bytes(b"ab\0")
    with pytest.raises(StorageError, match=r"a\.md is not UTF-8 text: a zero byte at 2"):
        workspace.read_text(path)


@pytest.mark.parametrize("name", FILES)
def test_the_template_is_short_and_teaches(name: str) -> None:
    text = (ROOT / "workspace" / name).read_text(encoding="utf-8")
    assert len(text) < 2_500
    assert text.startswith("<!--")
    assert text.endswith("\n")


def test_the_template_says_where_the_tone_is_changed() -> None:
    text = (ROOT / "workspace/AGENTS.md").read_text(encoding="utf-8")
    found = chunk(text, "AGENTS.md", count_tokens=len, max_tokens=2_000)
    said = [each.plain for each in found if "tone" in each.plain and "IDENTITY.md" in each.plain]
    assert said and "SOUL.md" in said[0]


def test_the_templates_memory_is_empty_and_says_how_to_use_it() -> None:
    text = (ROOT / "workspace/MEMORY.md").read_text(encoding="utf-8")
    assert list(chunk(text, "MEMORY.md", count_tokens=len, max_tokens=2_000)) == []
    for way in ("remember that", "assistant forget", "memory undo", "strike it through"):
        assert way in text


def test_odd_entries_are_named_and_none_is_opened(workspace: Workspace) -> None:
    memory = workspace.root / "memory"
    (memory / "folder.md").mkdir(parents=True)
    for name in ("real.md", "größe.md", "folder.md/in.md"):
        (memory / name).write_text("- Real\n")
    odd = leave_odd_entries(memory)
    os.mkfifo(workspace.root / "AGENTS.md")
    found = workspace.survey()
    assert found.sources == workspace.sources()
    assert found.sources == [
        "MEMORY.md", "memory/folder.md/in.md", "memory/größe.md", "memory/real.md",
    ]  # fmt: skip
    assert found.odd.keys() == {"AGENTS.md", *(f"memory/{name}" for name in odd)}


def test_an_ending_counts_in_any_case_and_a_name_that_no_citation_can_hold_is_named(
    workspace: Workspace,
) -> None:
    memory = workspace.root / "memory"
    for name in ("X.MD", "Über.Md", "sub/trip.mD", "a\nb/in.md", "c\rd.md", "e\u2028f.md", "x.txt"):
        (memory / name).parent.mkdir(parents=True, exist_ok=True)
        (memory / name).write_text("- Real\n")
    found = workspace.survey()
    assert found.sources == ["MEMORY.md", "memory/X.MD", "memory/sub/trip.mD", "memory/Über.Md"]
    names = [r"memory/a\u{a}b", r"memory/c\u{d}d.md", r"memory/e\u{2028}f.md"]
    assert sorted(found.odd) == names
    assert all("a line break" in why for why in found.odd.values())


def test_folders_are_looked_through_to_a_depth(workspace: Workspace) -> None:
    with deep_folders(workspace.root):
        found = workspace.survey()
    assert len(found.sources) == DEEPEST + 2
    ((name, why),) = found.odd.items()
    assert name.startswith("memory/memory/")
    assert len(name) < 200
    assert "folders deep" in why
