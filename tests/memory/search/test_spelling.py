"""Typing errors in a question."""

from collections.abc import Iterator

import pytest

from assistant.memory.embedding.polyglot import PolyglotEmbedder
from assistant.memory.index.refresh import Synchronizer
from assistant.memory.search.question import Spelling
from assistant.settings.sections import IndexSettings
from assistant.workspace.folder import Workspace

FILE = """# Lindholm

- The dentist is in Park Street
- Choir rehearsal with Petrova on Wednesday
- The solicitors have the covers
- Maria likes cello, Celine the ceiling
- Unser Vermieter wohnt im Hafen, die Miete ist hoch
- My wife works nights, her brother sells lunches
- Le mot de passe du wifi est sur le frigo, les lunettes de Nadine aussi
"""


@pytest.fixture
def spelling(workspace: Workspace, embedder: PolyglotEmbedder) -> Iterator[Spelling]:
    (workspace.root / "MEMORY.md").write_text(FILE, encoding="utf-8")
    index = Synchronizer(workspace, embedder, IndexSettings())
    index.refresh()
    yield Spelling(index.store.catalog, embedder)
    index.close()


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("the dentits", "the dentist"),
        ("dentist in Prak Street", "dentist in Park Street"),
        ("when is chior rehersal?", "when is choir rehearsal?"),
        ("solictrs", "solicitors"),
        ("Petrvoa", "Petrova"),
        ("celol", "cello"),
        ("the Lindhlom", "the Lindholm"),
        ("my rehaersall", "my rehearsal"),
    ],
)
def test_an_error_or_two_give_way_to_what_memory_knows(
    spelling: Spelling, asked: str, meant: str
) -> None:
    assert spelling.corrected(asked, "english").casefold() == meant.casefold()


@pytest.mark.parametrize(
    ("asked", "language"),
    [
        ("who mends the copier", "english"),
        ("call Mario", "english"),
        ("the feline", "english"),  # the model spells it out, memory has only Celine
        ("lovers in the dark", "english"),  # a word, though memory has only covers
        ("wer ist der Vermieter im Haken", "german"),
        ("wie noch", "german"),
        ("wifi", "english"),  # in a French fact, whose stems are others
        ("where are the lunettes", "english"),
        ("ключ от шкафа 日本語 ✨ E4711", "russian"),
        ("", "english"),
    ],
)
def test_what_is_spelt_right_stays(spelling: Spelling, asked: str, language: str) -> None:
    assert spelling.corrected(asked, language) == asked


def test_an_error_that_memory_no_longer_holds_is_one_again(
    workspace: Workspace, embedder: PolyglotEmbedder
) -> None:
    path = workspace.root / "MEMORY.md"
    index = Synchronizer(workspace, embedder, IndexSettings())
    for line in ("- The dentits is in Park Street\n", "- The dentist is in Park Street\n"):
        path.write_text(line)
        index.refresh()
    assert Spelling(index.store.catalog, embedder).corrected("dentits", "english") == "dentist"
    index.close()
