"""A question put to the model outside of a conversation, and an answer that was to be JSON."""

import json
import re
from typing import Any

from assistant.errors import ModelError, ModelFailure
from assistant.messages import Message, Reply
from assistant.model.base import ChatModel


def asked(model: ChatModel, system: str, said: str) -> str:
    """The model's whole answer, which nobody watches; empty if it says nothing."""
    pieces = model.stream([Message("system", system), Message("user", said)])
    return next((piece.text for piece in pieces if isinstance(piece, Reply)), "")


def listed(answer: str, name: str) -> list[Any]:
    """The list in an answer, bare or under its name, with whatever stands around it.

    Raises ModelError if there is no JSON.
    """
    found = re.search(r"[\[{].*[\]}]", answer, re.DOTALL)
    try:
        decoded = json.loads(found[0] if found else "")
    except ValueError as error:
        raise ModelError(
            "the model's answer is not the JSON asked for", kind=ModelFailure.PROTOCOL
        ) from error
    inner = decoded.get(name) if isinstance(decoded, dict) else decoded
    return inner if isinstance(inner, list) else []
