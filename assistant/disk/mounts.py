"""Which kind of file system a path lies on, as Linux knows it."""

from pathlib import Path, PurePath

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
