"""The words of the index as they are spelt, to tell what a misspelt one may have meant.

Of each word stands how many chunks and headings have it, so that it goes with the last of them.
"""

import re
import sqlite3
import unicodedata
from collections import Counter
from collections.abc import Iterable

from assistant.memory.index.database import Database

SHORTEST = 4
"""Shorter words are each near to many others."""
LONGEST = 30
LONG = 6
"""A word of so many letters may have two errors, a shorter one only one."""
MOST = 20_000
"""Words that are compared with one."""
_WORD = re.compile(rf"[^\W\d_]{{{SHORTEST},{LONGEST}}}")
_ACCENTS = re.compile(r"[\u0300-\u036f]")


def spelt(text: str) -> set[str]:
    """The distinct words of a text that have only letters, folded."""
    return set(_WORD.findall(folded(text)))


def folded(text: str) -> str:
    """A text without capitals and accents."""
    text = text.casefold()
    return text if text.isascii() else _ACCENTS.sub("", unicodedata.normalize("NFKD", text))


class Vocabulary:
    """The words of a catalog's database. Raises CatalogDamaged and StorageError."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def near(self, word: str) -> list[tuple[str, int]]:
        """The words at a distance of 1 or 2 from a folded one, with that.

        The distance is Damerau and Levenshtein's: letters left out, added, changed, and two that
        are next to each other exchanged. A wrong first letter is thought of where no word with the
        same one is near, and is then the only error.
        """
        if not SHORTEST <= len(word) <= LONGEST:
            return []
        most = 2 if len(word) >= LONG else 1
        with self._database.using() as db:
            return (
                _near(word, _beginning(db, word, word[0]), most)
                or _near(word, _beginning(db, word, word[1]), 1)
                or _near(word, _beginning(db, word, ""), 1)
            )


def add(db: sqlite3.Connection, texts: Iterable[str]) -> None:
    """Add the words of texts, within a transaction of the catalog's."""
    db.executemany(
        "INSERT INTO vocabulary VALUES (?, ?) ON CONFLICT DO UPDATE SET texts = texts + ?2",
        _times(texts).items(),
    )


def drop(db: sqlite3.Connection, texts: Iterable[str]) -> None:
    """Drop the words of texts that are gone, as far as no other has them; within a transaction."""
    times = _times(texts)
    db.executemany("UPDATE vocabulary SET texts = texts - ?2 WHERE word = ?1", list(times.items()))
    db.executemany(
        "DELETE FROM vocabulary WHERE word = ? AND texts <= 0", ((word,) for word in times)
    )


def _times(texts: Iterable[str]) -> Counter[str]:
    """In how many of the texts each word stands."""
    times: Counter[str] = Counter()
    for text in texts:
        times.update(spelt(text))
    return times


def _beginning(db: sqlite3.Connection, word: str, letter: str) -> list[str]:
    """The words like one in length that begin with a letter."""
    until = chr(ord(letter) + 1) if letter else "\U0010ffff"
    rows = db.execute(
        "SELECT word FROM vocabulary WHERE word >= ? AND word < ?"
        " AND length(word) BETWEEN ? AND ? LIMIT ?",
        (letter, until, len(word) - 2, len(word) + 2, MOST),
    )
    return [found for (found,) in rows]


def _near(word: str, words: list[str], most: int) -> list[tuple[str, int]]:
    from rapidfuzz.distance import DamerauLevenshtein
    from rapidfuzz.process import extract

    found = extract(word, words, scorer=DamerauLevenshtein.distance, score_cutoff=most, limit=None)
    return [(other, int(distance)) for other, distance, _ in found]
