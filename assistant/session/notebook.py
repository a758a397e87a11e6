"""A value kept as a file of JSON: read whole, and changed by one process at a time."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec

from assistant.disk import locking, storage

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Months = dict[str, int]
"""Tokens, by the month (`2026-11`) they were spent in."""
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


def month() -> str:
    """The month that is counted now."""
    return datetime.now().astimezone().strftime("%Y-%m")


def this_month(tokens: Months) -> int:
    """Those of the month that is counted now."""
    return tokens.get(month(), 0)


def spending(tokens: Months, more: int) -> Months:
    """The tokens with so many more spent now; past months are forgotten."""
    return {month(): this_month(tokens) + more}
