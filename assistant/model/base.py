"""The `ChatModel` protocol: a language model that streams an answer."""

import json
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from assistant.errors import UsageError
from assistant.events import ReasoningDelta, Retrying, TextDelta
from assistant.messages import Given, Message, Picture, Reply, request_tokens

UNKNOWN_WINDOW = 32_000
"""Window size in tokens, assumed if neither settings nor provider give it."""
SMALL_WINDOW = 12_000
"""Below this, rules, files, tools and passages share the available room."""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as described to the model; `parameters` is a JSON schema of type object."""

    name: str
    description: str
    parameters: Mapping[str, Any]

    @property
    def wire(self) -> dict[str, Any]:
        """The tool in OpenAI's form."""
        function = {
            "name": self.name,
            "description": self.description,
            "parameters": self.parameters,
        }
        return {"type": "function", "function": function}

    @property
    def tokens(self) -> int:
        """The estimated tokens of its description in a prompt, without the frame on the wire."""
        return request_tokens(json.dumps([self.name, self.description, self.parameters]))


Piece = TextDelta | ReasoningDelta | Retrying | Reply
"""A stream consists of pieces followed by exactly one `Reply`."""


class ChatModel(Protocol):
    """A language model.

    `context_window` is in tokens, None if the provider reports none. `extracts` is False for a
    model that cannot summarise or extract facts (the offline responder). `sees` says whether
    pictures may be sent to it; it may still refuse them. `tools_in_prompt`: tools are described in
    its prompt, not in the request.
    """

    @property
    def name(self) -> str: ...

    @property
    def context_window(self) -> int | None: ...

    @property
    def extracts(self) -> bool: ...

    @property
    def sees(self) -> bool: ...

    @property
    def tools_in_prompt(self) -> bool: ...

    def stream(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec] = ()
    ) -> Generator[Piece, None, None]:
        """Stream the response. Closing the generator cancels the request.

        Raises ModelError, with its `kind`, before the first piece or in the middle.
        """


class Wrapper:
    """A model that delegates to another one, `_model`, and has its properties."""

    _model: ChatModel

    @property
    def name(self) -> str:
        """The model's name."""
        return self._model.name

    @property
    def context_window(self) -> int | None:
        """The model's window."""
        return self._model.context_window

    @property
    def extracts(self) -> bool:
        """Whether the model extracts facts."""
        return self._model.extracts

    @property
    def sees(self) -> bool:
        """Whether the model may be sent pictures."""
        return self._model.sees


def check_sight(model: ChatModel, given: Given) -> None:
    """Raise UsageError if a picture is attached that this model cannot see."""
    titles = [title for title, item in given.items() if isinstance(item, Picture)]
    if titles and not model.sees:
        raise UsageError(
            f"{model.name} does not accept images, and {titles[0]} is one",
            "Choose a model that does: `assistant config set model NAME`, in the chat `/model NAME`"
            + "; if this one does, `assistant config set model.sees true`" * model.extracts,
        )
