"""What a tool is. A tool returns a result; it writes no transcript and prints nothing."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from assistant.model.base import ToolSpec


class Danger(StrEnum):
    """What a call may do: `safe` runs, `moderate` runs and is logged, `dangerous` asks."""

    SAFE = "safe"
    MODERATE = "moderate"
    DANGEROUS = "dangerous"


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What the model sees of a call. `error` marks a refusal or a failure.

    `compact` is one quiet line for a person ("12 matches in 3 files").
    """

    content: str
    error: bool = False
    compact: str = ""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool the model may call: what it is told, how it is run, how dangerous it is."""

    spec: ToolSpec
    run: Callable[[Mapping[str, Any]], ToolResult]
    danger: Danger = Danger.SAFE
