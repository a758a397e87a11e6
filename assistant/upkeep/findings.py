"""What `doctor` found wrong, kept until the next chat has mentioned it."""

from collections.abc import Sequence

from assistant.disk import storage
from assistant.workspace.folder import Workspace


def keep(place: Workspace, faults: Sequence[str]) -> None:
    """Keep these in place of what was kept; none take that away. Raises StorageError."""
    if faults:
        storage.private_directory(place.private)
        storage.replace(place.findings, "\n".join(faults).encode())
    else:
        place.findings.unlink(missing_ok=True)


def take(place: Workspace) -> list[str]:
    """What is kept, for the only time."""
    kept = storage.held(place.findings).decode("utf-8", "replace")
    place.findings.unlink(missing_ok=True)
    return [f"`assistant doctor` found: {each}" for each in kept.splitlines()]
