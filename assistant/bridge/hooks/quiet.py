"""Whether the owner wants memory to be quiet: for the next prompt, or for a whole conversation.

`quiet/next` in the state directory says it of whichever prompt comes next; a mark by the digest of
a conversation's name says it of that one.
"""

import contextlib
import hashlib
import time
from enum import StrEnum
from pathlib import Path

from assistant import config
from assistant.disk import storage

KEPT_SECONDS = 30 * 24 * 3600.0
"""How long a conversation stays quiet: nobody goes on with it later."""


class Quiet(StrEnum):
    """How long memory keeps quiet."""

    ONCE = "once"
    SESSION = "session"


def named(word: str | None) -> Quiet | None:
    """What a word says; a word that says nothing leaves things as they are."""
    return next((each for each in Quiet if each == word), None)


def keep_quiet(how: Quiet, conversation: str = "") -> None:
    """Be quiet at the next prompt, or in a conversation; without a name, in the next one to ask."""
    if how is Quiet.SESSION and conversation:
        _mark(_of(conversation), how)
    else:
        _mark(_directory() / "next", how)


def is_quiet(conversation: str) -> bool:
    """Whether this prompt gets nothing; what was said of the next one is used up by it."""
    coming = _directory() / "next"
    try:
        how = coming.read_text("utf-8")
    except FileNotFoundError:
        return bool(conversation) and _of(conversation).exists()
    coming.unlink(missing_ok=True)
    if how == Quiet.SESSION and conversation:
        _mark(_of(conversation), Quiet.SESSION)
    return True


def _mark(path: Path, how: Quiet) -> None:
    storage.private_directory(path.parent)
    old = time.time() - KEPT_SECONDS
    for each in path.parent.iterdir():
        with contextlib.suppress(FileNotFoundError):  # another hook may be at it
            if each.stat().st_mtime < old:
                each.unlink()
    storage.replace(path, how.value.encode())


def _of(conversation: str) -> Path:
    name = hashlib.sha256(conversation.encode("utf-8", "replace")).hexdigest()[:16]
    return _directory() / name


def _directory() -> Path:
    return config.state_dir() / "quiet"
