"""The words of the index: which terms a text has, and where each stands.

Postings come from an FTS5 table (without content: the text is in `chunks`) through `fts5vocab`,
a term's as one string of numbers, which numpy parses: 0.3 µs a posting, where a row of SQLite's
costs 0.5 and BM25 inside FTS5 could be rolled up to one grain only.
"""

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assistant.memory.index.columns import Rows
from assistant.memory.index.database import Database, plainly, tokenizing_database

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

    def __init__(self, database: Database) -> None:
        self._database = database
        self._tokenizing = tokenizing_database()
        self._kept: dict[str, Postings] = {}

    def close(self) -> None:
        """Let go of what it opened itself."""
        self._tokenizing.close()

    def clear(self) -> None:
        """Forget what was read: the chunks have changed."""
        self._kept.clear()

    def terms(
        self, query: str, language: str | None = None, variants: Sequence[str] = ()
    ) -> list[Term]:
        """The distinct stemmed words of any text, in order, as the index has them; and those of the
        `variants` that it has.

        FTS5 itself tokenizes the query, as a document; no text reaches its query language.
        """
        with self._database.using() as db:
            said = self._tokens(plainly(query, language))
            words = [Term(term, self._frequency(db, term)) for term in said[:MAX_QUERY_TERMS]]
            others = set(self._tokens("\n".join(variants)) if variants else ()).difference(said)
            written = (Term(term, self._frequency(db, term)) for term in sorted(others))
            return [*words, *(term for term in written if term.document_frequency)]

    def _tokens(self, text: str) -> list[str]:
        """The distinct tokens of a text, in order."""
        tokenizing = self._tokenizing
        tokenizing.execute("INSERT INTO words (rowid, plain) VALUES (1, ?)", (text,))
        rows = tokenizing.execute("SELECT term FROM words_at ORDER BY offset").fetchall()
        tokenizing.execute("INSERT INTO words (words) VALUES ('delete-all')")
        return list(dict.fromkeys(term for (term,) in rows))

    def in_chunks(self, terms: Iterable[Term]) -> dict[str, Postings]:
        """Where each term stands: row ids of chunks, and how often. Kept until the next change."""
        with self._database.using() as db:
            return {term.text: self._chunks_with(db, term.text) for term in terms}

    def in_headings(self, terms: Iterable[Term]) -> dict[str, Postings]:
        """Where each term stands in headings: numbers of sections, and how often."""
        with self._database.using() as db:
            return {term.text: _read(db, "headings_at", term.text) for term in terms}

    def _chunks_with(self, db: sqlite3.Connection, term: str) -> Postings:
        if term not in self._kept:
            self._kept[term] = _read(db, "words_at", term)
            while len(self._kept) > MAX_QUERY_TERMS:
                del self._kept[next(iter(self._kept))]
        return self._kept[term]

    def _frequency(self, db: sqlite3.Connection, term: str) -> int:
        if term in self._kept:
            return len(self._kept[term][0])
        row = db.execute("SELECT doc FROM words_in WHERE term = ?", (term,)).fetchone()
        return int(row[0]) if row else 0


def _read(db: sqlite3.Connection, table: str, term: str) -> Postings:
    query = f"SELECT group_concat(doc) FROM {table} WHERE term = ?"
    joined = db.execute(query, (term,)).fetchone()[0]
    occurrences = np.fromstring(joined or "", dtype=np.int64, sep=",")
    rows, counts = np.unique(occurrences, return_counts=True)
    return rows, counts
