"""Reads the TOML tables next to the modules that use them."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def table_of(module: str) -> dict[str, Any]:
    """Return the table of a module, given its `__file__`."""
    return tomllib.loads(Path(module).with_suffix(".toml").read_text("utf-8"))


def value_at(values: Any, path: Sequence[str | int]) -> Any:
    """Return the value at a path of keys in nested tables and lists; None if there is none."""
    for key in path:
        try:
            values = values[key]
        except (KeyError, IndexError, TypeError):
            return None
    return values


def patterns(table: Mapping[str, str | Sequence[str]]) -> dict[str, re.Pattern[str]]:
    """Compile the patterns of a table by name, ignoring case; each is a text or a list of its
    parts. A name in braces stands for an earlier pattern."""
    texts: dict[str, str] = {}
    for name, parts in table.items():
        texts[name] = "".join(parts)
        for other, text in texts.items():
            texts[name] = texts[name].replace(f"{{{other}}}", text)
    return {name: re.compile(text, re.IGNORECASE) for name, text in texts.items()}
