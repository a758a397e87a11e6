"""The journal: kept in step between processes, mended at its end, refused in its middle."""

from pathlib import Path

import pytest

from assistant.memory.base import Origin
from assistant.memory.text.identity import digest
from assistant.memory.writing.record.journal import Journal
from assistant.memory.writing.record.writes import Edit, Write, now, scrubbed

EDIT = Edit("MEMORY.md", 3, "", "- tea\n", digest("a"), digest("b"), ("x",), ("y", "z"))


def write(name: str, **fields: object) -> Write:
    return Write(**{"id": name, "time": now(), "action": "remember", "text": name, **fields})  # type: ignore[arg-type]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.jsonl"


def opened(path: Path) -> Journal:
    journal = Journal(path)
    journal.refresh(mend=True)
    return journal


def test_what_is_written_is_read_back_by_another(path: Path) -> None:
    one = write("a", origin=Origin("tool", "s", ("e",)), edits=(EDIT,), request="r", part=2)
    other = opened(path)
    first = opened(path)
    first.begin(one, write("b"))
    other.refresh()
    assert [each.id for each in other.pending()] == ["a", "b"]
    assert other.acknowledged() == []
    first.settle(["a"], ["b"], {"a": "seen"})
    for journal in (other, Journal(path)):
        journal.refresh()
        assert journal.acknowledged() == [one]
        assert journal.pending() == []
        assert journal.of_request("r") == {2: one}
        assert journal.recorded("a") == one
        assert journal.verdict(one.id) == "seen"
        assert journal.saved("MEMORY.md") == digest("b")


def test_an_undo_marks_what_it_reversed(path: Path) -> None:
    journal = opened(path)
    first = write("a")
    journal.begin(first, write("u", action="undo", undoes="a"))
    journal.settle(["a"])
    assert not journal.is_undone(first)
    journal.settle(["u"])
    assert journal.is_undone(first)
    assert journal.entry(first).undone


@pytest.mark.parametrize("torn", [b'{"type":"wri', b"\x00\x00\xff", b"{}"])
def test_a_torn_last_line_is_cut_off_before_the_next_write(path: Path, torn: bytes) -> None:
    journal = opened(path)
    journal.begin(write("a"))
    journal.settle(["a"])
    whole = path.read_bytes()
    path.write_bytes(whole + torn)
    reader = Journal(path)
    reader.refresh()
    assert path.read_bytes() == whole + torn, "another may still be writing it"
    assert [each.id for each in reader.acknowledged()] == ["a"]
    for mender in (reader, journal):
        path.write_bytes(whole + torn)
        mender.refresh(mend=True)
        assert path.read_bytes() == whole
    journal.begin(write("b"))
    assert [each.id for each in opened(path).pending()] == ["b"]


@pytest.mark.parametrize(
    "bad", [b"nonsense", b"[]", b'{"type":"other"}', b'{"type":"done","ids":["?"]}', b"\xff", b""]
)
def test_a_bad_line_in_the_middle_is_named_and_all_else_goes_on(path: Path, bad: bytes) -> None:
    journal = opened(path)
    journal.begin(write("a"), write("b"))
    first, second = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first + bad + b"\n" + second)
    before = path.read_bytes()
    for each in (journal, opened(path)):
        each.refresh()
        assert [one.id for one in each.pending()] == ["a", "b"]
        assert each.damaged() == ({} if b"done" in bad else {2: bad})
    assert path.read_bytes() == before
    journal.settle(["a", "b"])
    assert [one.id for one in opened(path).acknowledged()] == ["a", "b"]


def test_a_rewrite_is_seen_by_a_journal_that_is_open(path: Path) -> None:
    journal, other = opened(path), opened(path)
    journal.begin(write("secret", edits=(EDIT,)), write("b"), write("c"))
    journal.settle(["secret", "b"], ["c"], {"b": "erased"})
    other.refresh()
    journal.rewrite(lambda each: scrubbed(each) if each.text == "secret" else each)
    other.refresh()
    for each in (journal, other, opened(path)):
        assert [(entry.text, entry.purged) for entry in each.acknowledged()] == [
            ("", True),
            ("b", False),
        ]
        assert each.recorded("secret") is None
        assert each.verdict(each.acknowledged()[1].id) == "erased"
        assert each.pending() == []


def test_a_journal_that_is_deleted_is_empty(path: Path) -> None:
    journal = opened(path)
    journal.begin(write("a"))
    path.unlink()
    journal.refresh()
    assert journal.pending() == []
