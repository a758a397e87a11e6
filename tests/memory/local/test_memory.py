"""Memory in this process."""

from collections.abc import Iterator

import pytest

from assistant.errors import LedgerError, StorageError
from assistant.memory.base import Fact, Keeper, Origin, Query, Secret
from assistant.memory.embedding.polyglot import PolyglotEmbedder
from assistant.memory.local import LocalMemory
from assistant.secrets.redactor import Redactor
from assistant.settings.tree import Settings
from assistant.workspace.folder import Workspace
from tests.memory.memory_contract import FACTS, MemoryContract, remember


@pytest.fixture
def local(workspace: Workspace, embedder: PolyglotEmbedder) -> Iterator[LocalMemory]:
    opened = LocalMemory(workspace, Settings(), embedder)
    yield opened
    opened.close()


class TestLocalMemory(MemoryContract):
    @pytest.fixture
    def memory(self, local: LocalMemory) -> Keeper:
        return local


def test_the_same_request_is_one_write(local: LocalMemory) -> None:
    facts = [Fact("Ana breeds sheep"), Fact("Ben sails")]
    first = local.remember(facts, request="r1")
    again = local.remember(facts, request="r1")
    assert [done.id for done in again] == [done.id for done in first]
    assert [done.status for done in again] == ["stored", "stored"]
    assert local.status().chunks == 2
    shown = local.locate("Ben sails").passages
    assert local.forget(shown, request="r2").entry == local.forget(shown, request="r2").entry
    assert local.undo(request="r3") == local.undo(request="r3")
    assert local.status().chunks == 2


def test_what_is_certainly_a_secret_keeps_a_fact_out(
    workspace: Workspace, embedder: PolyglotEmbedder
) -> None:
    known = Redactor({"owl": "an owl named Otto"})
    memory = LocalMemory(workspace, Settings(), embedder, redactor=lambda: known)
    facts = [Fact("Say an owl named Otto"), Fact("Tea"), Fact("Say [[secret:owl]]", secrets="ask")]
    done = memory.remember(facts, request="r1")
    assert [each.status for each in done] == ["secret", "stored", "stored"]
    assert done[0].secrets == (Secret(4, 21, "owl", certain=True),)
    again = memory.remember(facts, request="r1")
    assert [(each.status, each.line) for each in again] == [
        (each.status, each.line) for each in done
    ]
    text = (workspace.root / "MEMORY.md").read_text("utf-8")
    assert "Otto" not in text and "- Say [[secret:owl]]\n" in text
    with pytest.raises(LedgerError, match="heading holds a secret"):
        memory.remember([Fact("Coffee", section="an owl named Otto")])
    memory.remember([Fact("Say hello", origin=Origin("tool"))])
    (waiting,) = memory.waiting()
    edited = memory.review(waiting.id, accept=True, text="Say an owl named Otto")
    assert edited and (edited.status, memory.waiting()) == ("secret", (waiting,))
    memory.close()


def test_a_notice_is_told_once_and_kept_in_the_status(
    workspace: Workspace, embedder: PolyglotEmbedder
) -> None:
    told: list[str] = []
    memory = LocalMemory(workspace, Settings(), embedder, notify=told.append)
    (workspace.root / "AGENTS.md").write_bytes(b"\xff")
    for _ in range(3):
        memory.recall(Query("anything"))
    assert len(told) == 1
    assert tuple(told) == memory.status().notices
    (workspace.root / "AGENTS.md").unlink()
    assert memory.status().notices == ()
    memory.close()


def test_a_journal_that_cannot_be_read_is_told_with_its_cure_and_costs_no_answer(
    workspace: Workspace, embedder: PolyglotEmbedder
) -> None:
    (workspace.root / "MEMORY.md").write_text("- The spare key is with Ada\n")
    journal = workspace.private / "journal.jsonl"
    journal.mkdir(parents=True)
    told: list[str] = []
    memory = LocalMemory(workspace, Settings(), embedder, notify=told.append)
    for _ in range(2):
        assert memory.recall(Query("spare key", why=True)).passages
        assert memory.erased() == ()
    assert any("out of the way" in each for each in memory.status().notices)
    assert sum(each.startswith(str(journal)) for each in told) == 1
    with pytest.raises(StorageError, match="out of the way"):
        memory.remember([Fact("Tea is in the tin")])
    journal.rmdir()
    assert memory.remember([Fact("Tea is in the tin")])[0].status == "stored"
    memory.close()


def test_what_a_stale_save_erased_is_offered_again(
    local: LocalMemory, workspace: Workspace
) -> None:
    path = workspace.root / "MEMORY.md"
    stale = path.read_text("utf-8")
    remember(local, "Ana breeds sheep")
    path.write_text(stale + "\n- Typed by the owner\n", encoding="utf-8")
    assert any("Ana breeds sheep" in notice for notice in local.status().notices)
    assert "Ana" not in path.read_text("utf-8")
    remember(local, "Ana breeds sheep")
    assert local.status().notices == ()


def test_one_line_at_the_top_of_many_embeds_only_itself(
    local: LocalMemory, workspace: Workspace
) -> None:
    path = workspace.root / "MEMORY.md"
    facts = "".join(f"- Fact {number} about {FACTS[number % 5]}\n" for number in range(200))
    path.write_text(f"# Memory\n\n{facts}", encoding="utf-8")
    before = local.status().embedded_total
    path.write_text(f"# Memory\n\n- A line at the top\n{facts}", encoding="utf-8")
    best = local.recall(Query("a line at the top")).passages[0]
    assert (best.text, best.start_line) == ("- A line at the top", 3)
    assert local.status().embedded_total == before + 1
