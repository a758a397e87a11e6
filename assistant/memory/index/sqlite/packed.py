"""The packed columns of all sources, read again only of those that changed."""

import sqlite3

_Key = tuple[int, int]
"""A source, and the revision of its chunks."""


class Packed:
    """A column of `layouts`. Thread-safe."""

    def __init__(self, column: str) -> None:
        self._column = column
        self._kept: dict[_Key, bytes] = {}

    def read(self, db: sqlite3.Connection) -> list[tuple[str, bytes]]:
        """Every source's name and its parts of the column, by name."""
        listed = db.execute("SELECT name, id, revision FROM sources ORDER BY name").fetchall()
        known, kept, found = self._kept, dict[_Key, bytes](), []
        for name, source, revision in listed:
            value = known.get((source, revision))
            value = self._value(db, source) if value is None else value
            kept[source, revision] = value
            found.append((name, value))
        self._kept = kept
        return found

    def _value(self, db: sqlite3.Connection, source: int) -> bytes:
        rows = db.execute(
            f"SELECT l.{self._column} FROM parts p JOIN layouts l ON l.part = p.id"
            " WHERE p.source = ? ORDER BY p.position",
            (source,),
        )
        return b"".join(value for (value,) in rows)
