"""What memory leaves to its owner: facts that wait for a review, facts that a save erased."""

from assistant.errors import MemoryFailure, StorageError
from assistant.memory.protocol import Memory


def undecided(memory: Memory) -> list[str]:
    """One line for each kind of decision that waits; a damaged file is named, too."""
    try:
        waiting, erased = len(memory.waiting()), len(memory.erased())
    except MemoryFailure:
        return []  # recall will say so
    except StorageError as error:
        return [str(error)]
    lines = []
    if waiting:
        lines.append(f"{_facts(waiting)} for your review: `assistant memory review`")
    if erased:
        what = "it" if erased == 1 else "them"
        lines.append(f"{_facts(erased)} since a save erased {what}: `assistant memory restore`")
    return lines


def _facts(count: int) -> str:
    return "1 fact waits" if count == 1 else f"{count} facts wait"
