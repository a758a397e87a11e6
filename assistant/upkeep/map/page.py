"""The page that shows a memory: one file, with nothing fetched from anywhere."""

import json
from collections.abc import Mapping
from importlib import resources
from typing import Any


def page(drawn: Mapping[str, Any]) -> str:
    """The page for what `gathering` found. No text of memory can end its script or become markup:
    it is JSON without a bracket, and reaches the page as text."""
    said = json.dumps(drawn, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    parts = {"STYLE": _file("page.css"), "SCRIPT": _file("page.js"), "DATA": said}
    text = _file("page.html")
    for name, part in parts.items():
        before, mark, after = text.partition(f"/*{name}*/")
        assert mark, f"the page has no place for its {name.lower()}"
        text = before + part + after
    return text


def _file(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text("utf-8")
