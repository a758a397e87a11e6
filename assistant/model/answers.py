"""Reading an answer that was to be JSON."""

import json
import re
from typing import Any

from assistant.errors import ModelError, ModelFailure


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
