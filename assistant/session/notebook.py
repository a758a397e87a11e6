"""A value kept as a file of JSON: read whole, and changed by one process at a time."""

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
    """What a file holds; an empty value if there is none that can be read."""
    try:
        return msgspec.json.decode(storage.held(path), type=kind)
    except (msgspec.MsgspecError, ValueError):
        return kind()


@contextmanager
def changing(path: Path, kind: type[V]) -> Iterator[V]:
    """It, to be changed by this process alone; written at the end."""
    storage.private_directory(path.parent)
    with locking.lock(path.with_name(f"{path.name}.lock")):
        value = load(path, kind)
        yield value
        storage.replace(path, json.dumps(asdict(value)).encode())


@dataclass(slots=True, kw_only=True)
class Spending:
    """The tokens that were spent, by the month (`2026-11`); past months are forgotten."""

    tokens: dict[str, int] = field(default_factory=dict)

    @property
    def spent(self) -> int:
        """The tokens of this month."""
        return self.tokens.get(_month(), 0)

    def spend(self, tokens: int) -> None:
        """Count tokens that were spent now."""
        self.tokens = {_month(): self.spent + tokens}


def _month() -> str:
    return datetime.now().astimezone().strftime("%Y-%m")
