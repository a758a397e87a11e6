"""Other names that models give to parameters: which one is meant."""

from collections.abc import Mapping
from typing import Any

SPELLINGS = {
    "query": ("q", "question", "search", "search_query", "text", "prompt", "topic", "input"),
    "k": ("limit", "top_k", "topk", "n", "max_results", "num_results", "count", "maxresults"),
    "as_of": ("asof", "date", "at"),
    "fact": ("text", "content", "memory", "note", "statement", "message", "observation", "data"),
    "replaces": ("supersedes", "replace", "old", "instead_of"),
    "target": (
        "id",
        "fact",
        "place",
        "text",
        "query",
        "memory",
        "content",
        "citation",
        "memory_id",
    ),
    "path": ("file", "place", "filename", "file_path", "filepath", "uri", "name", "source", "id"),
    "topic": ("query", "q", "task", "prompt", "text", "about", "message", "question"),
}
"""By the parameter's own name; those of one tool share no spelling."""


def understood(arguments: Mapping[str, Any], parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments under the names that the tool's parameters have; one that is null is none."""
    found = {name: value for name, value in arguments.items() if value is not None}
    for name in parameters:
        if name in found:
            continue
        spelled = {_plain(each): each for each in found if each not in parameters}
        known = (_plain(name), *SPELLINGS.get(name, ()))
        meant = next((spelled[each] for each in known if each in spelled), None)
        if meant is not None:
            found[name] = found.pop(meant)
    return found


def _plain(name: str) -> str:
    """A name in lower case with underscores, whichever way it was written."""
    words = "".join(f"_{char}" if char.isupper() else char for char in name.replace("-", "_"))
    return words.lower().strip("_").replace("__", "_")
