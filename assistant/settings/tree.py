"""The settings, validated. Their sources are in `config.py`; an unknown key is an error."""

import json
import os
import re
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    BeforeValidator,
    Field,
    ValidationError,
    field_validator,
)

from assistant import config
from assistant.errors import ConfigError
from assistant.settings.sections import (
    SERVERS,
    ChatSettings,
    ContextSettings,
    DaemonSettings,
    EmbeddingSettings,
    HeartbeatSettings,
    IndexSettings,
    MemorySettings,
    ModelSettings,
    PolicySettings,
    ProfileSettings,
    ServerSettings,
    ShellSettings,
    SkillsSettings,
    SourceSettings,
    Table,
    WebSettings,
    as_list,
)


def _profiles(value: Any) -> Any:
    """Profiles as a list of tables, of names, or as the environment holds them."""
    if isinstance(value, str):
        value = json.loads(value) if value.lstrip().startswith("[") else value.split(",")
    named = isinstance(value, list | tuple)
    return [{"name": e.strip()} if isinstance(e, str) else e for e in value] if named else value


class Settings(Table):
    """Every setting, by section."""

    model: ModelSettings = ModelSettings()
    profiles: Annotated[tuple[ProfileSettings, ...], BeforeValidator(_profiles)] = ()
    memory: MemorySettings = MemorySettings()
    embedding: EmbeddingSettings = EmbeddingSettings()
    index: IndexSettings = IndexSettings()
    daemon: DaemonSettings = DaemonSettings()
    policy: PolicySettings = PolicySettings()
    shell: ShellSettings = ShellSettings()
    web: WebSettings = WebSettings()
    mcpServers: dict[str, ServerSettings] = Field(default_factory=dict)
    context: ContextSettings = ContextSettings()
    skills: SkillsSettings = SkillsSettings()
    chat: ChatSettings = ChatSettings()
    heartbeat: HeartbeatSettings = HeartbeatSettings()
    sources: Annotated[tuple[SourceSettings, ...], BeforeValidator(as_list)] = ()

    @property
    def notes(self) -> dict[str, Path]:
        """The folders of the owner's notes, by what recall cites them as."""
        return {source.name: source.folder for source in self.sources}

    @field_validator("sources")
    @classmethod
    def _are_told_apart(cls, sources: tuple[SourceSettings, ...]) -> tuple[SourceSettings, ...]:
        names = [source.name for source in sources]
        if len(set(names)) < len(names):
            raise ValueError("sources with a name of their own each")
        return sources


WANTED = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "string": "a text",
}
"""What a setting of the wrong type should be, by the type."""
GONE = {
    "model.thinking": "`assistant config set model.effort none` turns thinking off",
    "model.first_token_seconds": "`model.timeout_seconds` sets this limit too",
    "model.answer_seconds": "`model.timeout_seconds` sets this limit too",
    "model.retry_seconds": "a failed request is retried for 120 s",
    "model.tool_calls": "all tool calls of a reply run",
    "context.memory_at": "memory stands before the latest message",
    "sources.budget": "the notes of a source get 250 tokens of a recall",
}
"""Settings that were taken away, and what to do instead; without the parts that owners name."""
LISTED: dict[str, type[BaseModel]] = {"profiles": ProfileSettings, "sources": SourceSettings}
"""The sections that are lists of tables."""


def validate(
    raw: Mapping[str, Any], recipe: Path | None = None, *, placed: bool = True
) -> Settings:
    """The settings that `config.load` gathered, with that `recipe`.

    Raises ConfigError that names the first fault, what would cure it, and, if they are `placed`,
    where it stands.
    """
    try:
        return Settings.model_validate(raw)
    except ValidationError as error:
        first = error.errors()[0]
        place = config.whence(first["loc"], config.layers(recipe=recipe)) if placed else ""
        raise _fault(first, f" ({place})" if place else "") from error


def _fault(error: Mapping[str, Any], place: str) -> ConfigError:
    key = shown_key(error["loc"])
    if error["type"] == "extra_forbidden":
        if instead := GONE.get(f"{error['loc'][0]}.{error['loc'][-1]}"):
            return ConfigError(
                f"there is no setting {key!r} any more{place}", f"Remove it: {instead}"
            )
        near = get_close_matches(key, names(), n=1)
        return ConfigError(
            f"there is no setting {key!r}{place}",
            f"Did you mean {near[0]}?" if near else "docs/configuration.md lists the settings",
        )
    said = WANTED.get(error["type"].removesuffix("_parsing").removesuffix("_type")) or error[
        "msg"
    ].removeprefix("Input should be ").removeprefix("Value error, ")
    if error["loc"][0] == SERVERS:
        return ConfigError(
            f"{key} should be {said}{place}", "`assistant config edit` opens the file"
        )
    if error["type"] == "missing":
        return ConfigError(
            f"the setting {key!r} is missing{place}",
            f"Give it with `assistant config set {key} VALUE`",
        )
    variable = re.search(r"\((ASSISTANT_\w+)\)", place)
    return ConfigError(
        f"the setting {key!r} cannot be {error['input']!r}{place}: it should be {said}",
        f"Correct or unset {variable[1]}"
        if variable
        else f"Correct it with `assistant config set {key} VALUE`",
    )


def names() -> list[str]:
    """The names of all settings; those of a list of tables as of the first one."""
    keys = []
    for section, field in Settings.model_fields.items():
        if section == SERVERS:  # their names are the owner's
            continue
        listed = LISTED.get(section)
        model, first = (listed, "1.") if listed else (field.annotation, "")
        assert isinstance(model, type) and issubclass(model, BaseModel)
        keys += [f"{section}.{first}{name}" for name in model.model_fields]
    return keys


def unknown_variables(environ: Mapping[str, str] = os.environ) -> list[str]:
    """A line for each variable with our prefix that is no setting."""
    known = [config.WORKSPACE, *config.SHORT_NAMES, *config.WHOLE_SECTIONS]
    known += [f"{config.PREFIX}{name.replace('.', '__').upper()}" for name in names()]
    lines = []
    for name in sorted(environ):
        if name.startswith(config.PREFIX) and "__" not in name and name not in known:
            near = get_close_matches(name, known, n=1, cutoff=0.8)
            lines.append(f"{name} is no setting{f'; did you mean {near[0]}?' if near else ''}")
    return lines


def shown_key(path: tuple[str | int, ...]) -> str:
    """A setting's name as people write it: `memory.k`, `profiles.1.name` for the first."""
    return ".".join(str(part + 1 if isinstance(part, int) else part) for part in path)
