"""Reasoning that a server leaves in the text, between `<think>` and `</think>` at its head.

Open models served without a reasoning parser write so. Pure.
"""

OPEN, CLOSE = "<think>", "</think>"


class ThinkingFilter:
    """Tells reasoning from the reply in a text that grows, wherever a piece may end."""

    def __init__(self) -> None:
        self._held = ""
        self._state = "head"  # then "thinking", then "reply"; or "reply" at once

    def feed(self, piece: str) -> tuple[str, str]:
        """Take a piece in; returns what is reasoning of it and what is reply."""
        self._held += piece
        reasoning = ""
        if self._state == "head" and not self._head():
            return "", ""
        if self._state == "thinking":
            reasoning, closed, rest = self._held.partition(CLOSE)
            if not closed:
                known = len(self._held) - _partial(self._held, CLOSE)
                reasoning, self._held = self._held[:known], self._held[known:]
                return reasoning, ""
            self._held, self._state = rest, "gap"
        if self._state == "gap":
            self._held = self._held.lstrip()
            self._state = "reply" if self._held else "gap"
        reply, self._held = self._held, ""
        return reasoning, reply

    def finish(self) -> tuple[str, str]:
        """What was held back."""
        held, self._held = self._held, ""
        return (held, "") if self._state == "thinking" else ("", held)

    def _head(self) -> bool:
        """Whether it is known how the text begins."""
        start = self._held.lstrip()
        if start.startswith(OPEN):
            self._held, self._state = start.removeprefix(OPEN), "thinking"
        elif not OPEN.startswith(start):
            self._state = "reply"
        return self._state != "head"


def _partial(text: str, tag: str) -> int:
    """How many characters at the end of the text may be the beginning of the tag."""
    return next((size for size in range(len(tag) - 1, 0, -1) if text.endswith(tag[:size])), 0)
