"""The words of the index: which terms a text has, and where each stands.

Postings come from an FTS5 table (without content: the text is in `chunks`) through `fts5vocab`,
a term's as one string of numbers, which numpy parses: 0.3 µs a posting, where a row of SQLite's
costs 0.5 and BM25 inside FTS5 could be rolled up to one grain only.
"""

import sqlite3
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assistant.memory.index.columns import Rows
from assistant.memory.index.database import searchable, tokenizing_database

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
    """The words of a catalog's database; one thread may use it at a time."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._tokenizing = tokenizing_database()
        self._postings: dict[str, Postings] = {}

    def close(self) -> None:
        """Let go of what it opened itself."""
        self._tokenizing.close()

    def clear(self) -> None:
        """Forget what was read: the chunks have changed."""
        self._postings.clear()

    def terms(self, query: str) -> list[Term]:
        """The distinct stemmed words of any text, in order, as the index has them.

        FTS5 itself tokenizes the query, as a document; no text reaches its query language.
        """
        db = self._tokenizing
        db.execute("INSERT INTO words (rowid, plain) VALUES (1, ?)", (searchable(query),))
        rows = db.execute("SELECT term FROM words_at ORDER BY offset").fetchall()
        db.execute("INSERT INTO words (words) VALUES ('delete-all')")
        found = list(dict.fromkeys(term for (term,) in rows))[:MAX_QUERY_TERMS]
        return [Term(term, self._frequency(term)) for term in found]

    def in_chunks(self, term: str) -> Postings:
        """The chunks that a term stands in; kept until the next change."""
        if term not in self._postings:
            self._postings[term] = self._read("words_at", term)
            while len(self._postings) > MAX_QUERY_TERMS:
                del self._postings[next(iter(self._postings))]
        return self._postings[term]

    def in_headings(self, term: str) -> Postings:
        """The sections in whose headings a term stands."""
        return self._read("headings_at", term)

    def _frequency(self, term: str) -> int:
        if term in self._postings:
            return len(self._postings[term][0])
        found = self._db.execute("SELECT doc FROM words_in WHERE term = ?", (term,)).fetchone()
        return int(found[0]) if found else 0

    def _read(self, table: str, term: str) -> Postings:
        query = f"SELECT group_concat(doc) FROM {table} WHERE term = ?"
        joined = self._db.execute(query, (term,)).fetchone()[0]
        occurrences = np.fromstring(joined or "", dtype=np.int64, sep=",")
        rows, counts = np.unique(occurrences, return_counts=True)
        return rows, counts
