"""The `ChatModel` protocol: a language model that streams an answer."""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from assistant.errors import UsageError
from assistant.messages import Given, Message, Picture, Reply

UNKNOWN_WINDOW = 32_000
"""Tokens a model is taken to have where neither settings nor provider say."""
SMALL_WINDOW = 12_000
"""Below this, rules, files, tools and passages take what there is room for."""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the model is told of it; `parameters` is a JSON schema of type object."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class TextPiece:
    """Some more of the reply's text."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningPiece:
    """Some more of the model's reasoning."""

    text: str


@dataclass(frozen=True, slots=True)
class RetryPiece:
    """A call failed before its first token; the next is to `model`, after `delay` seconds."""

    model: str
    reason: str
    delay: float
    attempt: int


Piece = TextPiece | ReasoningPiece | RetryPiece | Reply
"""A stream is pieces and then, last and once, the whole `Reply`."""


class ChatModel(Protocol):
    """A language model.

    `context_window` is in tokens, None where the provider reports none. `extracts` is False for
    a model that cannot summarise or extract facts (the offline responder). `sees` says whether
    pictures may be sent to it; it may still refuse them.
    """

    @property
    def name(self) -> str: ...

    @property
    def context_window(self) -> int | None: ...

    @property
    def extracts(self) -> bool: ...

    @property
    def sees(self) -> bool: ...

    def stream(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec] = ()
    ) -> Generator[Piece, None, None]:
        """Stream the answer. Closing the generator cancels the request.

        Raises ModelError, with its `kind`, before the first piece or in the middle.
        """


def check_sight(model: ChatModel, given: Given) -> None:
    """Raise UsageError if there is a picture with a message that this model cannot see."""
    titles = [title for title, each in given.items() if isinstance(each, Picture)]
    if titles and not model.sees:
        raise UsageError(
            f"{model.name} sees no pictures, and {titles[0]} is one",
            "Choose a model that does: `assistant config set model NAME`, in the chat `/model NAME`"
            + "; if this one does, `assistant config set model.sees true`" * model.extracts,
        )
