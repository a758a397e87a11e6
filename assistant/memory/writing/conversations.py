"""Facts taken out of past conversations, and out of what was typed at the prompt.

A conversation's file is read as lines of JSON, of whatever version: all that counts is which fields
hold what was said.
"""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from assistant.disk import locking, storage
from assistant.errors import SessionError
from assistant.memory.writing.words import GONE, Words

SAYING = ("text", "content", "reasoning", "compact", "summary", "facts", "passages")
"""The fields of an entry that hold what was said in it."""
PROMPTS = ".prompts"
"""The files beside conversations that hold what was sent in them."""
PICTURES = ".pictures"
"""The folders beside conversations that hold their pictures."""
_PROMPT = re.compile(r"(?=^# )", re.MULTILINE)


def conversations(
    directory: Path, words: Words, cited: Mapping[str, Collection[str]], held: ExitStack
) -> Iterator[tuple[Path, bytes]]:
    """The sessions' files that hold the facts, and what they shall hold; `held` keeps them closed.

    `cited` are, by session, the entries that the facts were taken from: they lose all they say,
    since they may say it in other words. So do the pictures of these sessions. Raises SessionError
    if one of them is open.
    """
    for path in sorted(directory.glob("*.jsonl")):
        entries = cited.get(path.stem, ())
        files = [each for each in (path, path.with_suffix(PROMPTS)) if each.exists()]
        if all(_purged(storage.read(each), words, entries) is None for each in files):
            continue
        held.enter_context(_closed(path))
        for each in files:  # read again: it may have grown before the lock was held
            if (data := _purged(storage.read(each), words, entries)) is not None:
                yield each, data
        yield from ((each, b"") for each in path.with_suffix(PICTURES).glob("*"))


def prompts(path: Path, words: Words) -> Iterator[tuple[Path, bytes]]:
    """The prompt's history and what it shall hold, if an entry of it names the facts."""
    text = storage.held(path).decode("utf-8", "replace")
    typed = _PROMPT.split(text)
    kept = [each for each in typed if words.without(_typed(each)) == _typed(each)]
    if len(kept) < len(typed):
        yield path, "".join(kept).encode()


def _closed(path: Path) -> locking.Lock:
    lock = locking.try_lock(path.with_suffix(".lock"))
    if lock is None:
        raise SessionError(
            f"session {path.stem} is open in another chat, and holds what is to be forgotten",
            "Close it there and try again",
        )
    return lock


def _typed(entry: str) -> str:
    """What one entry of the prompt's history says; its lines begin with a plus."""
    return "\n".join(line[1:] for line in entry.split("\n") if line.startswith("+"))


def _purged(data: bytes, words: Words, cited: Collection[str]) -> bytes | None:
    """A transcript without the facts; None if it holds none of them. A damaged line stays."""
    before = data.split(b"\n")
    after = [_line(line, words, cited) for line in before]
    return b"\n".join(after) if after != before else None


def _line(line: bytes, words: Words, cited: Collection[str]) -> bytes:
    try:
        entry = json.loads(line)
    except ValueError:
        return words.without(line.decode("utf-8", "replace")).encode() if line else line
    told = _without(entry, words)
    if isinstance(told, dict) and told.get("id") in cited:
        told = {name: _emptied(value, name) for name, value in told.items()}
    if told == entry:
        return line
    if isinstance(told, dict):
        told.pop("signed", None)  # it is good only as it stood
    text = json.dumps(told, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "backslashreplace")


def _without(value: Any, words: Words) -> Any:
    """A JSON value, the facts taken out of each of its strings."""
    match value:
        case str():
            return words.without(value)
        case list():
            return [_without(each, words) for each in value]
        case dict():
            return {name: _without(each, words) for name, each in value.items()}
        case _:
            return value


def _emptied(value: Any, name: str) -> Any:
    """A field of an entry that is to say nothing."""
    if name == "tool_calls":
        return [{**call, "arguments": {}} for call in value]
    if name not in SAYING or not value:
        return value
    return GONE if isinstance(value, str) else []
