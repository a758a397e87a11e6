"""The suites under tests/recall, as they lie on disk.

A suite is a folder with `development.jsonl` and `held_out.jsonl`, a question a line:
`{"question", "evidence", "history"?, "kind"?, "asked"?, "stale"?}`, and mostly a `workspace` that
answers it. Evidence
is text of the workspace, verbatim and within one line, that stands in that line alone; it says
which passage is meant, wherever it has moved to. A list of texts in its place are wordings of one
fact, any of which will do. `history` is what was said before, the owner's message and the reply in
turn; `asked` the day of the question, if it matters; `stale` what was so before.
"""

import json
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from assistant.errors import UsageError

ROOT = Path(__file__).resolve().parent.parent.parent
SUITES = ROOT / "tests" / "recall"
Evidence = tuple[tuple[str, ...], ...]
"""What answers a question: each fact of it, in the wordings that will do."""
HALVES = ("development", "held_out")
"""What recall may be tuned on, and what only tells how well that went."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, what answers it, and what was said before."""

    question: str
    evidence: Evidence = ()
    history: tuple[str, ...] = ()
    kind: str = ""
    stale: tuple[str, ...] = ()
    """What was so before."""
    day: date | None = None
    """When it is asked; None for today."""


def questions(suite: str, half: str) -> tuple[Asked, ...]:
    """The questions of one half of a suite. Raises UsageError."""
    file = SUITES / suite / f"{half}.jsonl"
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
        return tuple(_asked(line) for line in lines)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{file} cannot be read: {error!r}") from error


def workspace(*suites: str) -> dict[str, str]:
    """The files of the suites' workspaces, by the path in the workspace."""
    files: dict[str, str] = {}
    for suite in suites:
        root = SUITES / suite / "workspace"
        for path in sorted(root.rglob("*.md")):
            files[path.relative_to(root).as_posix()] = path.read_text(encoding="utf-8")
    return files


def _asked(line: str) -> Asked:
    raw = json.loads(line)
    return Asked(
        question=raw["question"],
        evidence=tuple(
            (each,) if isinstance(each, str) else tuple(each) for each in raw["evidence"]
        ),
        history=tuple(raw.get("history", ())),
        kind=raw.get("kind", ""),
        stale=tuple(raw.get("stale", ())),
        day=date.fromisoformat(raw["asked"]) if "asked" in raw else None,
    )
