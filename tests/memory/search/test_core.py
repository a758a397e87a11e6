"""The core of a memory: what should shape any answer, whatever it is about."""

from collections.abc import Iterator

import pytest

from assistant.memory.embedding.polyglot import PolyglotEmbedder
from assistant.memory.local import LocalMemory
from assistant.settings.tree import Settings
from assistant.workspace.folder import Workspace
from scripts.evaluation.notes import sentences

TELLING = (
    "My daughter has coeliac disease, not a crumb of wheat",
    "Hates phone calls, write instead",
    "Nimmt jeden Morgen ein Medikament gegen Bluthochdruck",
    "I live with my wife and two small children",
)
ARCHIVED = "Was a vegetarian until 2019"
TOKENS = 800


@pytest.fixture
def memory(workspace: Workspace, embedder: PolyglotEmbedder) -> Iterator[LocalMemory]:
    opened = LocalMemory(workspace, Settings(), embedder)
    yield opened
    opened.close()


def write(place: Workspace, name: str, *facts: str) -> None:
    path = place.root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"- {fact}\n" for fact in facts), encoding="utf-8")


def test_what_shapes_any_answer_is_found_among_much_else(
    workspace: Workspace, memory: LocalMemory
) -> None:
    made = sentences()
    others = [next(made) for _ in range(300)]
    write(workspace, "memory/all.md", *others[:150], *TELLING, *others[150:])
    write(workspace, "AGENTS.md", "When I ask for food: never suggest nuts, I am allergic")
    write(workspace, "memory/archive/2019.md", ARCHIVED)
    core = memory.core(TOKENS)
    assert {each.plain for each in core} >= {*TELLING}
    assert sum(each.tokens for each in core) <= TOKENS
    assert {each.source for each in core} == {"memory/all.md"}
    assert memory.core(12)[0] == core[0]
    write(workspace, "memory/all.md", *others, f"~~{TELLING[0]}~~", *TELLING[1:])
    assert {each.plain for each in memory.core(TOKENS)} & {*TELLING} == {*TELLING[1:]}


def test_it_stays_the_same_while_no_file_changes(
    workspace: Workspace, memory: LocalMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(workspace, "MEMORY.md", *TELLING)
    core = memory.core(TOKENS)
    dense = memory.index.store.dense
    monkeypatch.setattr(dense, "nearest", lambda *_: pytest.fail("searched again"))
    assert memory.core(TOKENS) == core
    monkeypatch.undo()
    write(workspace, "MEMORY.md", *TELLING[1:])
    assert len(memory.core(TOKENS)) == len(core) - 1


def test_an_empty_memory_has_no_core(memory: LocalMemory) -> None:
    assert memory.core(TOKENS) == ()
