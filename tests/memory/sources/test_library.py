"""What is deleted is not cited, though the index of it is not up to that yet."""

import shutil
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from assistant.memory.base import SESSIONS, Query, Recall
from assistant.memory.embedding.embedder import Vectors
from assistant.memory.sources.library import Library
from assistant.session import transcript
from assistant.session.entries import UserEntry
from assistant.settings.sections import SourceSettings
from assistant.settings.tree import Settings
from assistant.workspace.folder import Workspace
from tests.support.hashing import HashingEmbedder


class Held(HashingEmbedder):
    """Embeds nothing that says `zebra` until it may go on."""

    def __init__(self) -> None:
        super().__init__()
        self.is_busy, self.may_go_on = threading.Event(), threading.Event()

    def embed(self, texts: Sequence[str]) -> Vectors:
        if any("zebra" in text for text in texts):
            self.is_busy.set()
            self.may_go_on.wait(60)
        return super().embed(texts)


def left(workspace: Workspace, said: str) -> Path:
    session = transcript.create(workspace.sessions)
    session.append(UserEntry(said))
    session.close()
    return workspace.sessions / f"{session.session}.jsonl"


@pytest.mark.parametrize("within", ["vault", SESSIONS, ""])
def test_what_is_deleted_is_not_cited_while_its_rows_go(
    workspace: Workspace, tmp_path: Path, within: str
) -> None:
    (tmp_path / "vault" / "Boats").mkdir(parents=True)
    (tmp_path / "vault" / "Boats" / "Hull.md").write_text("The hull is red\n")
    gone = left(workspace, "The hull is red")
    source = SourceSettings(name="vault", path=str(tmp_path / "vault"))
    embedder = Held()
    library = Library(workspace, Settings(sources=(source,)), embedder)

    def recall() -> Recall:
        asked = Query("hull red", within=within)
        return (
            library.recall(asked) if within else library.joined_with(asked, Recall("hull red", ()))
        )

    assert len(recall().passages) == 1
    (tmp_path / "vault" / "New.md").write_text("a zebra\n")
    left(workspace, "a zebra")
    busy = threading.Thread(target=recall)
    busy.start()
    assert embedder.is_busy.wait(60)
    shutil.rmtree(tmp_path / "vault" / "Boats")
    gone.unlink()
    assert recall().passages == ()
    embedder.may_go_on.set()
    busy.join()
    library.close()
