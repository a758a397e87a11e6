"""Secrets never leave: their values are replaced by named placeholders, and put back only in a
tool's arguments as it runs.
"""

from collections.abc import Mapping
from typing import Any


class Redactor:
    """Replaces registered values by placeholders such as `‹secret:GITHUB_TOKEN›`."""

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        self._placeholders = {v: f"‹secret:{k}›" for k, v in (values or {}).items() if v}

    def redact(self, text: str) -> str:
        """The text with every secret replaced by its placeholder."""
        for value, placeholder in self._placeholders.items():
            text = text.replace(value, placeholder)
        return text

    def restore(self, text: str) -> str:
        """The text with every placeholder replaced by its secret."""
        for value, placeholder in self._placeholders.items():
            text = text.replace(placeholder, value)
        return text

    def restore_all(self, value: Any) -> Any:
        """`restore`, in every string of nested lists and mappings."""
        if isinstance(value, str):
            return self.restore(value)
        if isinstance(value, Mapping):
            return {key: self.restore_all(each) for key, each in value.items()}
        if isinstance(value, list | tuple):
            return [self.restore_all(each) for each in value]
        return value
