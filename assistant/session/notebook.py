"""A dataclass stored in a JSON file, which one process at a time may change."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec

from assistant.disk import locking, storage

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

V = TypeVar("V", bound="DataclassInstance")


def load(path: Path, kind: type[V]) -> V:
    """Load the value of a file; a new one if the file is missing or cannot be read."""
    try:
        return msgspec.json.decode(storage.read_or_empty(path), type=kind)
    except (msgspec.MsgspecError, ValueError):
        return kind()


@contextmanager
def changing(path: Path, kind: type[V]) -> Iterator[V]:
    """Lock the file, yield its value to be changed, and write it back."""
    storage.private_directory(path.parent)
    with locking.lock(path.with_name(f"{path.name}.lock")):
        value = load(path, kind)
        yield value
        storage.replace(path, json.dumps(asdict(value)).encode())


@dataclass(slots=True, kw_only=True)
class Spending:
    """The tokens spent in each month, by its name (`2026-11`)."""

    tokens: dict[str, int] = field(default_factory=dict)

    @property
    def spent(self) -> int:
        """The tokens spent this month."""
        return self.tokens.get(_month(), 0)

    def spend(self, tokens: int) -> None:
        """Add tokens that were spent now."""
        self.tokens[_month()] = self.spent + tokens


def _month() -> str:
    return datetime.now().astimezone().strftime("%Y-%m")
