"""A deterministic `ChatModel` that plays a script."""

import re
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass

from assistant.errors import ModelError
from assistant.events import ReasoningDelta, TextDelta
from assistant.messages import Message, Reply
from assistant.model.base import Piece, ToolSpec

Answer = str | Reply | ModelError | Sequence[Piece | ModelError]
"""The answer to one request: a text, a whole reply (streamed word by word), an error, or the
exact pieces to stream, which may include an error to break off with."""
Responder = Callable[[Sequence[Message], Sequence[ToolSpec]], Answer]


@dataclass(frozen=True, slots=True)
class Request:
    """What the model was asked."""

    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...]


class ScriptedModel:
    """Plays a script: each request takes the next step, then `respond` answers the rest.

    A step is an `Answer`, or a function that makes one from the messages and the tools. `requests`
    records the requests; `cancelled` counts the streams closed early. Raises RuntimeError when the
    script is exhausted.
    """

    tools_in_prompt = False

    def __init__(
        self,
        *steps: Answer | Responder,
        respond: Responder | None = None,
        name: str = "scripted",
        context_window: int | None = None,
        extracts: bool = True,
        sees: bool = True,
    ) -> None:
        self.name = name
        self.context_window = context_window
        self.extracts = extracts
        self.sees = sees
        self.requests: list[Request] = []
        self.cancelled = 0
        self._steps = deque(steps)
        self._respond = respond

    def enqueue(self, *steps: Answer | Responder) -> None:
        """Add steps to the end of the script."""
        self._steps.extend(steps)

    def stream(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec] = ()
    ) -> Generator[Piece, None, None]:
        """Stream the next answer of the script."""
        self.requests.append(Request(tuple(messages), tuple(tools)))
        answer = self._next(messages, tools)
        try:
            for piece in _pieces(answer):
                if isinstance(piece, ModelError):
                    raise piece
                yield piece
        except GeneratorExit:
            self.cancelled += 1
            raise

    def _next(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Answer:
        step = self._steps.popleft() if self._steps else self._respond
        if step is None:
            raise RuntimeError(f"the script has no answer for request {len(self.requests)}")
        return step(messages, tools) if callable(step) else step


def _pieces(answer: Answer) -> Iterator[Piece | ModelError]:
    match answer:
        case ModelError():
            yield answer
        case str():
            yield from _pieces(Reply(answer))
        case Reply():
            yield from (ReasoningDelta(word) for word in _words(answer.reasoning))
            yield from (TextDelta(word) for word in _words(answer.text))
            yield answer
        case _:
            yield from answer
            if not any(isinstance(piece, Reply | ModelError) for piece in answer):
                yield _whole(answer)


def _whole(pieces: Sequence[Piece | ModelError]) -> Reply:
    text = "".join(piece.text for piece in pieces if isinstance(piece, TextDelta))
    reasoning = "".join(piece.text for piece in pieces if isinstance(piece, ReasoningDelta))
    return Reply(text=text, reasoning=reasoning)


def _words(text: str) -> list[str]:
    return re.findall(r"\s*\S+|\s+$", text)
