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
from assistant.memory.index.sqlite.database import TOKENIZER, Database
from assistant.memory.index.sqlite.kept import Kept
from assistant.memory.text.language import comparable, language_of
from assistant.memory.text.strings import signed, variants

MAX_QUERY_TERMS = 512
"""Distinct terms of a query that are looked at, in order."""
KEPT_POSTINGS = 2_000_000
"""Postings that stay read until the next change: 24 MB."""
KEPT_FREQUENCIES = 10_000
LEAST_WEIGHT = 50
"""A term that stands nowhere takes room, too."""
_MARKS = 500
"""Parameters of one statement; SQLite's builds allow 999 at least."""
Postings = tuple[Rows, NDArray[np.int32]]
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
        self._tokenizing = _tokenizing_database()
        self._turn = threading.Lock()
        self._frequencies: Kept[str, int] = Kept(generation, KEPT_FREQUENCIES)
        self._read = {
            table: Kept[str, Postings](generation, KEPT_POSTINGS, _weight)
            for table in ("words_at", "headings_at")
        }

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
        said = self._tokens(_plainly(query, language or language_of(query)))
        written = self._tokens("\n".join(variants)) if variants else []
        others = sorted(set(written).difference(said))
        stands = self._standing([*said[:MAX_QUERY_TERMS], *others])
        words = [Term(term, stands[term]) for term in said[:MAX_QUERY_TERMS]]
        return [*words, *(Term(term, stands[term]) for term in others if stands[term])]

    def in_chunks(self, terms: Iterable[Term]) -> dict[str, Postings]:
        """Where each term stands: row ids of chunks, and how often. Kept until the next change."""
        return self._postings("words_at", terms)

    def in_headings(self, terms: Iterable[Term]) -> dict[str, Postings]:
        """Where each term stands in headings: numbers of sections, and how often."""
        return self._postings("headings_at", terms)

    def _standing(self, terms: Sequence[str]) -> dict[str, int]:
        """In how many chunks each term stands."""
        with self._database.using() as db:
            found = {term: self._frequencies.get(term) for term in terms}
            missing = [term for term, known in found.items() if known is None]
            for start in range(0, len(missing), _MARKS):
                part = missing[start : start + _MARKS]
                marks = ", ".join("?" * len(part))
                query = f"SELECT term, doc FROM words_in WHERE term IN ({marks})"
                there = dict(db.execute(query, part).fetchall())
                found |= {term: self._frequencies.put(term, there.get(term, 0)) for term in part}
        return {term: known or 0 for term, known in found.items()}

    def _postings(self, table: str, terms: Iterable[Term]) -> dict[str, Postings]:
        kept = self._read[table]
        with self._database.using() as db:
            return {
                term.text: kept.get(term.text) or kept.put(term.text, _read(db, table, term.text))
                for term in terms
            }

    def holds_any(self, terms: Iterable[Term]) -> bool:
        """Whether a chunk or a heading holds any of these."""
        looked_for = list(terms)
        if any(term.document_frequency for term in looked_for):
            return True
        return any(len(numbers) for numbers, _ in self.in_headings(looked_for).values())

    def _tokens(self, text: str) -> list[str]:
        """The distinct tokens of a text, in order."""
        if not text.strip():
            return []
        with self._turn:
            tokenizing = self._tokenizing
            tokenizing.execute("INSERT INTO words (rowid, plain) VALUES (1, ?)", (text,))
            rows = tokenizing.execute("SELECT term FROM words_at ORDER BY offset").fetchall()
            tokenizing.execute("INSERT INTO words (words) VALUES ('delete-all')")
        return list(dict.fromkeys(term for (term,) in rows))


def _weight(found: Postings) -> int:
    return LEAST_WEIGHT + len(found[0])


def _read(db: sqlite3.Connection, table: str, term: str) -> Postings:
    query = f"SELECT group_concat(doc) FROM {table} WHERE term = ?"
    joined = db.execute(query, (term,)).fetchone()[0]
    occurrences = np.fromstring(joined or "", dtype=np.int64, sep=",")
    rows, counts = np.unique(occurrences, return_counts=True)
    return rows, counts.astype(np.int32)


def _tokenizing_database() -> sqlite3.Connection:
    """A database in memory whose FTS5 table splits queries as the index splits chunks."""
    db = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    db.execute(f"CREATE VIRTUAL TABLE words USING fts5(plain, content='', tokenize='{TOKENIZER}')")
    db.execute("CREATE VIRTUAL TABLE words_at USING fts5vocab(words, 'instance')")
    return db


def searchable(text: str) -> str:
    """A chunk as FTS5 shall see it: its words, and other ways of writing the strings in it."""
    return "\n".join([_plainly(text, language_of(text)), *variants(text)])


def _plainly(text: str, language: str) -> str:
    """The words of a text as FTS5 shall see them: stemmed by its language."""
    return comparable(signed(text), language)
