"""Stand-ins such as `[[secret:GITHUB_TOKEN]]`, which replace secrets in texts."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

SHORTEST = 6
"""Minimum characters of a secret; shorter values occur in ordinary text by chance."""
STAND_IN = re.compile(r"\[\[secret:([\w-]+)\]\]")


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret in a text, from character `start` to `end` (exclusive).

    It is `certain` if the owner registered it or the environment marks it; then `kind` is its
    name. Otherwise it only looks like a secret of this kind.
    """

    start: int
    end: int
    kind: str
    certain: bool = False
    stand_in: str = field(default="", compare=False)


def stand_in_of(name: str) -> str:
    """Return the stand-in of the secret with this name."""
    return f"[[secret:{name}]]"


def stand_ins(text: str) -> set[str]:
    """Return the stand-ins in a text."""
    return {match[0] for match in STAND_IN.finditer(text)}


def in_all(change: Callable[[str], str], value: Any) -> Any:
    """Return the value with `change` applied to every string in its nested lists and mappings."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {key: in_all(change, item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [in_all(change, item) for item in value]
    return value
