"""Schemas without what says nothing: every client sends them to its model with each request."""

from typing import Any


def bare(schema: dict[str, Any]) -> None:
    """Take out the titles, which repeat the names, and the doc strings of results."""
    schema.pop("title", None)
    schema.pop("description", None)
    for each in schema.get("properties", {}).values():
        each.pop("title", None)
