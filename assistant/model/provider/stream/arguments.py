"""The arguments of a call: JSON as models write it, with line breaks in it and commas too many, or
in a fence.

Only what has one meaning is mended. JSON that was cut off is not made whole: the call would run
with what is left of its arguments.
"""

import json
import re
from typing import Any, NoReturn

from assistant.model.provider.stream.characters import mend, unpaired

SPARE_COMMA = re.compile(r'("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])', re.DOTALL)
"""A string, or a comma before a closing bracket outside of any."""
FENCED = re.compile(r"\s*```(?:json)?\s*\n(?P<inside>.*)\n\s*```\s*", re.DOTALL)
AGAIN = "send the call again"


def decode_arguments(text: str, *, ended: bool = True) -> dict[str, Any]:
    """The arguments of a call. No text means none, if the reply has `ended` of itself.

    Raises ValueError, one line for the model, unless they are one JSON object.
    """
    if not text.strip():
        if not ended:
            raise ValueError(f"the reply was cut off before the arguments; {AGAIN}")
        return {}
    fenced = FENCED.fullmatch(text)
    value = _decoded(fenced["inside"] if fenced else text)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ValueError(f"the arguments must be one JSON object; {AGAIN}")
    if unpaired(clean := json.dumps(value, ensure_ascii=False)):
        value = json.loads(mend(clean))
    return dict(value)


def _decoded(text: str) -> Any:
    try:
        return _loads(text)
    except (ValueError, RecursionError) as error:
        spared = SPARE_COMMA.sub(lambda found: found[1] or "", text)
        if spared != text:
            with_less = _tried(spared)
            if with_less is not None:
                return with_less
        raise ValueError(f"the arguments are not valid JSON ({error}); {AGAIN}") from error


def _tried(text: str) -> Any:
    try:
        return _loads(text)
    except (ValueError, RecursionError):
        return None


def _loads(text: str) -> Any:
    """JSON, with control characters in its strings: a raw line break is one of the value's."""
    return json.loads(text, strict=False, parse_constant=_no_constant)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")
