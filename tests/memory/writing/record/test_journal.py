"""The journal: kept in step between processes, mended at its end, refused in its middle."""

import random
import resource
import shutil
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from assistant.memory.base import Origin
from assistant.memory.text.identity import digest
from assistant.memory.writing.record import lines
from assistant.memory.writing.record.checkpoint import mark
from assistant.memory.writing.record.journal import Journal
from assistant.memory.writing.record.writes import Edit, Purging, Write, now, scrubbed

NAMES = [f"w{number}" for number in range(40)]
EDIT = Edit("MEMORY.md", 3, "", "- tea\n", digest("a"), digest("b"), ("x",), ("y", "z"))


def write(name: str, **fields: object) -> Write:
    return Write(**{"id": name, "time": now(), "action": "remember", "text": name, **fields})  # type: ignore[arg-type]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.jsonl"


def opened(path: Path, short: int = 0) -> Journal:
    """With its checkpoint on the disk, unless it is shorter than `short`."""
    journal = Journal(path, path.parent / "index" / "journal.db", short)
    journal.refresh(mend=True)
    return journal


def said(journal: Journal) -> tuple[object, ...]:
    """All that a journal says of `NAMES` and `MEMORY.md`."""
    journal.refresh()
    known = [write(name) for name in NAMES]
    return (
        list(journal.acknowledged()),
        list(journal.newest()),
        journal.pending(),
        journal.purges(),
        journal.damaged(),
        journal.saves.erased(),
        journal.saves.watched("MEMORY.md"),
        sorted(journal.saves.back("MEMORY.md", {mark("- tea")})),
        sorted(journal.saves.back("MEMORY.md", {mark("- tea"), *range(99)})),
        list(journal.saves.of_source("MEMORY.md", "forget")),
        journal.saves.ours("MEMORY.md"),
        [journal.recorded(name) for name in NAMES],
        [(journal.is_done(each), journal.is_undone(each)) for each in known],
        [(journal.saves.verdict(name), journal.of_request(name)) for name in NAMES],
        journal.saves.was("MEMORY.md", digest("b")),
        journal.made("MEMORY.md", "Auto"),
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
        assert journal.recorded("a") == one
        assert journal.saves.verdict(one.id) == "seen"
        assert journal.saves.ours("MEMORY.md") == digest("b")


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
        assert each.saves.verdict(list(each.acknowledged())[1].id) == "erased"
        assert each.pending() == []


def test_a_journal_that_is_deleted_is_empty(path: Path) -> None:
    journal = opened(path)
    journal.begin(write("a"))
    path.unlink()
    journal.refresh()
    assert journal.pending() == []


def garbled(place: Path) -> None:
    place.write_bytes(random.Random(1).randbytes(9_000))


def cut(place: Path) -> None:
    place.write_bytes(place.read_bytes()[:5_000])


@pytest.mark.parametrize("spoil", [garbled, cut, Path.unlink, Path.touch])
def test_without_its_checkpoint_a_journal_says_the_same(
    path: Path, spoil: Callable[[Path], None]
) -> None:
    journal = opened(path)
    journal.begin(*(write(name, edits=(EDIT,), request=name) for name in NAMES))
    journal.settle(NAMES[:30], NAMES[30:35], {NAMES[2]: "erased", NAMES[4]: "seen"})
    before = said(journal)
    for place in (path.parent / "index").iterdir():
        spoil(place) if place.suffix == ".db" else place.unlink()
    assert said(journal) == said(opened(path)) == before


def test_a_checkpoint_follows_whatever_befalls_the_journal(path: Path, tmp_path: Path) -> None:
    """Also one from an earlier time, as after a power cut, and one of another journal."""
    chance = random.Random(5)
    place, kept = tmp_path / "index", tmp_path / "kept"
    names = iter(NAMES)
    journal = opened(path)

    def add() -> None:
        begun = [write(name, edits=(EDIT,), request=name) for name in (next(names), next(names))]
        journal.begin(*begun)
        journal.settle([begun[0].id], [], {begun[0].id: chance.choice(["seen", "erased"])})

    def purge() -> None:
        journal.begin(Purging("p", now(), ("w0",), (), {}))
        journal.rewrite(lambda each: scrubbed(each) if chance.random() < 0.2 else each, purged="p")

    def damage() -> None:
        lines = path.read_bytes().splitlines(keepends=True)
        at = chance.randrange(len(lines))
        path.write_bytes(b"".join([*lines[:at], lines[at][:-9] + b"\n", *lines[at + 1 :]]))

    def tear() -> None:
        path.write_bytes(path.read_bytes() + b'{"type": "wri')

    def die() -> None:
        nonlocal journal
        if kept.exists():
            shutil.rmtree(place)
            kept.rename(place)
        journal = opened(path)
        shutil.copytree(place, kept)

    def by_another() -> None:
        other = opened(path, short=1 << 30)
        other.settle([each.id for each in other.pending()][:1])

    for number in range(60):
        steps = [purge, damage, tear, die, by_another, die]
        add() if number % 3 == 0 else chance.choice(steps)()
        journal.refresh(mend=True)
        assert said(journal) == said(Journal(path)), number
    assert journal.saves.back("MEMORY.md", {mark("- tea")})


def test_a_purged_line_leaves_blanks_and_no_word(path: Path) -> None:
    journal = opened(path)
    begun = Purging("p", now(), ("a secret",), (), {})
    journal.begin(write("a", text="a secret", edits=(EDIT,)), write("b"), begun)
    journal.settle(["a", "b"])
    size = path.stat().st_size
    journal.rewrite(lambda each: scrubbed(each) if each.text == "a secret" else each, purged="p")
    assert path.stat().st_size == size
    assert journal.purges() == opened(path).purges() == []
    assert b"secret" not in path.read_bytes()
    assert said(journal) == said(Journal(path))


def test_a_long_journal_costs_no_start_and_no_memory(path: Path) -> None:
    with path.open("wb") as file:
        for number in range(20_000):
            each = write(f"{number:012}", edits=(EDIT,))
            file.write(lines.written(each) + lines.written(lines.Outcome("done", (each.id,))))
    used = []
    for _ in range(3):
        began = resource.getrusage(resource.RUSAGE_SELF).ru_utime
        journal = opened(path, short=1000)
        assert journal.recorded(f"{7:012}")
        used.append(resource.getrusage(resource.RUSAGE_SELF).ru_utime - began)
    assert min(used[1:]) < used[0] / 10, used
    tracemalloc.start()
    journal = opened(path, short=1000)
    assert next(journal.newest()).text == f"{19_999:012}"
    assert tracemalloc.get_traced_memory()[1] < 200_000
    tracemalloc.stop()
