"""What watchdog tells of files and folders that changed; not that they were read."""

from pathlib import Path, PurePath

from watchdog.events import (
    DirCreatedEvent,
    DirDeletedEvent,
    DirMovedEvent,
    FileCreatedEvent,
    FileDeletedEvent,
    FileModifiedEvent,
    FileMovedEvent,
)

CHANGES = [
    FileCreatedEvent, FileDeletedEvent, FileModifiedEvent, FileMovedEvent,
    DirCreatedEvent, DirDeletedEvent, DirMovedEvent,
]  # fmt: skip


MOUNTS = Path("/proc/mounts")


def file_system(path: Path, mounts: Path = MOUNTS) -> str:
    """Its kind, such as ext4; "" where that cannot be told."""
    try:
        lines = mounts.read_text(encoding="utf-8", errors="surrogateescape").split("\n")
    except OSError:
        return ""
    kinds = {}
    for line in lines:
        _, place, kind, *_ = [*line.split(" "), "", "", ""]
        kinds[PurePath(place.replace("\\040", " "))] = kind
    return next((kinds[place] for place in (path, *path.parents) if place in kinds), "")
