"""The tables and texts that stand in TOML beside the modules that use them."""

import tomllib
from pathlib import Path
from typing import Any


def beside(module: str) -> dict[str, Any]:
    """Return the table of a module, given its `__file__`."""
    return tomllib.loads(Path(module).with_suffix(".toml").read_text("utf-8"))
