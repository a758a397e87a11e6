"""What of a collection comes next, on a real index of a few files."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from assistant.memory.embedding.embedder import HashingEmbedder
from assistant.memory.index.refresh import Synchronizer
from assistant.memory.sources.collection import BEST, FEW, SMALL, Queue
from assistant.settings.sections import IndexSettings
from assistant.workspace.folder import Workspace

LARGE = "memory/large.md"


@pytest.fixture
def index(workspace: Workspace) -> Iterator[Synchronizer]:
    opened = Synchronizer(workspace, HashingEmbedder(), IndexSettings())
    yield opened
    opened.close()


@pytest.fixture
def queue(workspace: Workspace, index: Synchronizer) -> Queue:
    return Queue(workspace.root, index)


def written(root: Path, texts: dict[str, str]) -> list[str]:
    """The names of these files, in the order they are given in."""
    for name, text in texts.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text)
    return list(texts)


def large(stretches: int) -> str:
    """A log of so many stretches and more, which can be cut at its headings."""
    day = f"## A day\n\n{'Umarov landed in fog. ' * 40}\n\n"
    return day * (stretches * SMALL // len(day) + 1)


def test_what_is_left_is_what_the_index_does_not_have(
    workspace: Workspace, index: Synchronizer, queue: Queue
) -> None:
    names = written(workspace.root, {"MEMORY.md": "- one\n", LARGE: large(2)})
    assert queue.left(names) == {"MEMORY.md": 6, LARGE: (workspace.root / LARGE).stat().st_size}
    assert queue.left(["memory/gone.md"]) == {"memory/gone.md": 0}
    index.refresh()
    assert queue.left(names) == {}
    assert queue.known([*names, "memory/gone.md"]) == names


def test_what_changed_comes_first_and_the_small_before_the_large(
    workspace: Workspace, queue: Queue
) -> None:
    names = written(workspace.root, {LARGE: large(3), "memory/a.md": "a", "memory/b.md": "b"})
    assert queue.changed_first((), names) == ["memory/a.md", "memory/b.md", LARGE]
    assert queue.changed_first({LARGE}, names) == [LARGE, "memory/a.md", "memory/b.md"]


def test_unasked_the_newest_of_the_small_is_first_and_a_large_one_last(
    workspace: Workspace, index: Synchronizer, queue: Queue
) -> None:
    names = written(workspace.root, {"MEMORY.md": "- a\n", "memory/b.md": "- b\n", LARGE: large(2)})
    order = []
    for name, number in queue.unasked(names):
        order.append((name, number))
        index.refresh(order=lambda _, name=name: [name])
    assert order[:2] == [("memory/b.md", 0), ("MEMORY.md", 1)]
    assert order[2:] == [(LARGE, 2)]
    assert queue.left(names) == {}


def test_a_question_waits_for_the_few_files_that_hold_most_of_its_rare_words(
    workspace: Workspace, index: Synchronizer, queue: Queue
) -> None:
    texts = {f"memory/{number:03}.md": "- The boat\n" for number in range(FEW + 1)}
    texts |= {"memory/007.md": "- The boat of Tanaka\n", "memory/009.md": "- Nobody\n"}
    names = written(workspace.root, texts)
    wanted = list(queue.promising([b"boat", b"tanaka"], names))
    assert wanted[0] == "memory/007.md" and "memory/009.md" not in wanted
    assert BEST <= len(set(wanted)) < FEW
    index.refresh(order=lambda _: ["memory/009.md"])
    assert next(queue.promising([b"boat"], names)) == "memory/009.md"  # what is known costs nothing
