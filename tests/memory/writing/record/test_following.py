"""A journal's file followed by several: each sees what the others append, and what became of it."""

from pathlib import Path

import pytest

from assistant.errors import StorageError
from assistant.memory.writing.record.following import PAGE, Following
from assistant.memory.writing.record.writes import Purging, Write

SHORT = 1
"""Any journal is long: its checkpoint lies on the disk."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.jsonl"


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    return tmp_path / "index" / "journal.db"


def write(number: int, text: str = "a fact") -> Write:
    return Write(f"w{number}", "2026-03-02T09:00:00+00:00", "remember", text)


def ids(following: Following, *, newest_first: bool = False) -> list[str]:
    following.refresh()
    return [each.id for _, each in following.walk("1", newest_first=newest_first)]


def test_two_that_follow_one_file_see_the_same(path: Path, checkpoint: Path) -> None:
    one, other = Following(path, checkpoint, SHORT), Following(path, None, SHORT)
    one.append([write(1)])
    other.append([write(2)])
    one.append([write(3)])
    assert ids(one) == ids(other) == ["w1", "w2", "w3"]
    assert ids(one, newest_first=True) == ["w3", "w2", "w1"]


def test_many_are_read_a_page_at_a_time(path: Path) -> None:
    following = Following(path, None, SHORT)
    following.append(map(write, range(PAGE + 7)))
    names = [f"w{number}" for number in range(PAGE + 7)]
    assert ids(following) == names and ids(following, newest_first=True) == names[::-1]


def test_half_a_line_is_passed_over_and_mended(path: Path, checkpoint: Path) -> None:
    following = Following(path, checkpoint, SHORT)
    following.append([write(1)])
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"type": "wri')
    assert ids(following) == ["w1"]
    following.refresh(mend=True)
    assert path.read_bytes() == whole


@pytest.mark.parametrize("damage", [b"", b"no database", bytes(4096)])
def test_a_checkpoint_that_is_gone_or_damaged_is_made_again(
    path: Path, checkpoint: Path, damage: bytes
) -> None:
    Following(path, checkpoint, SHORT).append([write(1), write(2)])
    for left in checkpoint.parent.glob("journal.db*"):
        left.unlink()  # the first one has them open, and what it has mapped must not shrink
    checkpoint.write_bytes(damage)
    assert ids(Following(path, checkpoint, SHORT)) == ["w1", "w2"]


def test_a_file_that_is_another_is_read_anew(path: Path, checkpoint: Path) -> None:
    following = Following(path, checkpoint, SHORT)
    following.append([write(1), write(2)])
    fresh = path.with_name("fresh")
    Following(fresh, None, SHORT).append([write(8)])
    fresh.replace(path)
    assert ids(following) == ["w8"]
    path.unlink()
    assert ids(following) == []


def test_words_are_taken_out_where_they_stand(path: Path, checkpoint: Path) -> None:
    following = Following(path, checkpoint, SHORT)
    purging = Purging("p1", "", ("the door code is 4711",), (), {}, False)
    following.append([write(1, "the door code is 4711"), purging, write(3)])
    (first, _), _ = following.walk("1")
    ((line, at, length),) = following.rows("SELECT line, at, length FROM purges")
    size = path.stat().st_size
    following.reword([(first, write(1, ""))], [(line, at, length)])
    assert b"4711" not in path.read_bytes() and path.stat().st_size == size
    for kept in checkpoint.parent.glob("journal.db*"):
        assert b"4711" not in kept.read_bytes()
    assert ids(following) == ids(Following(path, None, SHORT)) == ["w1", "w3"]


def test_a_line_that_has_changed_since_is_told(path: Path) -> None:
    following = Following(path, None, SHORT)
    following.append([write(1)])
    ((place, _),) = following.walk("1")
    path.write_bytes(b"x" * path.stat().st_size)
    with pytest.raises(StorageError, match="has changed meanwhile"):
        following.read([place])
