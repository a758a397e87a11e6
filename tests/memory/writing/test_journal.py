"""The journal: kept in step between processes, mended at its end, refused in its middle."""

import random
from pathlib import Path

import pytest

from assistant.errors import StorageError
from assistant.memory.base import Origin
from assistant.memory.text.identity import digest
from assistant.memory.writing.journal import Edit, Journal, Purging, Write, now

NAMES = [f"w{number}" for number in range(40)]
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


def said(journal: Journal) -> tuple[object, ...]:
    """All that a journal says of `NAMES` and `MEMORY.md`."""
    journal.refresh()
    records = journal.records.values()
    return (
        list(journal.acknowledged()),
        journal.pending(),
        journal.purges,
        journal.damaged,
        [record.write.id for record in journal.erased()],
        [record.write.id for record in journal.watched("MEMORY.md")],
        [record.write.id for record in journal.of_file("MEMORY.md")],
        journal.written.get("MEMORY.md"),
        [journal.adding(name) for name in NAMES],
        [(each.write, each.item, each.state, each.verdict, each.undone) for each in records],
        [journal.of_request(name) for name in NAMES],
        journal.has_had("MEMORY.md", digest("b")),
        journal.has_made_heading("MEMORY.md", "Auto"),
    )


def test_what_is_written_is_read_back_by_another(path: Path) -> None:
    one = write("a", origin=Origin("tool", "s", ("e",)), edits=(EDIT,), request="r", part=2)
    other = opened(path)
    first = opened(path)
    first.begin(one, write("b"))
    other.refresh()
    assert [each.id for each in other.pending()] == ["a", "b"]
    assert list(other.acknowledged()) == []
    first.settle(["a"], ["b"], {"a": "seen"})
    for journal in (other, Journal(path)):
        journal.refresh()
        assert list(journal.acknowledged()) == [one]
        assert journal.pending() == []
        assert journal.of_request("r") == {2: one}
        assert journal.adding("a") == one
        assert journal.records["a"].verdict == "seen"
        assert journal.written.get("MEMORY.md") == digest("b")


def test_an_undo_marks_what_it_reversed(path: Path) -> None:
    journal = opened(path)
    first = write("a")
    journal.begin(first, write("u", action="undo", undoes="a"))
    journal.settle(["a"])
    assert not journal.entry(first).undone
    journal.settle(["u"])
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
        assert each.damaged == ({} if b"done" in bad else {2: bad})
    assert path.read_bytes() == before
    journal.settle(["a", "b"])
    assert [one.id for one in opened(path).acknowledged()] == ["a", "b"]


def test_a_rewrite_is_seen_by_a_journal_that_is_open(path: Path) -> None:
    journal, other = opened(path), opened(path)
    journal.begin(write("secret", edits=(EDIT,)), write("b"), write("c"))
    journal.settle(["secret", "b"], ["c"], {"b": "erased"})
    other.refresh()
    journal.rewrite(lambda each: each.scrubbed() if each.text == "secret" else each)
    other.refresh()
    for each in (journal, other, opened(path)):
        assert [(entry.text, entry.purged) for entry in each.acknowledged()] == [
            ("", True),
            ("b", False),
        ]
        assert each.adding("secret") is None
        assert each.records["b"].verdict == "erased"
        assert each.pending() == []


def test_a_journal_that_is_deleted_is_empty(path: Path) -> None:
    journal = opened(path)
    journal.begin(write("a"))
    path.unlink()
    journal.refresh()
    assert journal.pending() == []


def test_an_open_journal_follows_whatever_befalls_the_file(path: Path) -> None:
    chance = random.Random(5)
    names = iter(NAMES)
    journal = opened(path)

    def add() -> None:
        begun = [write(name, edits=(EDIT,), request=name) for name in (next(names), next(names))]
        journal.begin(*begun)
        journal.settle([begun[0].id], [], {begun[0].id: chance.choice(["seen", "erased"])})

    def purge() -> None:
        journal.begin(Purging("p", now(), ("w0",), (), {}))
        journal.rewrite(lambda each: each.scrubbed() if chance.random() < 0.2 else each, purged="p")

    def damage() -> None:
        lines = path.read_bytes().splitlines(keepends=True)
        at = chance.randrange(len(lines))
        path.write_bytes(b"".join([*lines[:at], lines[at][:-9] + b"\n", *lines[at + 1 :]]))

    def tear() -> None:
        path.write_bytes(path.read_bytes() + b'{"type": "wri')

    def by_another() -> None:
        other = opened(path)
        other.settle([each.id for each in other.pending()][:1])

    for number in range(60):
        steps = [purge, damage, tear, by_another]
        add() if number % 3 == 0 else chance.choice(steps)()
        journal.refresh(mend=True)
        assert said(journal) == said(Journal(path)), number
    assert journal.watched("MEMORY.md")


def test_a_purge_leaves_no_word_in_the_journal(path: Path) -> None:
    journal = opened(path)
    begun = Purging("p", now(), ("a secret",), (), {})
    journal.begin(write("a", text="a secret", edits=(EDIT,)), write("b"), begun)
    journal.settle(["a", "b"])
    journal.rewrite(lambda each: each.scrubbed() if each.text == "a secret" else each, purged="p")
    assert journal.purges == opened(path).purges == {}
    assert b"secret" not in path.read_bytes()
    assert said(journal) == said(Journal(path))


def test_a_journal_that_cannot_be_looked_at_is_not_an_empty_one(path: Path) -> None:
    journal = opened(path)
    journal.begin(write("a"))
    path.unlink()
    path.symlink_to(path.name)
    with pytest.raises(StorageError, match="cannot be read"):
        journal.refresh()
    path.unlink()
    journal.refresh()
    assert not journal.records
