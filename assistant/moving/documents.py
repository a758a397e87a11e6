"""JSON documents of any size, an item at a time."""

import json
import re
from collections.abc import Iterator
from typing import IO, Any

from assistant.moving.package import Package

HEAD = 1 << 16
"""Bytes that tell what a document is."""
LISTS = ("conversations", "results", "memories", "items", "data")
"""Keys under which exports keep their list."""


def head(package: Package, name: str) -> str:
    """How a file begins."""
    return package.read(name, HEAD).decode("utf-8", "replace").lstrip("\ufeff \t\r\n")


def items(file: IO[bytes], begins: str) -> Iterator[Any]:
    """The items of a list in a JSON document, or the one object that it is.

    Raises ValueError where it breaks off or is no JSON; what came before was yielded.
    """
    import ijson  # where something is imported alone

    if begins.startswith("["):
        prefix = "item"
    elif key := listed(begins):
        prefix = f"{key}.item"
    else:
        yield json.load(file)
        return
    try:
        yield from ijson.items(file, prefix, use_float=True)
    except ijson.JSONError as error:
        raise ValueError(_reason(error)) from error


def listed(begins: str) -> str | None:
    """The key of the list that an object begins with, if it is one that exports have."""
    found = re.match(r'\{\s*"(\w+)"\s*:\s*\[', begins)
    return found[1] if found and found[1] in LISTS else None


def _reason(error: Exception) -> str:
    return " ".join(str(part) for part in error.args).split("\n")[0].strip() or "it is no JSON"
