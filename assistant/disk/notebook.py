"""A value stored in a JSON file, which one process at a time may change."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TypeVar

import msgspec

from assistant.disk import locking, storage
from assistant.errors import StorageError

V = TypeVar("V")


def load(path: Path, kind: type[V], cure: str = "") -> V:
    """Load the value of a file; return a new one if the file is missing or damaged.

    With a `cure`, a damaged file raises StorageError.
    """
    try:
        return msgspec.convert(json.loads(storage.read(path)), kind)
    except FileNotFoundError:
        return kind()
    except ValueError as error:
        if cure:
            raise StorageError(f"{path} is damaged", cure) from error
        return kind()


@contextmanager
def changing(path: Path, kind: type[V], cure: str = "") -> Iterator[V]:
    """Lock the file, yield its value to be changed, and write it back. Raises like `load`."""
    storage.private_directory(path.parent)
    with locking.lock(path.with_name(f"{path.name}.lock")):
        value = load(path, kind, cure)
        yield value
        storage.replace(path, json.dumps(msgspec.to_builtins(value)).encode())


@dataclass(slots=True, kw_only=True)
class Spending:
    """The tokens spent in each month, by its name (`2026-11`)."""

    tokens: dict[str, int] = field(default_factory=dict)

    @property
    def spent(self) -> int:
        """The tokens spent this month."""
        return self.tokens.get(_month(), 0)

    def spend(self, tokens: int) -> None:
        """Add tokens to those of this month."""
        self.tokens[_month()] = self.spent + tokens


def _month() -> str:
    return datetime.now().astimezone().strftime("%Y-%m")
