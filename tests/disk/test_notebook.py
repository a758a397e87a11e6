"""A value in a file of JSON, and the tokens of a month in it."""

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from assistant.disk import notebook


@dataclass
class Note(notebook.Spending):
    words: list[str] = field(default_factory=list)


@pytest.mark.parametrize("held", [None, b"", b"{", b"[1]", b'{"words": 3}', b"\xff"])
def test_what_cannot_be_read_is_an_empty_value(tmp_path: Path, held: bytes | None) -> None:
    path = tmp_path / "note.json"
    if held is not None:
        path.write_bytes(held)
    assert notebook.load(path, Note) == Note()


def test_a_change_is_written_at_the_end_and_not_if_it_fails(tmp_path: Path) -> None:
    path = tmp_path / "new" / "note.json"
    with notebook.changing(path, Note) as note:
        note.words.append("kept")
    with pytest.raises(KeyError), notebook.changing(path, Note) as note:
        note.words.append("lost")
        raise KeyError
    assert notebook.load(path, Note).words == ["kept"]


def this_month() -> str:
    note = Note()
    note.spend(1)
    (month,) = note.tokens
    return month


def test_a_new_month_begins_at_nothing() -> None:
    note = Note(tokens={"2001-01": 900})
    assert note.spent == 0
    note.spend(10)
    note.spend(5)
    assert note.spent == 15


def test_a_clock_that_was_ahead_loses_no_count() -> None:
    month = this_month()
    note = Note(tokens={month: 900, "2999-01": 5})  # spent while the clock was wrong
    assert note.spent == 900
    note.spend(10)
    assert note.tokens == {month: 910, "2999-01": 5}
