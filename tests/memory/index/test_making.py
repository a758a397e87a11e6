"""A file that is indexed edit by edit is indexed as it would be at once."""

import random
from pathlib import Path
from typing import Any

import pytest

from assistant.memory.base import no_progress
from assistant.memory.embedding.embedder import HashingEmbedder
from assistant.memory.index.corpus import decoded
from assistant.memory.index.making import Maker
from assistant.memory.index.sqlite.catalog import Catalog
from assistant.memory.index.sqlite.parts import Update
from assistant.memory.index.sqlite.postings import Term
from assistant.memory.index.sqlite.rows import SourceUpdate, Stat
from assistant.memory.text.chunk import GRAIN, Chunk, Grain
from assistant.secrets.redactor import Redactor
from tests.memory.index.reading import of_source

STAT = Stat(1, 2, 3, 4)
EMBEDDER = HashingEmbedder()
LINES = (
    "- The ferry {n} leaves at noon", "- Größe {n}: 雨 🙂", "- said twice", "- a | b {n}",
    "## Day -- 2026-01-{day:02}", "# Part {few}", "### said twice", "", "", "plain words {n}",
    "  - nested {n}", "```", "~~~ text", "<!-- {n}", "-->", "---", "| {n} | c |", "1. first {n}",
    "<<<<<<< ours", "=======", ">>>>>>> theirs", "~~- gone~~ (superseded 2026-01-02: new)",
    "- the door code is 4711", "password: tr0ub4dor&{n}", "> quoted {n}", "Ann: hello", "Bob: hi",
)  # fmt: skip
FINE = Grain(2, 2)
"""Parts of a few lines, so that many lie beyond what bears on an edit."""
PLAIN = (
    f"- The boat {{n}} is red{', and blue' * 40}",
    "- Anna {n} has a dog",
    "- It is {few}",
    "## Day -- 2026-02-{day:02}",
    "",
)


def line(draw: random.Random, forms: tuple[str, ...]) -> str:
    return draw.choice(forms).format(
        n=draw.randrange(10**6), few=draw.randrange(3), day=draw.randint(1, 28)
    )


def edited(draw: random.Random, text: str) -> str:
    """A text with a stretch taken out and perhaps another put in, or with other line ends."""
    at = draw.choice([0, len(text), draw.randrange(len(text) + 1)])
    stop = min(len(text), at + draw.choice([0, 0, 1, 40, 400]))
    new = draw.choice(["", "\n", text[at - 50 : at], line(draw, LINES), f"\n{line(draw, LINES)}\n"])
    if draw.random() < 0.05:
        return text.replace("\r\n", "\n") if "\r" in text else text.replace("\n", "\r\n")
    return text[:at] + new + text[stop:]


class Indexed:
    """A catalog, and what brings texts of one file into it."""

    def __init__(self, place: Path, grain: Grain = GRAIN) -> None:
        place.mkdir()
        self.catalog = Catalog(place / "catalog.db", place / "vectors.db")
        self._maker = Maker(
            EMBEDDER, lambda: Redactor({"SAFE": "4711-horse-staple"}), decoded, grain=grain
        )

    def write(self, text: str) -> Update:
        update = self._maker.update("MEMORY.md", text, self.catalog, no_progress)
        wanted = [SourceUpdate("MEMORY.md", STAT, "d", update)]
        assert not self.catalog.replace_sources(wanted, EMBEDDER.fingerprint_of)
        return update

    def state(self) -> tuple[list[Chunk], list[bool], list[list[tuple[Any, ...]]]]:
        """All that does not depend on the numbers of rows: chunks, turns, and the rest."""
        columns = ("heading FROM sections", "id, first FROM repeats", "word, texts FROM vocabulary")
        with self.catalog.database.using() as db:
            rest = [sorted(db.execute(f"SELECT {each}").fetchall()) for each in columns]
            terms = [Term(term, 0) for (term,) in db.execute("SELECT DISTINCT term FROM postings")]
        stored = of_source(self.catalog, "MEMORY.md")
        assert len(stored) == self.catalog.count()
        ids = {each.rowid: each.chunk.id for each in stored}
        words = [
            (term, ids[row], count)
            for term, (rows, counts) in self.catalog.words.in_chunks(terms).items()
            for row, count in zip(rows.tolist(), counts.tolist(), strict=True)
        ]
        rest.append(sorted(words))
        return [each.chunk for each in stored], self.catalog.layout().turn.tolist(), rest


@pytest.mark.parametrize("seed", range(4))
def test_edit_by_edit_is_as_at_once(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    forms = (*LINES, *PLAIN * 20) if seed % 2 else PLAIN
    text = "".join(f"{line(draw, forms)}\n" for _ in range(120))
    kept, anew = (Indexed(tmp_path / name, FINE) for name in ("kept", "anew"))
    stayed = 0
    for _ in range(40):
        update = kept.write(text)
        stayed += update.head + update.tail
        anew.catalog.clear()
        anew.write(text)
        assert kept.state() == anew.state()
        text = edited(draw, text)
    kept.catalog.close()
    anew.catalog.close()
    assert stayed > 40


def test_an_edit_costs_the_parts_that_it_touches(tmp_path: Path) -> None:
    index = Indexed(tmp_path / "index")
    facts = [f"- Fact number {n} is about boat {n * 7}.\n" for n in range(8000)]
    parts = len(index.write("# Memory\n\n" + "".join(facts)).parts)
    facts.insert(4000, "- The spare key hangs in the shed.\n")
    update = index.write("# Memory\n\n" + "".join(facts))
    facts.append("\n## Remembered -- 2026-11-22\n\n- The ferry leaves at noon\n")
    last = index.write("# Memory\n\n" + "".join(facts))
    index.catalog.close()
    assert parts > 10
    assert len(update.parts) <= 2 and len(last.parts) <= 2
