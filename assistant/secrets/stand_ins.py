"""Stand-ins such as `[[secret:GITHUB_TOKEN]]`: what a text says in the place of a secret."""

import re
from collections.abc import Callable, Mapping
from typing import Any

SHORTEST = 6
"""Characters of a secret; shorter values stand in ordinary text by chance."""
STAND_IN = re.compile(r"\[\[secret:([\w-]+)\]\]")


def stand_in_of(name: str) -> str:
    """What stands for the secret of this name."""
    return f"[[secret:{name}]]"


def stand_ins(text: str) -> set[str]:
    """The stand-ins in a text."""
    return {match[0] for match in STAND_IN.finditer(text)}


def in_all(change: Callable[[str], str], value: Any) -> Any:
    """The value with every string of its nested lists and mappings changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {key: in_all(change, each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [in_all(change, each) for each in value]
    return value
