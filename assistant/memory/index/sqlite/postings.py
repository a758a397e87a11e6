"""The words of the index: which terms a text has, and where each stands.

Postings come from an FTS5 table (without content: the text is in `chunks`) through `fts5vocab`,
a term's as one string of numbers, which numpy parses: 0.3 µs a posting, where a row of SQLite's
costs 0.5 and BM25 inside FTS5 could be rolled up to one grain only.
"""

import sqlite3
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assistant.memory.index.sqlite.columns import Rows
from assistant.memory.index.sqlite.database import Database, plainly, tokenizing_database

MAX_QUERY_TERMS = 512
"""Distinct terms of a query that are looked at, in order."""
Postings = tuple[Rows, NDArray[np.int64]]
"""Row ids, ascending, and how often the term stands in each."""


@dataclass(frozen=True, slots=True)
class Term:
    """A stemmed word of a query, and how many chunks it stands in."""

    text: str
    document_frequency: int


class InvertedIndex:
    """The words of a catalog's database. Raises CatalogDamaged and StorageError."""

    def __init__(self, database: Database, generation: Callable[[], int]) -> None:
        """`generation` names the state that the calling thread sees."""
        self._database = database
        self._generation = generation
        self._tokenizing = tokenizing_database()
        self._kept: tuple[int, dict[str, Postings]] = (0, {})
        self._turn = threading.Lock()

    def close(self) -> None:
        """Let go of what it opened itself."""
        self._tokenizing.close()

    def terms(
        self, query: str, language: str | None = None, variants: Sequence[str] = ()
    ) -> list[Term]:
        """The distinct stemmed words of any text, in order, as the index has them; and those of the
        `variants` that it has.

        FTS5 itself tokenizes the query, as a document; no text reaches its query language.
        """
        said = self._tokens(plainly(query, language))
        others = set(self._tokens("\n".join(variants)) if variants else ()).difference(said)
        with self._database.using() as db:
            kept = self._of_now()
            words = [Term(term, _frequency(db, term, kept)) for term in said[:MAX_QUERY_TERMS]]
            written = (Term(term, _frequency(db, term, kept)) for term in sorted(others))
            return [*words, *(term for term in written if term.document_frequency)]

    def in_chunks(self, terms: Iterable[Term]) -> dict[str, Postings]:
        """Where each term stands: row ids of chunks, and how often. Kept until the next change."""
        with self._database.using() as db:
            kept = self._of_now()
            return {term.text: _chunks_with(db, term.text, kept) for term in terms}

    def in_headings(self, terms: Iterable[Term]) -> dict[str, Postings]:
        """Where each term stands in headings: numbers of sections, and how often."""
        with self._database.using() as db:
            return {term.text: _read(db, "headings_at", term.text) for term in terms}

    def holds_any(self, terms: Iterable[Term]) -> bool:
        """Whether a chunk or a heading holds any of these."""
        looked_for = list(terms)
        if any(term.document_frequency for term in looked_for):
            return True
        return any(len(numbers) for numbers, _ in self.in_headings(looked_for).values())

    def _tokens(self, text: str) -> list[str]:
        """The distinct tokens of a text, in order."""
        with self._turn:
            tokenizing = self._tokenizing
            tokenizing.execute("INSERT INTO words (rowid, plain) VALUES (1, ?)", (text,))
            rows = tokenizing.execute("SELECT term FROM words_at ORDER BY offset").fetchall()
            tokenizing.execute("INSERT INTO words (words) VALUES ('delete-all')")
        return list(dict.fromkeys(term for (term,) in rows))

    def _of_now(self) -> dict[str, Postings]:
        """What is kept of the state that this thread sees; of an older one nothing is."""
        now = self._generation()
        with self._turn:
            if now > self._kept[0] or len(self._kept[1]) > MAX_QUERY_TERMS:
                self._kept = (now, {})
            return self._kept[1] if now == self._kept[0] else {}


def _chunks_with(db: sqlite3.Connection, term: str, kept: dict[str, Postings]) -> Postings:
    found = kept.get(term)
    if found is None:
        found = kept[term] = _read(db, "words_at", term)
    return found


def _frequency(db: sqlite3.Connection, term: str, kept: dict[str, Postings]) -> int:
    if (found := kept.get(term)) is not None:
        return len(found[0])
    row = db.execute("SELECT doc FROM words_in WHERE term = ?", (term,)).fetchone()
    return int(row[0]) if row else 0


def _read(db: sqlite3.Connection, table: str, term: str) -> Postings:
    query = f"SELECT group_concat(doc) FROM {table} WHERE term = ?"
    joined = db.execute(query, (term,)).fetchone()[0]
    occurrences = np.fromstring(joined or "", dtype=np.int64, sep=",")
    rows, counts = np.unique(occurrences, return_counts=True)
    return rows, counts
