"""What each tool answers, as a program reads it; models read the schemas, so they are short."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from assistant.bridge.mcp.schemas import bare


class _Result(BaseModel):
    model_config = ConfigDict(json_schema_extra=bare)


class Found(_Result):
    """A passage; `place` is FILE:LINE."""

    id: str
    place: str
    text: str
    date: str = ""
    origin: str = ""
    superseded: bool = False


class Recalled(_Result):
    """The passages, best first."""

    passages: list[Found]


class Receipt(_Result):
    """What became of a fact; `place` (FILE:LINE) is empty while it waits for the owner."""

    status: Literal["stored", "exists", "superseded", "waiting"]
    id: str
    place: str
    similar: list[Found] = Field(default_factory=list)


class Forgotten(_Result):
    """What was removed; `undo` names the write."""

    status: Literal["forgotten", "kept"]
    id: str
    place: str
    undo: str = ""


class Pages(_Result):
    """Lines of a file."""

    file: str
    first: int
    last: int
    lines: int
    text: str


class Brief(_Result):
    """Who the owner is, and what bears on the topic."""

    text: str


class State(_Result):
    """How memory stands."""

    workspace: str
    trusted: bool
    facts: int
    waiting: int
    you: str
    writes: Literal["stored", "waiting", "refused"]
    notices: list[str]
