"""Vectors of another model, made while memory answers by the one it has."""

from assistant.memory.base import no_progress
from assistant.memory.index.model_switch import ModelSwitch
from assistant.memory.index.refresh import Synchronizer
from assistant.settings.sections import IndexSettings
from assistant.workspace.folder import Workspace
from tests.memory.index.reading import all_vectors
from tests.support.hashing import HashingEmbedder

FACTS = "".join(f"- fact number {n} of the owner\n" for n in range(1200))


def test_memory_goes_over_to_a_model_without_embedding_anything(workspace: Workspace) -> None:
    (workspace.root / "MEMORY.md").write_text(f"## Garden\n{FACTS}", encoding="utf-8")
    old, new = HashingEmbedder(), HashingEmbedder(32)
    index = Synchronizer(workspace, old, IndexSettings())
    index.refresh()
    switch = ModelSwitch(workspace, new)
    plan = switch.plan()
    assert (plan.texts, plan.total, plan.bytes) == (1201, 1201, 1201 * 64)
    assert plan.seconds > 0
    switch.embed(no_progress)
    assert switch.plan().texts == 0
    assert index.refresh().changed == ()
    index.close()
    made = new.embedded
    index = Synchronizer(workspace, new, IndexSettings())
    assert index.refresh().embedded == 0
    assert new.embedded == made
    assert all_vectors(index.store.catalog).shape == (1200, 32)
    index.close()
