"""AGENTS.md in the prompt: whole while it is short, places of its own where it is long."""

from pathlib import Path

import pytest

from assistant.agent.memory_text import WHOLE_TOKENS, whole_procedures
from assistant.agent.prompt import stable_sections
from assistant.conversation import MOST_PROCEDURES, Conversation
from assistant.events import Notice
from assistant.memory.embedding.polyglot import PolyglotEmbedder
from assistant.memory.local import LocalMemory
from assistant.session import transcript
from assistant.settings.tree import Settings
from assistant.tools.toolbox import Toolbox
from assistant.workspace.folder import PROCEDURES_FILE, Workspace
from tests.support.scripted import ScriptedModel

INVOICE = "- When an invoice goes to a client: put Marjorie in copy."


def sent(workspace: Workspace, embedder: PolyglotEmbedder, message: str) -> str:
    memory = LocalMemory(workspace, Settings(), embedder)
    model = ScriptedModel("Done.")
    talk = Conversation(workspace, model, memory, Toolbox([]), transcript.off_the_record())
    list(talk.send(message))
    memory.close()
    return "\n".join(each.content for each in model.requests[0].messages)


def test_short_procedures_stand_whole_in_the_prefix_and_not_in_what_is_recalled(
    workspace: Workspace, embedder: PolyglotEmbedder
) -> None:
    (workspace.root / PROCEDURES_FILE).write_text(f"# Procedures\n\n{INVOICE}\n", encoding="utf-8")
    titles = [each.title for each in stable_sections(workspace)]
    assert "The Owner's Procedures" in titles
    assert sent(workspace, embedder, "send the invoice to the client").count("Marjorie") == 1


def test_of_long_procedures_the_best_come_whatever_facts_there_are(
    workspace: Workspace, embedder: PolyglotEmbedder
) -> None:
    others = "".join(f"- For task number {n}, see shelf {n} and tell Ada.\n" for n in range(200))
    (workspace.root / PROCEDURES_FILE).write_text(f"{INVOICE}\n{others}", encoding="utf-8")
    facts = "".join(f"- The invoice {n} went to client {n}.\n" for n in range(60))
    (workspace.root / "MEMORY.md").write_text(facts, encoding="utf-8")
    assert whole_procedures(others) == ""
    assert len(others) > 4 * WHOLE_TOKENS
    got = sent(workspace, embedder, "send the invoice to the client")
    assert "Marjorie" in got
    assert 1 <= got.count("(AGENTS.md:") <= MOST_PROCEDURES
    assert "The invoice" in got


def test_of_an_untrusted_workspace_they_are_not_shown(workspace: Workspace, tmp_path: Path) -> None:
    (workspace.root / PROCEDURES_FILE).write_text(INVOICE, encoding="utf-8")
    shown = stable_sections(workspace, trusted=False)
    assert not any("Marjorie" in each.text for each in shown)


@pytest.mark.parametrize("damage", ["binary", "latin-1", "a folder"])
def test_damaged_procedures_are_named_and_the_turn_goes_on(
    workspace: Workspace, embedder: PolyglotEmbedder, damage: str
) -> None:
    file = workspace.root / PROCEDURES_FILE
    file.unlink(missing_ok=True)
    match damage:
        case "binary":
            file.write_bytes(b"a\0b\xff")
        case "latin-1":
            file.write_bytes(b"caf\xe9")
        case _:
            file.mkdir()
    memory = LocalMemory(workspace, Settings(), embedder)
    model = ScriptedModel("Done.")
    talk = Conversation(workspace, model, memory, Toolbox([]), transcript.off_the_record())
    notices = [each.text for each in talk.send("hello") if isinstance(each, Notice)]
    memory.close()
    assert "AGENTS.md cannot be read" in str(model.requests[0].messages)
    assert any(str(file) in text for text in notices)
