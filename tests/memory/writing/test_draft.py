"""A write before it is on disk: one reading a file, edits in memory, all put in place at once."""

import pytest

from assistant.errors import StorageError
from assistant.memory.text.identity import digest
from assistant.memory.text.markdown import line_digest
from assistant.memory.writing.draft import Draft
from assistant.memory.writing.markup import Splice
from assistant.workspace.folder import Workspace


def test_edits_follow_one_another_and_are_saved_together(workspace: Workspace) -> None:
    path = workspace.root / "MEMORY.md"
    path.write_bytes("\ufeff# Memory\r\n\r\n- a\r\n- b\r\n".encode())
    draft = Draft(workspace)
    text = draft.text("MEMORY.md")
    assert text == "# Memory\r\n\r\n- a\r\n- b\r\n"  # no byte-order mark
    first = draft.edit("MEMORY.md", Splice(text.index("- a"), "- a\r\n", ""))
    second = draft.edit("MEMORY.md", Splice(len(draft.text("MEMORY.md")), "", "- c\r\n"))
    assert draft.originals() == {"MEMORY.md": text}
    assert (first.before, first.after) == (digest(text), second.before)
    assert draft.images == {first.removed: "- a\r\n"} and second.removed == ""
    assert first.above == (line_digest("# Memory"),) and first.below == (line_digest("- b"),)
    assert path.read_bytes().endswith(b"- a\r\n- b\r\n")
    assert draft.save()
    assert path.read_bytes() == "\ufeff# Memory\r\n\r\n- b\r\n- c\r\n".encode()


def test_a_file_that_was_saved_meanwhile_is_left_alone(workspace: Workspace) -> None:
    draft = Draft(workspace)
    draft.edit("MEMORY.md", Splice(0, "", "- new\n"))
    (workspace.root / "MEMORY.md").write_text("- the owner's\n")
    assert not draft.save()
    assert (workspace.root / "MEMORY.md").read_text() == "- the owner's\n"


def test_no_file_is_replaced_once_another_of_them_was_saved(workspace: Workspace) -> None:
    memory, archive = (workspace.root / name for name in ("MEMORY.md", "memory/2026.md"))
    archive.parent.mkdir()
    memory.write_text("- moves\n")
    archive.write_text("- old\n")
    draft = Draft(workspace)
    draft.edit("MEMORY.md", Splice(0, "- moves\n", ""))
    draft.edit("memory/2026.md", Splice(0, "", "- moves\n"))
    saved = archive.with_suffix(".tmp")
    saved.write_text("- the owner's\n")
    saved.rename(archive)
    assert not draft.save()
    assert (memory.read_text(), archive.read_text()) == ("- moves\n", "- the owner's\n")


def test_what_is_no_text_is_named_and_what_is_missing_is_empty(workspace: Workspace) -> None:
    (workspace.root / "AGENTS.md").write_bytes(b"- caf\xe9\n")
    draft = Draft(workspace)
    assert not draft.is_text("AGENTS.md")
    with pytest.raises(StorageError, match=r"AGENTS.md is not UTF-8 text \(byte 5\)"):
        draft.text("AGENTS.md")
    assert draft.text("memory/new.md") == ""
    assert draft.originals() == {} and draft.save()
