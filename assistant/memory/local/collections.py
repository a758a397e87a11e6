"""What lies on a Chroma server that this program put there, and whose it is."""

from collections.abc import Sequence
from typing import Any

from assistant.errors import LedgerError
from assistant.memory.index.chroma import collection_name
from assistant.memory.index.store import IndexStore, owner_of
from assistant.memory.state import ServerCollection


class Collections:
    """The collections on the server of an index. Raises MemoryFailure if there is none."""

    def __init__(self, store: IndexStore) -> None:
        self._store = store

    def all(self) -> tuple[ServerCollection, ...]:
        """Each of ours, of any workspace, by its place."""
        found = [self._judged(*each) for each in self._store.dense.server().collections()]
        return tuple(sorted(found, key=lambda each: (each.workspace, each.name)))

    def remove(self, names: Sequence[str]) -> tuple[ServerCollection, ...]:
        """Remove these. Raises LedgerError, with nothing removed, if one of them cannot be."""
        there = {each.name: each for each in self.all()}
        for name in names:
            if name not in there:
                raise LedgerError(f"no collection {name!r} of ours is there", "List them first")
            if there[name].owner == "this":
                raise LedgerError(f"{name} is in use by this memory", "Remove index.url first")
        for name in names:
            self._store.dense.server().drop(name)
        return tuple(there[name] for name in names)

    def _judged(self, name: str, belongs: dict[str, Any], vectors: int) -> ServerCollection:
        if name == collection_name(self._store.belongs):
            return ServerCollection(name, str(self._store.belongs["root"]), vectors, "this")
        return ServerCollection(
            name, str(belongs.get("root", "")), vectors, owner_of(name, belongs)
        )
