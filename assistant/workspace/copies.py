"""Copies that a program which syncs folders makes of a file that was changed in two places."""

import re
from functools import lru_cache

_COPY = re.compile(
    r"(?P<stem>.+?)(?:"
    r"\.sync-conflict-\d{8}-\d{6}(?:-[A-Z0-9]{7})?"  # Syncthing
    r"| ?\((?:[^()]*\b)?conflicted copy\b[^()]*\)"  # Dropbox, Nextcloud
    r"| ?\((?:in Konflikt stehende Kopie|copie en conflit|copia en conflicto)\b[^()]*\)"  # Dropbox
    r"| ?\(case conflict(?: \d+)?\)"  # Dropbox, of names that differ in their case
    r"|_conflict-(?:[^/]+-)?\d{8}-\d{6}"  # ownCloud
    r"|[ _-]conflicted[ _-]copy\b.*?"
    r")(?P<ending>\.[^./]+)?",
    re.IGNORECASE,
)
_TOLD = ("confli", "konflikt")
"""One of these is in the name of every such copy."""
_OF_MEMORY = re.compile(r"MEMORY(?: \d+| \(\d+\)|-(?:DESKTOP|LAPTOP)-[A-Z0-9]+)\.md")
"""What iCloud, Google Drive and OneDrive call a copy; other files may be called so on purpose."""
KEPT = 8192
"""Of so many names it stays known: each is asked for before every recall."""
_LEFT = (".orig", ".rej")
"""What git and patch leave beside a file."""


@lru_cache(KEPT)
def original_of(name: str) -> str | None:
    """The name of the file that this one is a copy of; None if it is no such copy."""
    folder, slash, own = name.rpartition("/")
    if own.endswith(_LEFT):
        return f"{folder}{slash}{own.rpartition('.')[0]}"
    if own.startswith("MEMORY") and _OF_MEMORY.fullmatch(name):
        return "MEMORY.md"
    lowered = own.lower()
    if _TOLD[0] not in lowered and _TOLD[1] not in lowered:  # most files
        return None
    found = _COPY.fullmatch(own)
    return f"{folder}{slash}{found['stem'].rstrip()}{found['ending'] or ''}" if found else None
