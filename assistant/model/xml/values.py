"""The values of a call's parameters, out of text. Pure."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from assistant.model.base import ToolSpec

CDATA = re.compile(r"<!\[CDATA\[(.*?)\]\]>", re.DOTALL)
AGAIN = "send the whole call again"


def schema_of(name: str, tools: Iterable[ToolSpec]) -> Mapping[str, Any]:
    """The parameters that a tool has, by name; none of a tool that is unknown."""
    schema = next((tool.parameters for tool in tools if tool.name == name), {})
    properties: Mapping[str, Any] = schema.get("properties", {})
    return properties


def gathered(pairs: Iterator[tuple[str, str]], known: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments, each of its type. Raises ValueError for one that comes twice."""
    values: dict[str, Any] = {}
    for name, text in pairs:
        if name in values:
            raise ValueError(f"<{name}> stands there twice; {AGAIN}")
        values[name] = _typed(text, known.get(name, {}))
    return values


def paired(body: str, pair: "re.Pattern[str]") -> Iterator[tuple[str, str]]:
    """The names and texts of a body that is made of such pairs and of nothing else.

    Raises ValueError where it is not.
    """
    place = 0
    for found in pair.finditer(body):
        outside(body[place : found.start()])
        yield found["name"].strip(), found["value"]
        place = found.end()
    outside(body[place:])


def outside(text: str) -> None:
    """Raises ValueError for text that stands outside of the parameters."""
    if text.strip():
        found = " ".join(text.split())[:40]
        raise ValueError(f"there is text outside of the parameters ({found!r}); {AGAIN}")


def _typed(text: str, schema: Mapping[str, Any]) -> Any:
    plain = _unwrapped(text)
    if schema.get("type", "string") == "string":
        return plain
    try:
        return json.loads(plain)
    except ValueError:
        return plain


def _unwrapped(text: str) -> str:
    sections = CDATA.findall(text)
    if sections and not CDATA.sub("", text).strip():
        return "".join(sections)
    if "\n" not in text.strip():
        return text.strip()
    return re.sub(r"\A[ \t]*\n|\n[ \t]*\Z", "", text)
