"""An error that a provider tells in the middle of an answer, whose status was 200. Pure."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

LONGEST = 16_384
"""Bytes at the end of an answer in which an error is looked for."""
NAMED = re.compile(rb"event:\s*error")
STATUSES = {
    "rate_limit": 429,
    "too_many_requests": 429,
    "exhausted": 429,
    "overloaded": 503,
    "unavailable": 503,
    "quota": 402,
    "billing": 402,
    "auth": 401,
    "api_key": 401,
    "permission": 403,
    "context_length": 413,
    "too_large": 413,
    "not_found": 404,
    "timeout": 504,
    "invalid": 400,
    "bad_request": 400,
}
"""What the type or code of an error stands for, by a part of its name; the first that is found."""


@dataclass(frozen=True, slots=True)
class Told:
    """The provider's words, and the HTTP status that they would have had."""

    message: str
    status: int


def error_in(tail: bytes) -> Told | None:
    """The error among the last lines of an answer: server-sent events, or lines of JSON."""
    lines = [line.strip() for line in tail.splitlines()]
    for before, line in reversed(list(zip([b"", *lines], lines, strict=False))):
        data = line.removeprefix(b"data:").strip()
        found = _error(data, named=NAMED.fullmatch(before) is not None)
        if found is not None:
            return found
    return None


def _error(line: bytes, *, named: bool) -> Told | None:
    """The error in a line. `named`: the line before says that it is one."""
    if not named and b"error" not in line:
        return None
    try:
        event = json.loads(line)
    except ValueError:
        return Told(line.decode("utf-8", "replace"), 500) if named and line else None
    match event:
        case {"error": dict() as error} | {"choices": [{"error": dict() as error}, *_]}:
            return _told(error)
        case {"error": str(words)} if words:
            return Told(words, 500)
        case {"object": "error"} | {"type": "error"}:
            return _told(event)
        case dict() if named:
            return _told(event)
        case _:
            return None


def _told(error: Mapping[str, Any]) -> Told:
    message = error.get("message") or error.get("detail") or error.get("type") or "no reason given"
    named = [error.get(key) for key in ("code", "status_code", "status", "type")]
    return Told(str(message), next(filter(None, map(_status, named)), 500))


def _status(name: Any) -> int | None:
    text = str(name).lower()
    if text.isdigit():
        return int(text) if 400 <= int(text) < 600 else None
    return next((status for part, status in STATUSES.items() if part in text), None)
