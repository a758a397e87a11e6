"""The validated settings. `config.py` loads the sources; an unknown key is an error."""

import os
import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, get_args

from pydantic import (
    BaseModel,
    BeforeValidator,
    Field,
    ValidationError,
    field_validator,
)

from assistant import config
from assistant.errors import ConfigError
from assistant.settings import sections
from assistant.tables import table_of


class Settings(sections.Table):
    """Every setting, by section."""

    model: sections.ModelSettings = sections.ModelSettings()
    profiles: Annotated[
        tuple[sections.ProfileSettings, ...], BeforeValidator(sections.as_tables)
    ] = ()
    memory: sections.MemorySettings = sections.MemorySettings()
    embedding: sections.EmbeddingSettings = sections.EmbeddingSettings()
    index: sections.IndexSettings = sections.IndexSettings()
    daemon: sections.DaemonSettings = sections.DaemonSettings()
    policy: sections.PolicySettings = sections.PolicySettings()
    hooks: Annotated[tuple[sections.HookSettings, ...], BeforeValidator(sections.as_list)] = ()
    shell: sections.ShellSettings = sections.ShellSettings()
    web: sections.WebSettings = sections.WebSettings()
    mcpServers: dict[str, sections.ServerSettings] = Field(default_factory=dict)
    context: sections.ContextSettings = sections.ContextSettings()
    skills: sections.SkillsSettings = sections.SkillsSettings()
    chat: sections.ChatSettings = sections.ChatSettings()
    heartbeat: sections.HeartbeatSettings = sections.HeartbeatSettings()
    reach: sections.ReachSettings = sections.ReachSettings()
    sources: Annotated[tuple[sections.SourceSettings, ...], BeforeValidator(sections.as_list)] = ()

    @property
    def rules(self) -> dict[str, Sequence[str]]:
        """The rules that name tools, by their settings."""
        rules = {f"policy.{key}": texts for key, texts in self.policy.model_dump().items()}
        for number, hook in enumerate(self.hooks, 1):
            rules |= {f"hooks.{number}.before": hook.before, f"hooks.{number}.after": hook.after}
        return rules

    @property
    def notes(self) -> dict[str, Path]:
        """The folders of the owner's notes, by the names that recall cites."""
        return {source.name: source.folder for source in self.sources}

    @field_validator("sources")
    @classmethod
    def _have_distinct_names(
        cls, sources: tuple[sections.SourceSettings, ...]
    ) -> tuple[sections.SourceSettings, ...]:
        names = [source.name for source in sources]
        if len(set(names)) < len(names):
            raise ValueError("sources with different names")
        return sources


EXPECTED: Mapping[str, str] = table_of(__file__)
LISTED: dict[str, type[BaseModel]] = {
    "profiles": sections.ProfileSettings,
    "hooks": sections.HookSettings,
    "sources": sections.SourceSettings,
}
"""The sections that are lists of tables."""


def validate(
    raw: Mapping[str, Any],
    recipe: Path | None = None,
    *,
    sources: Sequence[config.Layer] | None = None,
) -> Settings:
    """Validate the settings returned by `config.load` for that `recipe`.

    Raises ConfigError with the first fault, its cure and, if it is in one of `sources`, its source;
    by default those of `config.load`.
    """
    try:
        return Settings.model_validate(raw)
    except ValidationError as error:
        first = error.errors()[0]
        if sources is None:
            sources = config.layers(recipe=recipe)
        source = config.origin_of(first["loc"], sources)
        fault = _fault(first, f" ({source})" if source else "")
        if recipe and source.startswith(str(recipe)) and first["type"] != "extra_forbidden":
            fault = ConfigError(fault.message, config.correct(recipe))
        raise fault from error


def _fault(error: Mapping[str, Any], source: str) -> ConfigError:
    key, path = shown_key(error["loc"]), error["loc"]
    if error["type"] == "extra_forbidden":
        is_section = len(path) == 1 and isinstance(error["input"], Mapping)
        nearest = get_close_matches(key, Settings.model_fields if is_section else names(), n=1)
        what = "section [{}]" if is_section else "setting {!r}"
        suggestion = f"[{nearest[0]}]" if is_section and nearest else "".join(nearest)
        return ConfigError(
            f"there is no {what.format(key)}{source}",
            f"Did you mean {suggestion}?"
            if suggestion
            else "docs/configuration.md lists the settings",
        )
    kind = error["type"].removesuffix("_parsing").removesuffix("_type")
    is_table = kind == "tuple" and isinstance(error["input"], Mapping)
    reason = error["msg"].removeprefix("Input should be ").removeprefix("Value error, ")
    if error["type"] == "missing":
        fault = f"is missing{source}"
    elif is_table:
        fault = f"is a table{source}: write it as [[{key}]]"
    elif path[0] == sections.SERVERS:  # its value may contain a key
        fault = f"should be {EXPECTED.get(kind, reason)}{source}"
    else:
        value = error["input"]
        fault = f"cannot be {value!r}{source}: it should be {EXPECTED.get(kind, reason)}"
    variable = re.search(r"\((ASSISTANT_\w+)\)", source)
    if variable:
        cure = f"Correct or unset {variable[1]}"
    elif is_table or error["type"] == "model_type" or path[0] == sections.SERVERS:
        cure = config.EDIT
    else:
        cure = f"Correct it with `assistant config set {key} VALUE`"
    return ConfigError(f"the setting {key!r} {fault}", cure)


def names() -> list[str]:
    """Return the names of all settings; for a list of tables, those of its first item."""
    keys = []
    for section, field in Settings.model_fields.items():
        if section == sections.SERVERS:  # the owner chooses their names
            continue
        listed = LISTED.get(section)
        model, first = (listed, "1.") if listed else (field.annotation, "")
        assert isinstance(model, type) and issubclass(model, BaseModel)
        keys += [f"{section}.{first}{name}" for name in model.model_fields]
    return keys


def choices(name: str) -> list[str]:
    """Return the values of a setting that has only a few; empty for any other."""
    section, _, key = name.partition(".")
    table = Settings.model_fields.get(section)
    field = getattr(table and table.annotation, "model_fields", {}).get(key)
    kinds = field and (get_args(field.annotation) or [field.annotation])
    literals = [value for kind in kinds or () for value in get_args(kind) or [kind]]
    if literals[:1] == [bool]:
        return ["true", "false"]
    return [value for value in literals if isinstance(value, str)]


def unknown_variables(environ: Mapping[str, str] = os.environ) -> list[str]:
    """Return a line for each variable with the program's prefix that is not a setting."""
    valid_names = [config.WORKSPACE, *config.SHORT_NAMES, *config.WHOLE_SECTIONS]
    valid_names += [f"{config.PREFIX}{name.replace('.', '__').upper()}" for name in names()]
    lines = []
    for name in sorted(environ):
        if name.startswith(config.PREFIX) and "__" not in name and name not in valid_names:
            nearest = get_close_matches(name, valid_names, n=1, cutoff=0.8)
            lines.append(
                f"{name} is not a setting{f'; did you mean {nearest[0]}?' if nearest else ''}"
            )
    return lines


def shown_key(path: tuple[str | int, ...]) -> str:
    """Return a setting's name as people write it: `memory.k`, `profiles.1.name` for the first."""
    return ".".join(str(part + 1 if isinstance(part, int) else part) for part in path)
