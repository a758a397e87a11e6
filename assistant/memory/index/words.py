"""The words of the index: the inverted index of terms, and the vocabulary for spelling correction.

FTS5 splits texts into terms. The postings are in our own table: those of a term in a block of rows
are one blob, which numpy reads in some nanoseconds per posting (300 through `fts5vocab`), and they
can be counted without reading them. New rows come last, so writes are contiguous. The vocabulary
suggests the words that a misspelt one may mean; it counts the texts that contain each word, and
drops a word with the last of them.
"""

import json
import re
import sqlite3
import threading
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assistant.characters import mend
from assistant.memory.index.database import Database
from assistant.memory.index.layout import Rows
from assistant.memory.text.language import (
    LANGUAGES,
    comparable,
    language_of,
    spell_signs,
    variants,
)

MAX_QUERY_TERMS = 512
"""Maximum number of distinct terms of a query that are looked up, in order."""
TOKENIZER = "porter unicode61 remove_diacritics 2"
BLOCK = 1 << 14
"""Rows per block of postings. Larger blocks slow edits down, smaller ones queries."""
AT_ONCE = 500
"""The number of texts that are split into terms at once."""
_POSTING = np.dtype("<u4")
"""The index of a row in its block, and the number of occurrences of the term in it."""
_COUNT_BITS = 18
_COUNTS = (1 << _COUNT_BITS) - 1
Postings = tuple[Rows, NDArray[np.int32]]
"""Row ids, ascending, and the number of occurrences of the term in each."""
_Packed = tuple[int, str, bytes]
"""A block, a term, and its postings in the block."""


@dataclass(frozen=True, slots=True)
class Term:
    """A word of a query as it is indexed in texts of the query's language, the number of chunks
    that contain it, and how it is indexed in texts of other languages."""

    text: str
    document_frequency: int
    elsewhere: tuple[str, ...] = ()


class InvertedIndex:
    """The words of a catalog's database. Raises CatalogDamaged and StorageError."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._tokenizer = Tokenizer()

    def close(self) -> None:
        """Close its own resources."""
        self._tokenizer.close()

    def terms(
        self, query: str, language: str | None = None, variants: Sequence[str] = ()
    ) -> list[Term]:
        """Return the distinct words of a text, in order, and those of the `variants` that occur in
        the index. In texts of each language that the index contains, a word is looked up by its
        stem in that language; in English ones, which include those whose language is unclear, also
        by its stem in the query's.

        FTS5 itself tokenizes the query, as a document; no text reaches its query language.
        """
        query = query.encode("utf-8", "replace").decode()  # a shell may pass any bytes
        own = language or language_of(query)
        with self._database.using() as db:
            languages = [own, *sorted(_languages(db) - {own})]
            texts = [_stemmed(query, language) for language in languages]
            words_of_query = self._indexed(texts, languages)
            spelt = ["\n".join(variants)] * len(languages)
            others = self._indexed(spelt, languages) if variants else {}
            others = {word: others[word] for word in sorted(others.keys() - words_of_query.keys())}
            looked_up = {**dict(islice(words_of_query.items(), MAX_QUERY_TERMS)), **others}
            frequency = _frequencies(db, "postings", list(chain(looked_up, *looked_up.values())))
        terms = [
            Term(word, _number_of_texts((word, *elsewhere), frequency), elsewhere)
            for word, elsewhere in looked_up.items()
        ]
        return [term for term in terms if term.document_frequency or term.text not in others]

    def _indexed(
        self, texts: Sequence[str], languages: Sequence[str]
    ) -> dict[str, tuple[str, ...]]:
        """Return the distinct words of a text, given as stemmed in each of these languages, as they
        are indexed: those of the first language, each with the others by which it is looked up."""
        own, *_ = split = self._tokenizer.words(texts)
        first, *others = (
            [_indexed(word, language) for word in words]
            for words, language in zip([*split, own], [*languages, "english"], strict=True)
        )
        aligned = (words for words in others if len(words) == len(first))
        indexed: dict[str, tuple[str, ...]] = {}
        for word, *elsewhere in zip(first, *aligned, strict=True):
            indexed.setdefault(word, tuple(dict.fromkeys((word, *elsewhere)))[1:])
        return indexed

    def in_chunks(self, terms: Iterable[Term]) -> dict[str, Postings]:
        """Return the postings of each term: row ids of chunks, and occurrences."""
        return self._postings("postings", terms)

    def in_headings(self, terms: Iterable[Term]) -> dict[str, Postings]:
        """Return the postings of each term in headings: numbers of sections, and occurrences."""
        return self._postings("heading_postings", terms)

    def _postings(self, table: str, terms: Iterable[Term]) -> dict[str, Postings]:
        with self._database.using() as db:
            return {term.text: _read(db, table, (term.text, *term.elsewhere)) for term in terms}

    def holds_any(self, terms: Sequence[Term]) -> bool:
        """Return whether a chunk or a heading contains any of these terms."""
        if any(term.document_frequency for term in terms):
            return True
        return any(len(numbers) for numbers, _ in self.in_headings(terms).values())


class Tokenizer:
    """Splits texts into terms, in an FTS5 table in memory. Thread-safe."""

    def __init__(self) -> None:
        self._db = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        columns = f"plain, content='', tokenize='{TOKENIZER}'"
        self._db.execute(f"CREATE VIRTUAL TABLE words USING fts5({columns})")
        self._db.execute("CREATE VIRTUAL TABLE words_at USING fts5vocab(words, 'instance')")
        self._turn = threading.Lock()

    def close(self) -> None:
        """Close the table."""
        self._db.close()

    def words(self, texts: Sequence[str]) -> list[list[str]]:
        """Return the terms of each text, in order."""
        words: list[list[str]] = [[] for _ in texts]
        read = "SELECT doc, term FROM words_at ORDER BY offset"
        for number, term in self._split(list(enumerate(texts)), read):
            words[number].append(term)
        return words

    def occurrences(self, texts: Sequence[tuple[int, str]]) -> list[tuple[str, int]]:
        """Return each occurrence of a term with its row, sorted by both."""
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
    """Writes one table of postings, within one of the catalog's transactions."""

    def __init__(self, db: sqlite3.Connection, table: str, tokenizer: Tokenizer) -> None:
        self._db = db
        self._table = table
        self._tokenizer = tokenizer

    def add(self, texts: Iterable[tuple[int, str]]) -> dict[int, int]:
        """Add the texts of new rows, in ascending order after all existing ones; return the number
        of terms of each, counting repetitions."""
        lengths: dict[int, int] = {}
        for language, some in _batches(texts):
            lengths |= dict.fromkeys((row for row, _ in some), 0)
            occurrences = self._tokenizer.occurrences(some)
            for _, row in occurrences:
                lengths[row] += 1
            self._db.executemany(
                f"INSERT INTO {self._table} VALUES (?, ?, ?) ON CONFLICT DO UPDATE"
                " SET found = CAST(found || excluded.found AS BLOB)",
                _packed(occurrences, language),
            )
        return lengths

    def drop(self, texts: Iterable[tuple[int, str]]) -> None:
        """Drop rows, given the same texts with which they were added."""
        of, where = f"FROM {self._table}", "WHERE block = ? AND term = ?"
        for language, some in _batches(texts):
            for block, term, gone in _packed(self._tokenizer.occurrences(some), language):
                row = self._db.execute(f"SELECT found {of} {where}", (block, term)).fetchone()
                stored = np.frombuffer(row[0] if row else b"", _POSTING)
                remaining = stored[~np.isin(stored, np.frombuffer(gone, _POSTING))]
                if len(remaining):
                    change = f"UPDATE {self._table} SET found = ? {where}"
                    self._db.execute(change, (remaining.tobytes(), block, term))
                else:
                    self._db.execute(f"DELETE {of} {where}", (block, term))


def _batches(texts: Iterable[tuple[int, str]]) -> Iterator[tuple[str, list[tuple[int, str]]]]:
    """Yield the texts of each language as FTS5 splits them into terms, some at a time."""
    waiting = iter(texts)
    while some := list(islice(waiting, AT_ONCE)):
        by_language: dict[str, list[tuple[int, str]]] = {}
        for row, text in some:
            text = mend(text)
            language = language_of(text)
            searched = "\n".join([_stemmed(text, language), *variants(text)])
            by_language.setdefault(language, []).append((row, searched))
        yield from by_language.items()


def _packed(occurrences: Sequence[tuple[str, int]], language: str) -> Iterator[_Packed]:
    """Pack terms and the rows that contain them, in order, by block and term."""
    if not occurrences:
        return
    numbers: dict[str, int] = {}
    term = np.array([numbers.setdefault(item, len(numbers)) for item, _ in occurrences])
    row = np.array([item for _, item in occurrences], dtype=np.int64)
    first = np.flatnonzero(np.diff(term, prepend=-1) | np.diff(row, prepend=-1))
    counts = np.diff(first, append=len(row))
    term, row = term[first], row[first]
    block = row // BLOCK
    postings = ((row % BLOCK << _COUNT_BITS) + counts).astype(_POSTING)
    starts = np.flatnonzero(np.diff(term, prepend=-1) | np.diff(block, prepend=-1))
    ends = np.append(starts[1:], len(row)).tolist()
    names = [_indexed(term, language) for term in numbers]
    for start, end in zip(starts.tolist(), ends, strict=True):
        yield int(block[start]), names[term[start]], postings[start:end].tobytes()


def _frequencies(db: sqlite3.Connection, table: str, terms: Sequence[str]) -> dict[str, int]:
    """Return the number of rows that contain each term, for terms that occur at all."""
    query = (
        f"SELECT term, sum(length(found)) FROM {table}"
        " WHERE term IN (SELECT value FROM json_each(?)) GROUP BY term"
    )
    rows = db.execute(query, (json.dumps(terms),))
    return {term: size // _POSTING.itemsize for term, size in rows}


def _number_of_texts(words: Sequence[str], frequency: Mapping[str, int]) -> int:
    """Return the number of texts that contain one of these words: in each language, the number for
    its most frequent one, since a text may contain several."""
    by_language: dict[str, int] = {}
    for word in words:
        language = word.rpartition(" ")[0]
        by_language[language] = max(by_language.get(language, 0), frequency.get(word, 0))
    return sum(by_language.values())


def _read(db: sqlite3.Connection, table: str, words: Sequence[str]) -> Postings:
    """Return the postings of several words as those of one."""
    query = f"SELECT block, found FROM {table} WHERE term IN (SELECT value FROM json_each(?))"
    rows = db.execute(query, (json.dumps(words),)).fetchall()
    postings = np.frombuffer(b"".join(packed for _, packed in rows), _POSTING)
    sizes = [len(packed) // _POSTING.itemsize for _, packed in rows]
    begin = np.repeat(np.array([block * BLOCK for block, _ in rows], np.int64), sizes)
    numbers, counts = begin + (postings >> _COUNT_BITS), (postings & _COUNTS).astype(np.int32)
    order = np.argsort(numbers, kind="stable")
    numbers, counts = numbers[order], counts[order]
    first = np.flatnonzero(np.diff(numbers, prepend=-1))
    return numbers[first], np.add.reduceat(counts, first, dtype=np.int32)


def _indexed(word: str, language: str) -> str:
    """Return how a term is indexed in texts of a language: a word has other stems in others.

    English is also the language of a text in none that is known.
    """
    return word if language == "english" else f"{language} {word}"


def _languages(db: sqlite3.Connection) -> set[str]:
    """Return English, and the other languages of the indexed texts."""
    some = (
        f"EXISTS (SELECT 1 FROM {table} WHERE term > value || ' ' AND term < value || '!')"
        for table in ("postings", "heading_postings")
    )
    query = f"SELECT value FROM json_each(?) WHERE {' OR '.join(some)}"
    rows = db.execute(query, (json.dumps(sorted(LANGUAGES)),))
    return {"english", *(language for (language,) in rows)}


def _stemmed(text: str, language: str) -> str:
    """Return the words of a text for FTS5, stemmed by its language."""
    return comparable(spell_signs(text), language)


SHORTEST = 4
"""Minimum letters of a word to correct; shorter words resemble too many others."""
LONGEST = 30
LONG = 6
"""Minimum letters of a word that may have two errors; a shorter one may have one."""
_LETTERS_ONLY = re.compile(rf"[^\W\d_]{{{SHORTEST},{LONGEST}}}")
_ACCENTS = re.compile(r"[\u0300-\u036f]")


def folded(text: str) -> str:
    """Return a text in lower case without accents."""
    text = text.casefold()
    return text if text.isascii() else _ACCENTS.sub("", unicodedata.normalize("NFKD", text))


class Vocabulary:
    """The words of a catalog's database. Raises CatalogDamaged and StorageError."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def near(self, word: str) -> list[tuple[str, int]]:
        """Return the words at a distance of 1 or 2 from a folded word, with that distance.

        The distance is Damerau-Levenshtein: a letter omitted, added or changed, or two adjacent
        letters swapped. A wrong first letter is considered only if no word with the same first
        letter is near, and must then be the only error.
        """
        if not SHORTEST <= len(word) <= LONGEST:
            return []
        from rapidfuzz.distance import DamerauLevenshtein
        from rapidfuzz.process import extract

        query = "SELECT word FROM vocabulary WHERE length(word) BETWEEN ? AND ?"
        rows = self._database.rows(query, len(word) - 2, len(word) + 2)
        most = 2 if len(word) >= LONG else 1
        scorer = DamerauLevenshtein.distance
        words = [other for (other,) in rows]
        matches = extract(word, words, scorer=scorer, score_cutoff=most, limit=None)
        near = [(other, int(distance)) for other, distance, _ in matches]
        same = [match for match in near if match[0][0] == word[0]]
        return same or [match for match in near if match[1] == 1]


def count_words(db: sqlite3.Connection, texts: Iterable[str], change: int) -> None:
    """Add texts to the vocabulary (`change` 1) or remove them (-1), within one of the catalog's
    transactions."""
    counts = Counter(word for text in texts for word in set(_LETTERS_ONLY.findall(folded(text))))
    db.executemany(
        "INSERT INTO vocabulary VALUES (?, ?)"
        " ON CONFLICT DO UPDATE SET texts = texts + excluded.texts",
        ((word, change * number) for word, number in counts.items()),
    )
    if change < 0:
        db.executemany(
            "DELETE FROM vocabulary WHERE word = ? AND texts <= 0", ((word,) for word in counts)
        )
