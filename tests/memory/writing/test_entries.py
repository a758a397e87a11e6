"""The journal's lines: what is written is what is read."""

import pytest

from assistant.memory.writing.journal import (
    Edit,
    Entry,
    Outcome,
    Purging,
    Saved,
    Write,
    decode,
    encode,
    outcomes,
)

EDIT = Edit("MEMORY.md", 9, "", "- one\n", "before", "after", ("above",), ("below",))


@pytest.mark.parametrize(
    "entry",
    [
        Write("w1", "2026-03-02T09:00:00+00:00", "remember", "one “quoted”\n", edits=(EDIT,)),
        Write("w2", "", "undo", undoes="w1", request="r", part=3, together="t"),
        Purging("p1", "", ("one",), (), {}, True),
        Saved("memory/a.md", "digest"),
        Outcome("done", ("w1", "w2")),
        Outcome("verdict", ("w1",), "erased"),
    ],
)
def test_a_line_says_what_was_put_down(entry: Entry) -> None:
    line = encode(entry)
    assert line.endswith(b"\n") and line.count(b"\n") == 1
    assert decode(line) == entry


def test_what_became_of_writes_takes_a_line_for_each_kind() -> None:
    lines = outcomes(["a"], [], {"b": "seen", "c": "erased", "d": "seen"})
    assert lines == [
        Outcome("done", ("a",)),
        Outcome("verdict", ("b", "d"), "seen"),
        Outcome("verdict", ("c",), "erased"),
    ]
    assert outcomes([], [], {}) == []


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{",
        b"[]",
        b'{"type": "later"}',
        b'{"type": "verdict", "ids": ["a"]}',
        b'{"type": "done", "ids": ["a"], "verdict": "seen"}',
        b'{"type": "write", "id": 3}',
    ],
)
def test_a_line_of_another_form_is_refused(line: bytes) -> None:
    with pytest.raises(ValueError):
        decode(line)
