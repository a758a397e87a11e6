"""The catalog: real SQLite, real files."""

import re
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path

import msgspec
import numpy as np
import pytest

from assistant.disk.storage import Stat
from assistant.errors import StorageError
from assistant.memory.index.catalog import Catalog, SourceUpdate
from assistant.memory.index.database import CatalogDamaged
from assistant.memory.index.vector_cache import vector_key
from assistant.memory.index.words import Term
from assistant.memory.text.chunk import Chunk, identify
from tests.memory.index.reading import all_vectors, headings, of_source, rows_of, spelt
from tests.support.hashing import HashingEmbedder

MODEL = str.casefold
"""A model for each text, in place of one for all."""
STAT = Stat(1, 2, 3, 4)
EMBEDDER = HashingEmbedder(32)


def facts(*texts: str, source: str = "MEMORY.md", heading: tuple[str, ...] = ()) -> list[Chunk]:
    """One chunk a text, as if each were a list item on a line of its own."""
    found, start = [], 0
    for number, text in enumerate(texts):
        end = start + len(text) + 2
        id_ = identify(source, heading, text, 0)
        found.append(
            Chunk(
                id_, source, number, f"- {text}", text, heading,
                number + 1, number + 1, start, end, "2026-11-21",
            )
        )  # fmt: skip
        start = end + 1
    return found


def put(catalog: Catalog, chunks: Sequence[Chunk], source: str = "MEMORY.md") -> None:
    """Index chunks as the source's own, vectors and all."""
    keys = [vector_key(chunk.plain, MODEL) for chunk in chunks]
    vectors = EMBEDDER.embed([chunk.plain for chunk in chunks])
    catalog.vectors.put(keys, vectors, embedded=len(chunks))
    catalog.replace_sources([SourceUpdate(source, STAT, "digest", tuple(chunks))], MODEL)


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    opened = Catalog(tmp_path / "catalog.db", tmp_path / "vectors.db")
    yield opened
    opened.close()


def found(catalog: Catalog, query: str) -> list[str]:
    """The plain texts in which any term of the query stands."""
    rows: set[int] = set()
    for where, _ in catalog.words.in_chunks(catalog.words.terms(query)).values():
        rows |= set(where.tolist())
    return [chunk.plain for chunk in catalog.chunks(sorted(rows))]


def test_chunks_come_back_as_they_were(catalog: Catalog) -> None:
    chunks = facts("tea", "the café", "naïve 🙂", heading=("Memory", "Day 1"))
    chunks[1] = msgspec.structs.replace(
        chunks[1], status="superseded", until="2026-11-22", mentions=("2026-01-01",)
    )
    put(catalog, chunks)
    assert of_source(catalog, "MEMORY.md") == chunks
    assert catalog.by_id(chunks[2].id) == [chunks[2]]
    assert catalog.by_id("gone") == []
    assert catalog.at_line("MEMORY.md", 2) == [chunks[1]]
    assert catalog.at_line("MEMORY.md", 9) == []


def test_a_chunk_that_moves_keeps_its_row_and_chroma_is_not_told(catalog: Catalog) -> None:
    chunks = facts("tea", "coffee")
    put(catalog, chunks)
    rows = rows_of(catalog)
    catalog.outbox.done(catalog.outbox.pending(10).mark)
    moved = facts("new", "tea", "coffee")
    put(catalog, moved)
    after = rows_of(catalog)
    assert {id_: after[id_] for id_ in rows} == rows
    assert of_source(catalog, "MEMORY.md") == moved
    assert catalog.outbox.pending(10).ids == [moved[0].id]


def test_the_layout_is_in_document_order(catalog: Catalog) -> None:
    struck = msgspec.structs.replace(
        facts("old tea")[0], ordinal=2, status="superseded", until="2026-11-22", date=None
    )
    put(catalog, [*facts("one two three", "four"), struck])
    put(catalog, facts("first", source="AGENTS.md", heading=("Rules",)), source="AGENTS.md")
    layout = catalog.layout()
    assert layout.sources == ("AGENTS.md", "MEMORY.md")
    assert layout.source.tolist() == [0, 1, 1, 1]
    assert layout.length.tolist() == [1, 3, 1, 2]
    assert layout.superseded.tolist() == [False, False, False, True]
    day = date(2026, 11, 21).toordinal()
    assert layout.date.tolist() == [day, day, day, 0]
    assert layout.until.tolist() == [0, 0, 0, day + 1]
    assert headings(catalog)[int(layout.section[0])] == ("Rules",)
    assert len(set(layout.section[1:].tolist())) == 1
    assert layout.positions(layout.rowid[::-1]).tolist() == [3, 2, 1, 0]
    assert catalog.layout() is layout
    catalog.delete_source("AGENTS.md")
    assert len(catalog.layout()) == 3


def test_an_empty_catalog_answers(catalog: Catalog) -> None:
    assert len(catalog.layout()) == 0
    assert all_vectors(catalog).shape[0] == 0
    assert catalog.vectors.read([]).shape[0] == 0
    assert catalog.words.terms("") == []
    assert catalog.outbox.pending(5).mark == 0


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("running", ["he runs fast"]),
        ("CAFE", ["the café"]),
        ("東京", ["東京で働いています"]),
        ('"runs" OR NEAR(', ["he runs fast"]),
        ("plain:runs *", ["he runs fast"]),
        ("'; DROP TABLE chunks; --", []),
        ("🙂 !!", []),
    ],
)
def test_terms_are_stemmed_folded_and_never_a_query_language(
    catalog: Catalog, query: str, expected: list[str]
) -> None:
    put(catalog, facts("he runs fast", "the café", "東京で働いています"))
    assert found(catalog, query) == expected


def test_postings_count_occurrences_and_follow_changes(catalog: Catalog) -> None:
    put(catalog, facts("tea tea tea", "tea and cake", "cake"))
    (term,) = catalog.words.terms("tea")
    assert term == Term("tea", 2)
    rows, counts = catalog.words.in_chunks([term])["tea"]
    assert counts.tolist() == [3, 1]
    assert rows.tolist() == sorted(rows.tolist())
    put(catalog, facts("tea and cake"))
    assert catalog.words.terms("tea cake pie") == [Term("tea", 1), Term("cake", 1), Term("pie", 0)]
    assert catalog.words.in_chunks([Term("tea", 1)])["tea"][1].tolist() == [1]
    assert catalog.words.in_chunks([Term("pie", 0)])["pie"][0].tolist() == []


def test_headings_have_postings_of_their_own(catalog: Catalog) -> None:
    put(catalog, facts("tea", heading=("Food", "Breakfast")))
    put(catalog, facts("car", heading=("Travel",), source="AGENTS.md"), source="AGENTS.md")
    (sections, counts) = catalog.words.in_headings([Term("breakfast", 0)])["breakfast"]
    assert [headings(catalog)[section] for section in sections.tolist()] == [("Food", "Breakfast")]
    assert counts.tolist() == [1]
    catalog.delete_source("MEMORY.md")
    assert catalog.words.in_headings([Term("breakfast", 0)])["breakfast"][0].tolist() == []


def test_a_query_of_a_hundred_thousand_bytes_is_cut(catalog: Catalog) -> None:
    put(catalog, facts("word0 and word1"))
    terms = catalog.words.terms(" ".join(f"word{n}" for n in range(12000)))
    assert len(terms) == 512
    assert terms[0] == Term("word0", 1)


def test_vectors_come_back_in_the_order_asked(catalog: Catalog) -> None:
    chunks = facts("tea", "coffee", "cake")
    put(catalog, chunks)
    expected = EMBEDDER.embed([chunk.plain for chunk in chunks])
    np.testing.assert_allclose(all_vectors(catalog), expected, atol=1e-3)
    asked = catalog.layout().vector[[2, 0]].tolist()
    np.testing.assert_allclose(catalog.vectors.read(asked), expected[[2, 0]], atol=1e-3)


def test_half_a_character_is_no_word(catalog: Catalog) -> None:
    """As the shell passes bytes that are not text."""
    assert [term.text for term in catalog.words.terms("boats \udcff anchor")] == [
        "boat",
        "anchor",
    ]


def test_what_points_nowhere_is_damage(catalog: Catalog) -> None:
    put(catalog, facts("tea"))
    with pytest.raises(CatalogDamaged):
        catalog.vectors.read([1, 2])
    with pytest.raises(CatalogDamaged):
        catalog.layout().positions(np.array([1, 2]))
    put(catalog, facts("coffee"), source="AGENTS.md")
    put(catalog, [])
    with pytest.raises(CatalogDamaged):
        catalog.layout().positions(np.array([1, 2]))


def test_vectors_are_counted_cached_and_pruned(catalog: Catalog) -> None:
    put(catalog, facts("tea", "coffee"))
    catalog.clear()
    keys = [vector_key(text, MODEL) for text in ("tea", "coffee", "cake")]
    assert catalog.vectors.missing(keys) == {keys[2]}
    assert catalog.vectors.embedded_total == 2
    assert catalog.vectors.prune(keep=1) == 1
    assert catalog.vectors.missing(keys) == {keys[0], keys[2]}


def test_the_outbox_tells_the_last_state_only(catalog: Catalog) -> None:
    tea, coffee = facts("tea", "coffee")
    put(catalog, [tea, coffee])
    put(catalog, facts("tea"))
    pending = catalog.outbox.pending(10)
    assert (pending.ids, pending.gone) == ([tea.id], [coffee.id])
    assert pending.vectors.shape == (1, 32)
    later = facts("tea", "cake")
    put(catalog, later)
    catalog.outbox.done(pending.mark)
    assert catalog.outbox.pending(10).ids == [later[1].id]
    catalog.outbox.enqueue_all()
    assert catalog.outbox.size == 2


def test_a_purge_leaves_no_byte(catalog: Catalog, tmp_path: Path) -> None:
    secret = "xylophone quartz"
    put(catalog, facts("tea", secret, *[f"fact {n}" for n in range(300)], heading=("Zeppelin",)))
    files = [path for path in tmp_path.iterdir() if path.is_file()]
    assert any(b"xylophon" in path.read_bytes() for path in files)
    put(catalog, facts("tea", *[f"fact {n}" for n in range(300)]))
    catalog.scrub()
    everything = b"".join(path.read_bytes() for path in files).lower()
    for word in (b"xylophon", b"quartz", b"zeppelin"):
        assert word not in everything
    assert found(catalog, "tea") == ["tea"]


def test_a_purge_that_another_program_holds_up_does_not_claim_to_be_done(
    catalog: Catalog, tmp_path: Path
) -> None:
    put(catalog, facts("tea", "xylophone"))
    reader = sqlite3.connect(tmp_path / "catalog.db")
    reader.execute("BEGIN")
    assert reader.execute("SELECT count(*) FROM chunks").fetchone() == (2,)
    put(catalog, facts("tea"))
    with catalog.database.using() as db:
        db.execute("PRAGMA busy_timeout = 10")
    with pytest.raises(StorageError, match="another program reads"):
        catalog.scrub()
    reader.close()
    catalog.scrub()
    files = [path for path in tmp_path.iterdir() if path.is_file()]
    assert not any(b"xylophon" in path.read_bytes() for path in files)


def test_a_failed_change_changes_nothing(catalog: Catalog) -> None:
    put(catalog, facts("tea"))
    generation = catalog.generation
    update = SourceUpdate("MEMORY.md", STAT, "d", tuple(facts("no vector")))
    with pytest.raises(KeyError):
        catalog.replace_sources([update], MODEL)
    assert catalog.generation == generation
    assert found(catalog, "tea vector") == ["tea"]
    put(catalog, facts("cake"))
    assert found(catalog, "cake") == ["cake"]


def test_everything_outlives_a_reopening(tmp_path: Path) -> None:
    first = Catalog(tmp_path / "catalog.db", tmp_path / "vectors.db")
    put(first, facts("tea"))
    first.touch("MEMORY.md", Stat(9, 9, 9, 9))
    generation = first.generation
    first.close()
    second = Catalog(tmp_path / "catalog.db", tmp_path / "vectors.db")
    second.database.check()
    assert second.generation == generation
    assert found(second, "tea") == ["tea"]
    assert second.sources()["MEMORY.md"].stat == Stat(9, 9, 9, 9)
    assert second.sources()["MEMORY.md"].chunks == 1
    second.close()


@pytest.mark.parametrize("content", [b"no database at all" * 500, b"SQLite format 3\0" * 300])
def test_what_is_no_catalog_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "catalog.db").write_bytes(content)
    with pytest.raises(CatalogDamaged):
        Catalog(tmp_path / "catalog.db", tmp_path / "vectors.db")


@pytest.mark.parametrize("which", range(4))
def test_an_index_that_does_not_fit_its_table_is_seen(tmp_path: Path, which: int) -> None:
    path = tmp_path / "catalog.db"
    first = Catalog(path, tmp_path / "vectors.db")
    put(first, facts("the code is 4711"))
    named = first.chunks(first.layout().rowid.tolist())[0].id.encode()
    first.close()
    parts = path.read_bytes().split(named)
    assert len(parts) == 5  # two tables, and an index of each
    other = bytes([named[0] ^ 1]) + named[1:]
    path.write_bytes(
        parts[0]
        + b"".join(
            (other if place == which else named) + part for place, part in enumerate(parts[1:])
        )
    )
    again = Catalog(path, tmp_path / "vectors.db")
    with pytest.raises(CatalogDamaged):
        again.database.check()
    again.close()


def test_a_reader_sees_one_state_however_often_it_looks(catalog: Catalog) -> None:
    put(catalog, facts("tea"))
    with catalog.reading():
        before = catalog.count(), len(catalog.layout()), catalog.generation
        writer = threading.Thread(target=put, args=(catalog, facts("tea", "coffee")))
        writer.start()
        writer.join()
        assert (catalog.count(), len(catalog.layout()), catalog.generation) == before
        assert found(catalog, "coffee") == [] and not catalog.is_latest
    assert catalog.count() == 2 and found(catalog, "coffee") == ["coffee"]


def test_threads_may_read_while_one_writes(catalog: Catalog) -> None:
    put(catalog, facts("tea"))
    failures: list[BaseException] = []

    def read() -> None:
        try:
            for _ in range(100):
                assert "tea" in found(catalog, "tea")
                layout = catalog.layout()
                assert len(layout.rowid) == len(layout.section)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for number in range(30):
        put(catalog, facts("tea", *[f"fact {n}" for n in range(number)]))
    for thread in threads:
        thread.join()
    assert failures == []


def test_a_word_leaves_the_vocabulary_with_the_last_text_that_has_it(
    catalog: Catalog, tmp_path: Path
) -> None:
    put(catalog, facts("Schubkarre: die Wabenschleuder", "die Schubkarre ist grün"))
    put(catalog, facts("aussi la schubkarre", source="a.md", heading=("Étagère",)), "a.md")
    put(catalog, facts("die Schubkarre ist grün"))
    assert spelt(catalog).isdisjoint(["wabenschleuder"]) and "schubkarre" in spelt(catalog)
    put(catalog, [])
    assert spelt(catalog).issuperset(["schubkarre", "etagere"])
    catalog.delete_source("a.md")
    assert catalog.database.rows("SELECT * FROM vocabulary") == []
    catalog.close()
    kept = (tmp_path / "catalog.db").read_bytes().lower()
    assert not [word for word in (b"wabenschleu", b"schubkarr", b"etager") if word in kept]


@pytest.mark.parametrize(
    "fact",
    [
        "Den Rasen mäht im Sommer der Schüler Bennet Lübben",
        "Frau Brandes, Frau Claasen und Herr Hansen gießen die Blumen",
        "Lübben",
        "El señor Lübben vive en la calle Hansen con Claasen y Brandes",
        "Госпожа Lübben живёт у Hansen, Claasen и Brandes",
        "吕本先生 (Lübben) 和 Hansen, Claasen, Brandes 住在柏林",
    ],
)
@pytest.mark.parametrize(
    "question", ["write a letter to {}", "Wie heißt der Schüler, den {} kennt?", "¿Dónde vive {}?",
                 "Где живёт {}?", "{}", "{} 在哪里?"],
)  # fmt: skip
def test_a_name_is_found_whatever_the_languages_of_text_and_question(
    catalog: Catalog, fact: str, question: str
) -> None:
    put(catalog, facts("the lawn is mown", fact, "der Rasen ist grün", heading=("Lübben",)))
    for name in re.findall("Lübben|Hansen|Claasen|Brandes", fact):
        stem = catalog.words.terms(name, "english")[0].text
        terms = catalog.words.terms(question.format(name))
        (term,) = (term for term in terms if stem in (term.text, *term.elsewhere))
        (rows, counts) = catalog.words.in_chunks([term])[term.text]
        assert [chunk.plain for chunk in catalog.chunks(rows.tolist())] == [fact]
        assert counts.tolist() == [1] and term.document_frequency == 1
        (sections, _) = catalog.words.in_headings([term])[term.text]
        assert len(sections) == (name == "Lübben")


@pytest.mark.parametrize(
    ("fact", "question"),
    [
        ("Impfung: Tetanus", "Wann sind meine Impfungen?"),
        ("Rechnung Telekom 49 Euro", "Welche Rechnungen sind offen?"),
        ("Alergia: penicilina", "¿Qué alergias tengo?"),
        ("Vacuna: gripe", "¿Cuáles son mis vacunas?"),
        ("Llave: Bo", "¿Dónde están mis llaves?"),
        ("Ключ: Bo", "Где мои ключи?"),
    ],
)
@pytest.mark.parametrize("others", [(), ("Ich wohne am See", "Vivo con mi perro", "the lawn")])
def test_a_fact_whose_language_is_unclear_is_found_by_a_question_in_its_language(
    catalog: Catalog, fact: str, question: str, others: tuple[str, ...]
) -> None:
    put(catalog, facts(*others, fact))
    assert fact in found(catalog, question)


def test_a_text_with_several_stems_of_a_word_counts_once(catalog: Catalog) -> None:
    put(catalog, facts("Impfung Tetanus, Impfungen Bo"))
    (term,) = catalog.words.terms("Impfungen", "german")
    (rows, counts) = catalog.words.in_chunks([term])[term.text]
    assert counts.tolist() == [2] and rows.tolist() == sorted(set(rows.tolist()))
    assert term.document_frequency == 1
