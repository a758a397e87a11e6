"""The settings of the prompt and of the chat."""

from pathlib import PurePosixPath
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
)

from assistant.settings.base import Table, Texts, as_list


def _sections(value: Any) -> Any:
    """Sections as a list of tables, of names, or as the environment holds them."""
    listed = as_list(value)
    if not isinstance(listed, list | tuple):
        return listed
    return [{"name": each} if isinstance(each, str) else each for each in listed]


def _inside(files: tuple[str, ...]) -> tuple[str, ...]:
    for each in files:
        path = PurePosixPath(each)
        if path.is_absolute() or each.startswith("~") or {"..", ".assistant"} & set(path.parts):
            raise ValueError(f"a file of the workspace, which {each} is not")
    return files


class SectionSettings(Table):
    """[[context.sections]]: a section of the prompt."""

    name: str
    """One of the program's own, or one of yours; `*` stands for all that are not named."""
    title: str | None = None
    """Its heading in the prompt."""
    files: Annotated[Texts, AfterValidator(_inside)] = ()
    """The files of the workspace that feed it."""
    budget: int | None = Field(default=None, ge=1)
    """Maximum tokens of each of its files."""


class ContextSettings(Table):
    """[context]: the recipe of the prompt. May also stand in a workspace's assistant.toml."""

    sections: Annotated[tuple[SectionSettings, ...], BeforeValidator(_sections)] = ()
    """The sections of the prompt, in order: names, or tables with `name`, `title`, `files` and
    `budget`. Unset: `identity`, `guardrails`, `profile`, `rules`, `procedures`, `sensitive`,
    `tools`, `memory`, `skills`, `bootstrap`."""

    compact_at: float = Field(default=0.70, gt=0.1, lt=1.0)
    """The share of the room for history from which it is compacted."""
    keep_recent: float = Field(default=0.30, gt=0.0, lt=1.0)
    """The share of the history, newest first, that compaction keeps word for word."""
    memory_at: Literal["message", "system"] = "message"
    """Where memory, notes and the time go: before the latest message, so that the provider caches
    all before it, or in the system prompt."""
    reserve_tokens: int = Field(default=4096, ge=0)
    """Tokens kept free for the reply."""


class ChatSettings(Table):
    """[chat]: the chat in a terminal."""

    keys: Literal["emacs", "vi"] = "emacs"
    """Editing keys."""
