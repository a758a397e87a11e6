"""Repairs to the events of a stream that litellm's adapters would lose or misread. Pure.

Its lines are split where text only looks like a line's end; Anthropic's arguments that come whole
are ignored; Gemini's call without arguments is an error; and Ollama's `<think>` counts as the start
of reasoning wherever it stands, or as nothing.
"""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

SEPARATORS = re.compile(rb"[\x0b\x0c\x1c-\x1e]|\xc2\x85|\xe2\x80[\xa8\xa9]")
"""The characters that Python ends a line at, besides line breaks."""
IN_TAG = re.compile(r"(?<=<)(?=/?think>)")
MARKS = (b"functionCall", b"tool_use", b"think")
"""One of these is in every event that needs a repair."""


def repaired(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The stream, in whole lines and repaired."""
    repairs = _Repairs()
    pending: list[bytes] = []
    for piece in pieces:
        whole, newline, rest = piece.rpartition(b"\n")
        if newline:
            lines = b"".join([*pending, whole]).split(b"\n")
            yield b"".join(repairs.line(line) + b"\n" for line in lines)
            pending.clear()
        pending.append(rest)
    if last := b"".join(pending):
        yield repairs.line(last)


class _Repairs:
    """Repairs one stream, line by line. `_inputs` are Anthropic's arguments that came whole, by
    the index of their block."""

    def __init__(self) -> None:
        self._inputs: dict[int, dict[Any, Any]] = {}

    def line(self, line: bytes) -> bytes:
        """Return a line, or those that take its place."""
        line = SEPARATORS.sub(_escaped, line)
        if not self._inputs and not any(mark in line for mark in MARKS):
            return line
        head, end = (b"data: ", b"\n\n") if line.startswith(b"data:") else (b"", b"\n")
        try:
            event = json.loads(line.removeprefix(b"data:"))
        except ValueError:
            return line
        return end.join(head + json.dumps(part).encode() for part in self._events(event))

    def _events(self, event: Any) -> Iterator[Any]:
        match event:
            case {"candidates": [{"content": {"parts": [*parts]}}, *_]}:
                for part in parts:
                    match part:
                        case {"functionCall": dict() as call}:
                            call.setdefault("args", {})
            case {"message": {"content": str() as text} as message, "done": _}:
                *pieces, rest = IN_TAG.split(text)
                for piece in pieces:
                    yield event | {
                        "message": {"role": "assistant", "content": piece},
                        "done": False,
                    }
                event["message"] = message | {"content": rest}
            case {
                "type": "content_block_start",
                "index": int() as index,
                "content_block": {"type": "tool_use", "input": {**arguments}},
            } if arguments:
                self._inputs[index] = arguments
            case {"index": int() as index, "delta": {"partial_json": str() as text}} if text:
                self._inputs.pop(index, None)
            case {"type": "content_block_stop", "index": int() as index} if index in self._inputs:
                text = json.dumps(self._inputs.pop(index))
                delta = {"type": "input_json_delta", "partial_json": text}
                yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield event


def _escaped(character: re.Match[bytes]) -> bytes:
    return b"\\u%04x" % ord(character[0].decode())
