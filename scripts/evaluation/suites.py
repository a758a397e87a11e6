"""The suites in tests/recall.

A suite is a folder with `development.jsonl` and `held_out.jsonl`, a question per line:
`{"question", "evidence", "history"?, "kind"?, "asked"?, "stale"?}`, and usually a `workspace` with
the answers. Evidence is text of the workspace, verbatim, within one line and unique to that line;
it identifies a passage even if that has moved. A list of texts instead are wordings of one fact,
any of which counts. `history` is the conversation before, the owner's messages and the replies
alternating; `asked` the day of the question, if it matters; `stale` the fact that was true before.
"""

import json
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from assistant.errors import UsageError

ROOT = Path(__file__).resolve().parent.parent.parent
SUITES = ROOT / "tests" / "recall"
Evidence = tuple[tuple[str, ...], ...]
"""The evidence for a question: each fact, in the wordings that count."""
HALVES = ("development", "held_out")
"""The half on which recall may be tuned, and the half that only shows how well that worked."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, its evidence, and the conversation before it."""

    question: str
    evidence: Evidence = ()
    history: tuple[str, ...] = ()
    kind: str = ""
    stale: tuple[str, ...] = ()
    """The facts that were true before."""
    day: date | None = None
    """The day of the question; None for today."""


def questions(suite: str, half: str) -> tuple[Asked, ...]:
    """Return the questions of one half of a suite. Raises UsageError."""
    file = SUITES / suite / f"{half}.jsonl"
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
        return tuple(_asked(line) for line in lines)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{file} cannot be read: {error!r}") from error


def workspace(*suites: str) -> dict[str, str]:
    """Return the files of the suites' workspaces, by their path in the workspace."""
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
