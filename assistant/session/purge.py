"""Purge: take facts out of past conversations, and out of what was typed at the prompt."""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from assistant import storage
from assistant.session.extraction import key
from assistant.session.transcript import SUFFIX, locked, session_ids

GONE = "(forgotten)"
"""Stands where the words were."""
SAYING = ("text", "content", "reasoning", "compact", "summary", "facts", "passages")
"""The fields of an entry that hold what was said in it."""
_PROMPT = re.compile(r"(?=^# )", re.MULTILINE)


class Said:
    """Facts, and how they are found in what was said: word for word, or all of it in one line."""

    def __init__(self, facts: Sequence[str]) -> None:
        words = [re.findall(r"\w+", fact) for fact in facts]
        self._forms = [
            re.compile(r"[\W_]+".join(map(re.escape, each)), re.IGNORECASE)
            for each in words
            if each
        ]
        self._telling = [_telling(fact) for fact in facts]

    def without(self, text: str) -> str:
        """The text with each of the facts, and each line that tells one, taken out."""
        for form in self._forms:
            text = form.sub(GONE, text)
        return "\n".join(GONE if self._tells(line) else line for line in text.split("\n"))

    def _tells(self, line: str) -> bool:
        words = set(key(line).split())
        return any(telling and telling <= words for telling in self._telling)


def purge(directory: Path, said: Said, cited: Mapping[str, Collection[str]]) -> int:
    """Take facts out of every session's file; returns how many files that changed.

    `cited` are, by session, the entries that the facts were taken from: they lose all they say,
    since they may say it in other words. Raises SessionError if a session that must change is
    open, and then changes none; StorageError.
    """
    with ExitStack() as held:
        changed: dict[Path, bytes] = {}
        for session in session_ids(directory):
            path = directory / f"{session}{SUFFIX}"
            if _purged(storage.read(path), said, cited.get(session, ())) is None:
                continue
            held.callback(locked(directory, session).release)
            # read again: it may have grown before the lock was held
            changed[path] = _purged(storage.read(path), said, cited.get(session, ())) or b""
        for path, data in changed.items():
            storage.replace(path, data)
        return len(changed)


def purge_prompts(path: Path, said: Said) -> None:
    """Take what names the facts out of the history of the prompt, entry by entry."""
    text = storage.held(path).decode("utf-8", "replace")
    typed = _PROMPT.split(text)
    kept = [each for each in typed if said.without(_typed(each)) == _typed(each)]
    if len(kept) < len(typed):
        storage.replace(path, "".join(kept).encode())


def _typed(entry: str) -> str:
    """What one entry of the prompt's history says; its lines begin with a plus."""
    return "\n".join(line[1:] for line in entry.split("\n") if line.startswith("+"))


def _purged(data: bytes, said: Said, cited: Collection[str]) -> bytes | None:
    """A transcript without the facts; None if it holds none of them. A damaged line stays."""
    before = data.split(b"\n")
    after = [_line(line, said, cited) for line in before]
    return b"\n".join(after) if after != before else None


def _line(line: bytes, said: Said, cited: Collection[str]) -> bytes:
    try:
        entry = json.loads(line)
    except ValueError:
        return said.without(line.decode("utf-8", "replace")).encode() if line else line
    told = _without(entry, said)
    if isinstance(told, dict) and told.get("id") in cited:
        told = {name: _emptied(value, name) for name, value in told.items()}
    if told == entry:
        return line
    if isinstance(told, dict):
        told.pop("signed", None)  # it is good only as it stood
    text = json.dumps(told, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "backslashreplace")


def _without(value: Any, said: Said) -> Any:
    """A JSON value, the facts taken out of each of its strings."""
    match value:
        case str():
            return said.without(value)
        case list():
            return [_without(each, said) for each in value]
        case dict():
            return {name: _without(each, said) for name, each in value.items()}
        case _:
            return value


def _emptied(value: Any, name: str) -> Any:
    """A field of an entry that is to say nothing."""
    if name == "tool_calls":
        return [{**call, "arguments": {}} for call in value]
    if name not in SAYING or not value:
        return value
    return GONE if isinstance(value, str) else []


def _telling(fact: str) -> set[str]:
    """The words that a line must hold to tell the fact: short ones count only if all are short."""
    words = key(fact).split()
    return {word for word in words if len(word) > 3 or not word.isalpha()} or set(words)
