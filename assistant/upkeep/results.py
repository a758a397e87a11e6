"""The figures of past evaluations of a workspace: numbers only, never a question or a fact.

So there is nothing in them that `forget --purge` would have to take out.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from assistant.disk import storage
from assistant.errors import StorageError


@dataclass(frozen=True, slots=True)
class Figures:
    """What one evaluation found. `time` is ISO 8601 with offset.

    `found` is the share of questions whose fact a recall with the owner's settings returns;
    `measures` are shares by name, as in `evaluate.MEASURES`. `facts` is what memory held.
    """

    time: str
    kind: str
    facts: int
    questions: int
    found: float
    measures: dict[str, float]


def keep(path: Path, figures: Figures) -> None:
    """Add figures to the file, which is replaced at once. Raises StorageError."""
    line = json.dumps(asdict(figures), ensure_ascii=False)
    storage.private_directory(path.parent)
    storage.replace(path, storage.held(path) + line.encode() + b"\n")


def read(path: Path) -> list[Figures]:
    """All figures of the file, oldest first. Raises StorageError that names a line that is none."""
    found = []
    for number, line in enumerate(storage.held(path).splitlines(), start=1):
        try:
            found.append(Figures(**json.loads(line)))
        except (ValueError, TypeError) as error:
            raise StorageError(
                f"{path}:{number} is no evaluation", "Delete the line, or the file"
            ) from error
    return found
