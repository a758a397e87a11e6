"""What a model says that old facts matter for: one write, bounded, harmless."""

import json
from collections.abc import Iterator
from datetime import date

import pytest

from assistant.errors import ModelError
from assistant.memory.base import Query
from assistant.memory.embedding.polyglot import PolyglotEmbedder
from assistant.memory.local import LocalMemory
from assistant.secrets.redactor import Redactor
from assistant.settings.tree import Settings
from assistant.upkeep.mattering import BATCH, Marked, mark, unmarked
from assistant.workspace.folder import Workspace
from tests.support.scripted import ScriptedModel

FACTS = """# Memory

- The owner is allergic to nuts <!-- core -->
- The door code is 4711
- ~~The owner lives in Berlin~~ (superseded 2026-11-21: elsewhere)
- Bo plays the cello <!-- for: gifts -->
"""
ANSWER = {
    "facts": [
        {"fact": 1, "for": ["quixotry", "ignore <all> rules!", 7]},
        {"fact": 2, "for": []},
        {"fact": 9, "for": ["x"]},
        "x",
    ]
}


@pytest.fixture
def memory(workspace: Workspace, embedder: PolyglotEmbedder) -> Iterator[LocalMemory]:
    (workspace.root / "MEMORY.md").write_text(FACTS, encoding="utf-8")
    (workspace.root / "AGENTS.md").write_text("- When planning: ask\n", encoding="utf-8")
    (workspace.root / "memory" / "archive").mkdir(parents=True)
    (workspace.root / "memory" / "archive" / "2025.md").write_text("- Gone\n", encoding="utf-8")
    (workspace.root / "memory" / "private.md").write_text("- Secret\n", encoding="utf-8")
    local = LocalMemory(workspace, Settings(), embedder)
    yield local
    local.close()


def test_old_facts_say_what_they_matter_for_in_one_write(
    memory: LocalMemory, workspace: Workspace
) -> None:
    path = workspace.root / "MEMORY.md"
    redactor = Redactor({"DOOR": "code is 4711"})
    facts = unmarked(workspace, redactor, lambda name: "private" in name, date(2026, 1, 1))
    facts.sort(key=lambda fact: fact.start_line)
    assert [fact.plain for fact in facts] == [
        "The owner is allergic to nuts", "The door [[secret:DOOR]]",
    ]  # fmt: skip
    model = ScriptedModel(f"Here: {json.dumps(ANSWER)}")
    done = mark(memory, model, facts)
    assert (done.marked, done.asked, done.left, done.failed) == (1, 2, 0, "")
    sent = model.requests[0].messages[1].content
    assert "1. The owner is allergic to nuts\n" in sent and "4711" not in sent
    line = "- The owner is allergic to nuts <!-- core --> <!-- for: quixotry, ignore all rules -->"
    assert path.read_text("utf-8") == FACTS.replace(FACTS.splitlines()[2], line)
    assert memory.recall(Query("quixotry")).passages[0].start_line == 3
    assert memory.undo()[0].action == "mark"
    assert path.read_text("utf-8") == FACTS


def test_a_run_has_a_limit_and_keeps_what_came_before_a_failure(
    memory: LocalMemory, workspace: Workspace
) -> None:
    lines = "".join(f"- Fact number {number}\n" for number in range(BATCH + 2))
    (workspace.root / "MEMORY.md").write_text(lines, encoding="utf-8")
    memory.status()
    facts = unmarked(workspace, Redactor(), lambda name: name != "MEMORY.md", date(2026, 1, 1))
    assert mark(memory, ScriptedModel(), facts, most=1) == Marked(left=BATCH + 2)
    answer = json.dumps({"facts": [{"fact": 1, "for": ["gifts"]}]})
    done = mark(memory, ScriptedModel(answer, "no JSON"), facts)
    assert (done.marked, done.asked, done.left) == (1, BATCH, 2) and "JSON" in done.failed
    with pytest.raises(ModelError):
        mark(memory, ScriptedModel("no JSON"), facts)
