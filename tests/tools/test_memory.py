"""`recall` and `remember` over a memory that keeps facts in a list."""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from assistant.errors import LedgerError
from assistant.memory.base import SESSIONS, Fact, Origin, Passage, Query, Recall, Remembered
from assistant.memory.local import LocalMemory
from assistant.settings.sections import PolicySettings
from assistant.settings.tree import Settings
from assistant.tools.files.access import Roots
from assistant.tools.memory import VisibleMemory, memory_tools
from assistant.tools.policy import DENIED, DenyAll
from assistant.tools.toolbox import Toolbox
from assistant.workspace.folder import MEMORY_FILE, Workspace
from tests.support.hashing import HashingEmbedder
from tests.tools.conftest import calling


class ListMemory:
    """A memory of facts in a list; what the two tools need of the protocol."""

    def __init__(self) -> None:
        self.facts: list[Fact] = []

    def recall(self, query: Query) -> Recall:
        found = tuple(
            Passage(
                str(line), fact.text, fact.text, "MEMORY.md", line, line, 0, 0, date="2026-11-21"
            )
            for line, fact in enumerate(self.facts, 3)
            if query.text in fact.text
        )
        return Recall(query.text, found[: query.k])

    def remember(
        self, facts: Sequence[Fact], *, request: str | None = None
    ) -> tuple[Remembered, ...]:
        (fact,) = facts
        if "[[secret:" in fact.text:
            return (Remembered("secret", "", "", 0, fact.text),)
        if fact.replaces == "MEMORY.md:99":
            raise LedgerError("MEMORY.md:99 names no fact", "Recall it first")
        status = "exists" if fact in self.facts else "stored"
        similar = self.recall(Query("door", k=3)).passages
        self.facts.append(fact)
        return (Remembered(status, "id", "MEMORY.md", len(self.facts) + 2, fact.text, similar),)


@pytest.fixture
def memory() -> ListMemory:
    return ListMemory()


def test_a_fact_is_stored_with_its_origin_and_found(memory: ListMemory, roots: Roots) -> None:
    call = calling(
        Toolbox(memory_tools(memory, roots, origin_of=lambda fact: Origin("assistant", fact[:3]))),
        DenyAll(),
    )  # type: ignore[arg-type]
    assert call("recall", query="door").content == "Memory holds nothing on this."
    assert call("remember", fact="The door code is 4711").content == "Stored at MEMORY.md:3."
    assert memory.facts[0].origin == Origin("assistant", "The")
    found = call("recall", query="door", k="1")
    assert found.content == "MEMORY.md:3 (2026-11-21): The door code is 4711"
    assert found.compact == "recalled 1"
    second = call("remember", fact="The door code is 4712")
    assert "Similar facts" in second.content
    assert "MEMORY.md:3: The door code is 4711" in second.content
    assert "Already stored" in call("remember", fact="The door code is 4711").content


def test_a_refusal_of_the_ledger_is_an_error_result(memory: ListMemory, roots: Roots) -> None:
    call = calling(Toolbox(memory_tools(memory, roots)), DenyAll())  # type: ignore[arg-type]
    result = call("remember", fact="x", replaces="MEMORY.md:99")
    assert result.error
    assert result.content == "MEMORY.md:99 names no fact. Recall it first"


def test_a_fact_that_holds_a_secret_is_refused_with_what_to_do(
    memory: ListMemory, roots: Roots
) -> None:
    call = calling(Toolbox(memory_tools(memory, roots)), DenyAll())  # type: ignore[arg-type]
    refused = call("remember", fact="The password is [[secret:password-1f2e3d4c]]")
    assert refused.error
    assert "Nothing was written" in refused.content and "/remember" in refused.content
    call("remember", fact="Tea")
    assert [fact.secrets for fact in memory.facts] == ["ask"]


def test_off_the_record_nothing_is_remembered(memory: ListMemory, roots: Roots) -> None:
    box = Toolbox(memory_tools(memory, roots), off_the_record=True)  # type: ignore[arg-type]
    assert [spec.name for spec in box.specs()] == ["recall", "search_sessions"]
    assert calling(box, DenyAll())("remember", fact="x").error
    assert memory.facts == []


def test_what_is_denied_is_neither_recalled_nor_written(
    memory: ListMemory, workspace: Workspace
) -> None:
    memory.facts = [Fact("The door code is 4711")]
    roots = Roots(workspace, policy=PolicySettings(deny=("*:./MEMORY.md",)))
    visible = VisibleMemory(memory, roots)  # type: ignore[arg-type]
    call = calling(Toolbox(memory_tools(visible, roots)), DenyAll())
    assert call("recall", query="door").content == "Memory holds nothing on this."
    assert call("remember", fact="x").content == DENIED
    assert len(memory.facts) == 1


def test_what_used_to_be_so_is_found_if_asked_for(roots: Roots, workspace: Workspace) -> None:
    workspace.root.joinpath(MEMORY_FILE).write_text(
        "- ~~Bo lives in Ghent~~ (superseded 2026-11-20: Bo moved)\n- Bo lives in Lisbon\n"
    )
    with closing(LocalMemory(workspace, Settings(), HashingEmbedder())) as memory:
        call = calling(Toolbox(memory_tools(memory, roots)), DenyAll())
        assert "Ghent" not in call("recall", query="where does Bo live").content
        found = call("recall", query="where does Bo live", past=True).content
    assert "Ghent" in found and ", superseded)" in found and "Lisbon" in found


def test_what_is_denied_is_left_out_of_every_recall(workspace: Workspace) -> None:
    (workspace.root / "memory" / "private").mkdir(parents=True)
    for name in ("memory/open.md", "memory/private/diary.md"):
        (workspace.root / name).write_text("- The door code is 4711\n")
    asked: list[Query] = []

    class Asked(ListMemory):
        def recall(self, query: Query) -> Recall:
            asked.append(query)
            return super().recall(query)

    roots = Roots(workspace, policy=PolicySettings(deny=("*:memory/private/*",)))
    VisibleMemory(Asked(), roots).recall(Query("door", without=("AGENTS.md",)))  # type: ignore[arg-type]
    assert asked[0].without == ("AGENTS.md", "memory/private/diary.md")
    roots = Roots(workspace, policy=PolicySettings(deny=("search_sessions",)))
    VisibleMemory(Asked(), roots).recall(Query("door"))  # type: ignore[arg-type]
    assert asked[1].without == (SESSIONS,)


def test_what_is_denied_among_notes_in_place_is_denied_to_recall(
    workspace: Workspace, tmp_path: Path
) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "Away.md").symlink_to(vault / "Work" / "Plan.md")
    policy = PolicySettings(deny=("*:People/*", f"recall:{vault}/work/*"))
    roots = Roots(workspace, policy=policy, notes={"vault": vault})
    named = ("Boat.md", "People/Ada.md", "Trips/People/Ada.md", "Work/Plan.md", "Away.md")
    cited = [f"vault:{name}" for name in named]
    seen = [each for each in cited if not roots.denies("recall", each)]
    assert seen == ["vault:Boat.md", "vault:Trips/People/Ada.md"]

    class Cited(ListMemory):
        def recall(self, query: Query) -> Recall:
            passages = [Passage(each, "x", "x", each, 1, 1, 0, 1) for each in cited]
            return Recall(query.text, tuple(passages))

    visible = VisibleMemory(Cited(), roots).recall(Query("door"))  # type: ignore[arg-type]
    assert [each.source for each in visible.passages] == seen
