"""The journal's lines: what is written is what is read."""

from pathlib import Path

import pytest

from assistant.memory.writing.journal import (
    Done,
    Edit,
    Entry,
    Journal,
    Judged,
    Purging,
    Saved,
    Write,
    decode,
    encode,
)

EDIT = Edit("MEMORY.md", 9, "", "- one\n", "before", "after", ("above",), ("below",))


@pytest.mark.parametrize(
    "entry",
    [
        Write("w1", "2026-03-02T09:00:00+00:00", "remember", "one “quoted”\n", edits=(EDIT,)),
        Write("w2", "", "undo", undoes="w1", request="r", part=3, together="t"),
        Purging("p1", "", ("one",), (), {}, True),
        Saved("memory/a.md", "digest"),
        Done(("w1", "w2")),
        Judged(("w1",), "erased"),
    ],
)
def test_a_line_says_what_was_put_down(entry: Entry) -> None:
    line = encode(entry)
    assert line.endswith(b"\n") and line.count(b"\n") == 1
    assert decode(line) == entry


def test_what_became_of_writes_takes_a_line_for_each_kind(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    Journal(path).settle(["a"], [], {"b": "seen", "c": "erased", "d": "seen"})
    assert list(map(decode, path.read_bytes().splitlines())) == [
        Done(("a",)),
        Judged(("b", "d"), "seen"),
        Judged(("c",), "erased"),
    ]
    before = path.read_bytes()
    Journal(path).settle([], [], {})
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{",
        b"[]",
        b'{"type": "later"}',
        b'{"type": "verdict", "ids": ["a"]}',
        b'{"type": "write", "id": 3}',
    ],
)
def test_a_line_of_another_form_is_refused(line: bytes) -> None:
    with pytest.raises(ValueError):
        decode(line)
