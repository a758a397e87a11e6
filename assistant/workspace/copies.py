"""Copies that a program which syncs folders makes of a file that was changed in two places."""

import re

_COPY = re.compile(
    r"(?P<stem>.+?)(?:"
    r"\.sync-conflict-\d{8}-\d{6}(?:-[A-Z0-9]{7})?"  # Syncthing
    r"| ?\((?:[^()]*\b)?conflicted copy\b[^()]*\)"  # Dropbox, Nextcloud
    r"|[ _-]conflicted[ _-]copy\b.*?"
    r")(?P<ending>\.[^./]+)?",
    re.IGNORECASE,
)
_KEPT = (".orig", ".rej")
"""What git and patch leave beside a file."""


def original_of(name: str) -> str | None:
    """The name of the file that this one is a copy of; None if it is no such copy."""
    folder, slash, own = name.rpartition("/")
    if "conflict" not in own.lower() and not own.endswith(_KEPT):
        return None
    if own.endswith(_KEPT):
        return f"{folder}{slash}{own.rpartition('.')[0]}"
    found = _COPY.fullmatch(own)
    return f"{folder}{slash}{found['stem'].rstrip()}{found['ending'] or ''}" if found else None
