"""Images of what was removed: kept once, whole or not at all, the newest of them."""

import os
from pathlib import Path

import pytest

from assistant.memory.writing import images
from assistant.memory.writing.images import Images


def test_an_image_is_kept_once_and_read_back(tmp_path: Path) -> None:
    images = Images(tmp_path / "history")
    name = images.keep("- é\r\n")
    assert images.keep("- é\r\n") == name
    assert images.names() == [name]
    assert images.read(name) == "- é\r\n"
    images.drop(name)
    assert images.read(name) is None
    images.drop(name)


def test_a_damaged_image_is_as_if_it_had_gone(tmp_path: Path) -> None:
    images = Images(tmp_path)
    name = images.keep("a")
    (tmp_path / name).write_bytes(b"damaged")
    assert images.read(name) is None


@pytest.mark.parametrize(("count", "size"), [(3, 10_000), (100, 64)])
def test_the_oldest_go(tmp_path: Path, count: int, size: int) -> None:
    images = Images(tmp_path, most=count, most_bytes=size)
    names = []
    for number in range(10):
        names.append(images.keep(os.urandom(10).hex()))
        os.utime(tmp_path / names[-1], (number, number))
    left = images.names()
    assert left == sorted(names[-len(left) :])
    assert 1 <= len(left) <= 3


def test_of_many_the_last_are_kept_and_the_folder_is_searched_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    images, searched, names = Images(tmp_path, most=3), list[str](), Images.names
    monkeypatch.setattr(Images, "names", lambda own: searched.append("") or names(own))
    images.keep_all([f"fact {number}" for number in range(9)])
    assert len(searched) == 1
    assert sorted(filter(None, map(images.read, names(images)))) == ["fact 6", "fact 7", "fact 8"]


def test_the_limits_are_the_documented_ones() -> None:
    assert (images.MAX_IMAGES, images.MAX_BYTES) == (1_000, 64 * 2**20)
