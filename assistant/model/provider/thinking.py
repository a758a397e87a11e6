"""Reasoning that a server leaves in the text, before `</think>` at its head.

Open models served without a reasoning parser write so. Some chat templates write `<think>` at the
end of the prompt: then the text has the end alone, and what came before it was no reply. Pure.
"""

from enum import Enum, auto

OPEN, CLOSE = "<think>", "</think>"
QUOTES = "`\"'“‘"


class _State(Enum):
    HEAD = auto()  # it is not known yet how the text begins
    THINKING = auto()
    GAP = auto()  # between the reasoning and the reply
    REPLY = auto()


class ThinkingFilter:
    """Tells reasoning from the reply in a text that grows, wherever a piece may end.

    `turned` says that the reply so far was reasoning: its end came without a start. A model that
    does so does it again: with `unopened` its text is reasoning from the first word, and `turned`
    says at the end, if none of it was closed, that it was the reply.
    """

    def __init__(self, *, unopened: bool = False) -> None:
        self.turned = False
        self._unopened = unopened
        self._closed = False
        self._state = _State.HEAD
        self._held = ""
        self._said: list[str] = []

    def feed(self, piece: str) -> tuple[str, str]:
        """Take a piece in; returns what is reasoning of it and what is reply."""
        self._held += piece
        reasoning = ""
        if self._state is _State.HEAD and not self._begins():
            return "", ""
        if self._state is _State.THINKING:
            reasoning = self._thought()
        elif self._state is _State.REPLY and not self._closed:
            turned = self._end_without_a_start()
            if turned is None:
                return "", self._said_of_held()
            reasoning = turned
        if self._state is _State.GAP:
            self._held = self._held.lstrip()
            self._state = _State.REPLY if self._held else _State.GAP
        if self._state is not _State.REPLY:
            return reasoning, ""
        reply, self._held = self._held, ""
        return reasoning, reply

    def finish(self) -> tuple[str, str]:
        """What was held back."""
        held, self._held = self._held, ""
        if self._state is not _State.THINKING:
            return "", held
        self.turned = self._unopened
        return ("", held) if self._unopened else (held, "")

    def _begins(self) -> bool:
        """Whether it is known how the text begins."""
        start = self._held.lstrip()
        if start.startswith(OPEN):
            self._held, self._state = start.removeprefix(OPEN), _State.THINKING
            self._unopened, self._closed = False, True
        elif not OPEN.startswith(start):
            self._state = _State.THINKING if self._unopened else _State.REPLY
        return self._state is not _State.HEAD

    def _thought(self) -> str:
        """What is reasoning of the text held; what may be the beginning of its end stays."""
        reasoning, closed, rest = self._held.partition(CLOSE)
        if closed:
            self._held, self._state, self._closed = rest, _State.GAP, True
            return reasoning
        known = len(self._held) - _partial(self._held, CLOSE)
        reasoning, self._held = self._held[:known], self._held[known:]
        return reasoning

    def _end_without_a_start(self) -> str | None:
        """The text before an end of reasoning in the reply, if there is one; it is taken out."""
        place = self._held.find(CLOSE)
        while place >= 0:
            before = self._held[:place]
            if self._ends_reasoning(before):
                self._held = self._held[place + len(CLOSE) :]
                self._state, self._closed, self.turned = _State.GAP, True, True
                return before
            place = self._held.find(CLOSE, place + 1)
        return None

    def _said_of_held(self) -> str:
        """The reply in the text held; what may be the beginning of an end stays."""
        known = len(self._held) - _partial(self._held, CLOSE)
        reply, self._held = self._held[:known], self._held[known:]
        self._said.append(reply)
        return reply

    def _ends_reasoning(self, before: str) -> bool:
        """Whether an end that stands here is one, and not a mention of it in a text about tags."""
        said = "".join(self._said) + before
        line = said.rpartition("\n")[2]
        quoted = line[-1:] and line[-1] in QUOTES
        fenced = said.count("```") % 2 or line.count("`") % 2
        return not (OPEN in said or quoted or fenced)


def _partial(text: str, tag: str) -> int:
    """How many characters at the end of the text may be the beginning of the tag."""
    return next((size for size in range(len(tag) - 1, 0, -1) if text.endswith(tag[:size])), 0)
