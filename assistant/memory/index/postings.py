"""The words of the index: which terms a text has, and where each stands.

FTS5 splits texts into terms; the postings lie in a table of our own, those of a term in a block of
rows as one blob that numpy reads: some nanoseconds a posting, where through `fts5vocab` one takes
300, and how many there are is known without reading them. New rows are the last, so that what is
written lies together.
"""

import json
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from assistant.memory.index.database import Database
from assistant.memory.index.layout import Rows
from assistant.memory.text.language import comparable, language_of
from assistant.memory.text.strings import signed, variants

MAX_QUERY_TERMS = 512
"""Distinct terms of a query that are looked at, in order."""
TOKENIZER = "porter unicode61 remove_diacritics 2"
MEMO_WORDS = 10_000
"""Words whose terms stay known."""
BLOCK = 1 << 14
"""Rows whose postings lie together. Larger ones cost an edit more, smaller ones a question."""
AT_ONCE = 500
"""Texts that are split at once."""
_POSTING = np.dtype("<u4")
"""The place of a row in its block, and how often the term stands in it."""
_COUNT_BITS = 18
_COUNTS = (1 << _COUNT_BITS) - 1
Postings = tuple[Rows, NDArray[np.int32]]
"""Row ids, ascending, and how often the term stands in each."""
_Packed = tuple[int, str, bytes]
"""A block, a term, and its postings there."""


@dataclass(frozen=True, slots=True)
class Term:
    """A stemmed word of a query, and how many chunks it stands in."""

    text: str
    document_frequency: int


class InvertedIndex:
    """The words of a catalog's database. Raises CatalogDamaged and StorageError."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._tokenizer = Tokenizer()

    def close(self) -> None:
        """Let go of what it opened itself."""
        self._tokenizer.close()

    def terms(
        self, query: str, language: str | None = None, variants: Sequence[str] = ()
    ) -> list[Term]:
        """The distinct stemmed words of any text, in order, as the index has them; and those of the
        `variants` that it has.

        FTS5 itself tokenizes the query, as a document; no text reaches its query language.
        """
        said = self._tokenizer.distinct(_plainly(query, language or language_of(query)))
        written = self._tokenizer.distinct("\n".join(variants)) if variants else []
        others = sorted(set(written).difference(said))
        stands = self._standing([*said[:MAX_QUERY_TERMS], *others])
        words = [Term(term, stands[term]) for term in said[:MAX_QUERY_TERMS]]
        return [*words, *(Term(term, stands[term]) for term in others if stands[term])]

    def in_chunks(self, terms: Iterable[Term]) -> dict[str, Postings]:
        """Where each term stands: row ids of chunks, and how often."""
        return self._postings("postings", terms)

    def in_headings(self, terms: Iterable[Term]) -> dict[str, Postings]:
        """Where each term stands in headings: numbers of sections, and how often."""
        return self._postings("heading_postings", terms)

    def verify(self) -> None:
        """See that all postings are what was written."""
        with self._database.using() as db:
            for table in ("postings", "heading_postings"):
                for term, found, total in db.execute(f"SELECT term, found, total FROM {table}"):
                    _verified(term, [found], total)

    def _standing(self, terms: Sequence[str]) -> dict[str, int]:
        """In how many chunks each term stands."""
        with self._database.using() as db:
            there = _frequencies(db, "postings", terms)
        return {term: there.get(term, 0) for term in terms}

    def _postings(self, table: str, terms: Iterable[Term]) -> dict[str, Postings]:
        with self._database.using() as db:
            blocks = _blocks(db, table)
            return {term.text: _read(db, table, blocks, term.text) for term in terms}

    def holds_any(self, terms: Iterable[Term]) -> bool:
        """Whether a chunk or a heading holds any of these."""
        looked_for = list(terms)
        if any(term.document_frequency for term in looked_for):
            return True
        return any(len(numbers) for numbers, _ in self.in_headings(looked_for).values())


class Tokenizer:
    """Splits texts into terms, in an FTS5 table in memory. Thread-safe."""

    def __init__(self) -> None:
        self._db = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        columns = f"plain, content='', tokenize='{TOKENIZER}'"
        self._db.execute(f"CREATE VIRTUAL TABLE words USING fts5({columns})")
        self._db.execute("CREATE VIRTUAL TABLE words_at USING fts5vocab(words, 'instance')")
        self._turn = threading.Lock()
        self._words: dict[str, list[str]] = {}
        """The terms of words that were asked for."""

    def close(self) -> None:
        """Let go of the table."""
        self._db.close()

    def distinct(self, text: str) -> list[str]:
        """The distinct terms of a text, in order."""
        words, known = text.split(), self._words
        if new := list(dict.fromkeys(word for word in words if word not in known)):
            found: dict[str, list[str]] = {word: [] for word in new}
            asked = "SELECT doc, term FROM words_at ORDER BY doc, offset"
            for number, term in self._split(list(enumerate(new)), asked):
                found[new[number]].append(term)
            known.update(found)
            if len(known) > MEMO_WORDS:
                self._words = {}
        return list(dict.fromkeys(chain.from_iterable(map(known.__getitem__, words))))

    def placed(self, texts: Sequence[tuple[int, str]]) -> list[tuple[str, int]]:
        """Each term and the row it stands in, as often as it does; in the order of both."""
        return self._split(texts, "SELECT term, doc FROM words_at")

    def _split(self, texts: Sequence[tuple[int, str]], read: str) -> list[Any]:
        with self._turn:
            self._db.execute("BEGIN")
            try:
                self._db.executemany("INSERT INTO words (rowid, plain) VALUES (?, ?)", texts)
                return self._db.execute(read).fetchall()
            finally:
                self._db.execute("ROLLBACK")


class PostingsWriter:
    """Writes one table of postings, within a transaction of the catalog's."""

    def __init__(self, db: sqlite3.Connection, table: str, tokenizer: Tokenizer) -> None:
        self._db = db
        self._table = table
        self._tokenizer = tokenizer

    def add(self, texts: Iterable[tuple[int, str]]) -> dict[int, int]:
        """Add the texts of rows, ascending and beyond all there are; returns how many terms each
        has, repeated ones too."""
        lengths: dict[int, int] = {}
        for some in _batches(texts):
            lengths |= dict.fromkeys((row for row, _ in some), 0)
            placed = self._tokenizer.placed(some)
            for _, row in placed:
                lengths[row] += 1
            self._db.executemany(
                f"INSERT INTO {self._table} VALUES (?1, ?2, ?3, ?4 + ?5) ON CONFLICT DO UPDATE"
                " SET found = CAST(found || excluded.found AS BLOB), total = total + ?4",
                ((block, term, new, _sum(new), _of(term)) for block, term, new in _packed(placed)),
            )
        return lengths

    def drop(self, texts: Iterable[tuple[int, str]]) -> None:
        """Drop rows that have these texts, searchable as when they were added."""
        of, where = f"FROM {self._table}", "WHERE block = ? AND term = ?"
        for some in _batches(texts):
            for block, term, gone in _packed(self._tokenizer.placed(some)):
                row = self._db.execute(f"SELECT found {of} {where}", (block, term)).fetchone()
                there = np.frombuffer(row[0] if row else b"", _POSTING)
                left = there[~np.isin(there, np.frombuffer(gone, _POSTING))]
                if len(left):
                    change = f"UPDATE {self._table} SET found = ?, total = ? {where}"
                    total = _of(term) + _sum(left.tobytes())
                    self._db.execute(change, (left.tobytes(), total, block, term))
                else:
                    self._db.execute(f"DELETE {of} {where}", (block, term))


def _batches(texts: Iterable[tuple[int, str]]) -> Iterator[list[tuple[int, str]]]:
    waiting = iter(texts)
    while some := list(islice(waiting, AT_ONCE)):
        yield some


def _packed(placed: Sequence[tuple[str, int]]) -> Iterator[_Packed]:
    """Terms and the rows they stand in, in order, as what is kept of each term in each block."""
    if not placed:
        return
    numbers: dict[str, int] = {}
    term = np.array([numbers.setdefault(each, len(numbers)) for each, _ in placed])
    row = np.array([each for _, each in placed], dtype=np.int64)
    first = np.flatnonzero(np.diff(term, prepend=-1) | np.diff(row, prepend=-1))
    counts = np.diff(first, append=len(row))
    term, row = term[first], row[first]
    block = row // BLOCK
    postings = ((row % BLOCK << _COUNT_BITS) + counts).astype(_POSTING)
    starts = np.flatnonzero(np.diff(term, prepend=-1) | np.diff(block, prepend=-1))
    ends = np.append(starts[1:], len(row)).tolist()
    names = list(numbers)
    for start, end in zip(starts.tolist(), ends, strict=True):
        yield int(block[start]), names[term[start]], postings[start:end].tobytes()


def _sum(packed: bytes) -> int:
    return int(np.frombuffer(packed, _POSTING).sum(dtype=np.int64))


def _of(term: str) -> int:
    """What a term adds to the total of its postings, by which damage is told."""
    return crc32(term.encode("utf-8", "surrogatepass"))


def _verified(term: str, found: Sequence[bytes], total: int) -> bytes:
    """Postings of a term, end to end. Raises sqlite3.DatabaseError if they are not what was
    written."""
    joined = b"".join(found)
    if len(joined) % _POSTING.itemsize or _sum(joined) + len(found) * _of(term) != total:
        raise sqlite3.DatabaseError("postings are not what was written")
    return joined


def _blocks(db: sqlite3.Connection, table: str) -> str:
    """The numbers of all blocks, as JSON: each is looked into for itself."""
    last = db.execute(f"SELECT max(block) FROM {table}").fetchone()[0]
    return json.dumps(list(range(last + 1 if last is not None else 0)))


def _frequencies(db: sqlite3.Connection, table: str, terms: Sequence[str]) -> dict[str, int]:
    """In how many rows each term stands, of those that stand in any."""
    query = (
        f"SELECT p.term, sum(length(p.found)) FROM json_each(?) t CROSS JOIN json_each(?) b"
        f" CROSS JOIN {table} p ON p.block = b.value AND p.term = t.value GROUP BY p.term"
    )
    rows = db.execute(query, (json.dumps(terms), _blocks(db, table)))
    return {term: size // _POSTING.itemsize for term, size in rows}


def _read(db: sqlite3.Connection, table: str, blocks: str, term: str) -> Postings:
    query = (
        f"SELECT p.block, p.found, p.total FROM json_each(?) b CROSS JOIN {table} p"
        " ON p.block = b.value AND p.term = ?"
    )
    found = db.execute(query, (blocks, term)).fetchall()
    packed = [value for _, value, _ in found]
    joined = _verified(term, packed, sum(total for _, _, total in found))
    postings = np.frombuffer(joined, _POSTING)
    sizes = [len(value) // _POSTING.itemsize for value in packed]
    begin = np.repeat(np.array([block * BLOCK for block, _, _ in found], np.int64), sizes)
    return begin + (postings >> _COUNT_BITS), (postings & _COUNTS).astype(np.int32)


def searchable(text: str) -> str:
    """A chunk as FTS5 shall see it: its words, and other ways of writing the strings in it."""
    return "\n".join([_plainly(text, language_of(text)), *variants(text)])


def _plainly(text: str, language: str) -> str:
    """The words of a text as FTS5 shall see them: stemmed by its language."""
    return comparable(signed(text), language)
