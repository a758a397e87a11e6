"""The parts of a file: its chunks' lines and characters count from the beginning of their part.

An edit writes the rows of the parts that it touches; of those behind it only where they begin.
"""

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from assistant.memory.text.chunk import Chunk


@dataclass(frozen=True, slots=True)
class KnownPart:
    """A part as it was indexed: `seal` tells what it was made of, `section` what stands above."""

    id: int
    seal: bytes
    section: str
    size: int
    lines: int
    chunks: int


@dataclass(frozen=True, slots=True)
class NewPart:
    """A part to be written, with chunks that count from its beginning and have their final ids."""

    seal: bytes
    section: str
    size: int
    lines: int
    chunks: Sequence[Chunk]


@dataclass(frozen=True, slots=True)
class Update:
    """What becomes of a file that had the parts `before`: the `head` first and the `tail` last of
    them stay, and `parts` take the place of the others.

    `repeats` has, by the ids of the chunks in those that say again what another says, the id of the
    first.
    """

    parts: Sequence[NewPart]
    before: Sequence[KnownPart] = ()
    head: int = 0
    tail: int = 0
    repeats: Mapping[str, str] = field(default_factory=dict)

    @property
    def replaced(self) -> Sequence[KnownPart]:
        """The parts whose place is taken."""
        return self.before[self.head : len(self.before) - self.tail]

    @property
    def chunks(self) -> list[Chunk]:
        """The chunks that are written."""
        return [chunk for part in self.parts for chunk in part.chunks]


def known_parts(db: sqlite3.Connection, source: int) -> list[KnownPart]:
    """The parts of a source, in order."""
    rows = db.execute(
        "SELECT id, seal, section, size, lines, chunks FROM parts WHERE source = ?"
        " ORDER BY position",
        (source,),
    )
    return [KnownPart(*row) for row in rows]


def replace_parts(db: sqlite3.Connection, source: int, update: Update) -> list[int]:
    """Write the new parts, and where those behind them begin; returns the numbers of the new."""
    stay, old, new = update.before[: update.head], update.replaced, update.parts
    ids: list[int | None] = [part.id for part in old[: len(new)]]
    db.executemany("DELETE FROM parts WHERE id = ?", [(part.id,) for part in old[len(new) :]])
    grown = [now - then for now, then in zip(_sums(new), _sums(old), strict=True)]
    if any(grown):
        db.execute(
            "UPDATE parts SET position = position + ?, start_char = start_char + ?,"
            " start_line = start_line + ?, start_chunk = start_chunk + ?"
            " WHERE source = ? AND position >= ?",
            (*grown, source, len(stay) + len(old)),
        )
    place = _sums(stay)
    made = []
    for id_, part in zip(ids + [None] * (len(new) - len(ids)), new, strict=True):
        row = db.execute(
            "INSERT OR REPLACE INTO parts (id, source, position, start_char, start_line,"
            " start_chunk, seal, section, size, lines, chunks)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (id_, source, *place, part.seal, part.section, *_sums([part])[1:]),
        ).lastrowid
        assert row is not None
        made.append(row)
        place = [at + more for at, more in zip(place, _sums([part]), strict=True)]
    return made


def _sums(parts: Sequence[KnownPart] | Sequence[NewPart]) -> list[int]:
    """How many parts, characters, lines and chunks these are."""
    chunks = (each.chunks for each in parts)
    return [
        len(parts),
        sum(each.size for each in parts),
        sum(each.lines for each in parts),
        sum(each if isinstance(each, int) else len(each) for each in chunks),
    ]
