"""A tool's call as one line for a person: what it was given, and what came of it. Pure."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from assistant.display import shortened

SHOWN = 60
"""Characters of each argument."""
VERBS = {
    "stored": "remembered",
    "exists": "already known",
    "superseded": "remembered, in the place of an older fact,",
    "waiting": "waits for your review:",
}


SUBTASK = re.compile(r"^## \d+\. (.* — (?:done|failed|stopped) \(session .*\))$", re.MULTILINE)
"""What stands over each reply in the result of `delegate`."""


def tree(lines: Sequence[str]) -> list[str]:
    """The lines as branches."""
    return [f"{'└' if each is lines[-1] else '├'} {each}" for each in lines]


def work(
    tool: str, arguments: Mapping[str, Any], compact: str, content: str, *, error: bool
) -> str:
    """What was done, in one line; a plan with its boxes below."""
    if tool == "plan" and not error:
        return f"plan: {compact}\n{content}"
    if tool == "remember" and not error:
        done, _, place = compact.partition(" ")
        return f'{VERBS.get(done, done)} "{_short(arguments.get("fact", ""))}" {place}'.rstrip()
    if tool == "delegate" and (heads := SUBTASK.findall(content)):
        return "\n".join([f"delegate: {compact}", *tree(heads)])
    if tool == "ask" and not error:
        return f"you answered: {compact}"
    given = call(tool, arguments)
    return f"{given} → {compact}" if compact else given


def call(tool: str, arguments: Mapping[str, Any]) -> str:
    """A call: the tool, its first argument bare, the others named."""
    first, *rest = [*arguments.items()] or [("", "")]
    named = " ".join(f"{name}={_short(value)}" for name, value in rest)
    return " ".join(part for part in (f"{tool}:", _short(first[1]), named) if part).rstrip(":")


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return shortened(" ".join(text.split()), SHOWN)
