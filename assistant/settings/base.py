"""What every section of the settings is made of."""

import json
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
)

SERVERS = "mcpServers"
"""The section of other people's tools; it has the name that other programs have for it."""


def as_list(value: Any) -> Any:
    """A list that a variable of the environment holds: as JSON, or one text a line."""
    if not isinstance(value, str):
        return value
    return json.loads(value) if value.lstrip().startswith("[") else value.splitlines()


RESERVED = frozenset({"memory", "sessions"})
"""What `recall --in` calls the owner's facts, and past conversations."""


Texts = Annotated[tuple[str, ...], BeforeValidator(as_list)]


class Table(BaseModel):
    model_config = ConfigDict(
        extra="forbid", frozen=True, use_attribute_docstrings=True, protected_namespaces=()
    )
