"""Loads settings as plain nested values: flag > environment > file > default.

Only TOML syntax is checked here: `settings/` validates, with pydantic, which takes 0.2 s to
import. A command-line client needs only this module: the workspace, and a digest of the settings
that an index depends on.
"""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assistant.disk import storage
from assistant.errors import ConfigError, StorageError

Raw = dict[str, Any]

PREFIX = "ASSISTANT_"
SHORT_NAMES = {
    "ASSISTANT_MODEL": ("model", "name"),
    "ASSISTANT_API_BASE": ("model", "api_base"),
    "ASSISTANT_CONTEXT_WINDOW": ("model", "context_window"),
    "ASSISTANT_IDLE_SECONDS": ("daemon", "idle_seconds"),
}
WORKSPACE = "ASSISTANT_WORKSPACE"
WHOLE_SECTIONS = {"ASSISTANT_PROFILES": "profiles", "ASSISTANT_SOURCES": "sources"}
"""Variables that hold a whole section: a list as JSON, or comma-separated names."""
INDEX_SECTIONS = ("embedding", "index", "sources")
"""Settings that an index depends on: different values need different indexes."""
BYTE_ORDER_MARK = "\ufeff"
EDIT = "Correct it: `assistant config edit` opens the file"
RECIPE_SECTIONS = ("context", "skills")
"""Sections that a workspace's assistant.toml may set: never an endpoint, a key or a model."""


def config_file() -> Path:
    """Return the owner's configuration file, by the XDG base directory specification."""
    return _xdg("XDG_CONFIG_HOME", ".config") / "assistant" / "config.toml"


def cache_dir() -> Path:
    """Return the folder of compiled embedding models; it may be deleted at any time."""
    return _xdg("XDG_CACHE_HOME", ".cache") / "assistant"


def state_dir() -> Path:
    """Return the folder of data outside any workspace: trust, logs, prompt history."""
    return _xdg("XDG_STATE_HOME", ".local/state") / "assistant"


def changed_at() -> float:
    """Return when the owner's configuration file was last changed (time.time); 0 if there is
    none."""
    try:
        return config_file().stat().st_mtime
    except OSError:
        return 0.0


def _xdg(variable: str, fallback: str) -> Path:
    value = os.environ.get(variable, "")
    return Path(value) if Path(value).is_absolute() else Path.home() / fallback


@dataclass(frozen=True, slots=True)
class Layer:
    """Settings from one source; `origin` is a file's path, a variable's name, or the flags."""

    origin: str
    values: Raw


def load(flags: Mapping[str, Mapping[str, Any]] | None = None, recipe: Path | None = None) -> Raw:
    """Return the settings as nested values; the environment overrides the file, and `flags`
    override both.

    `recipe` is a workspace's assistant.toml, which overrides the file. Raises ConfigError if a
    file is not TOML or cannot be read, or a recipe sets more than it may.
    """
    values: Raw = {}
    for layer in layers(flags, recipe):
        for section, entries in layer.values.items():
            existing = values.get(section)
            if isinstance(entries, dict) and isinstance(existing, dict):
                entries = {**existing, **entries}
            values[section] = entries
    return values


def layers(
    flags: Mapping[str, Mapping[str, Any]] | None = None, recipe: Path | None = None
) -> list[Layer]:
    """Return the sources of `load`, weakest first. Raises what `load` does."""
    sources = [Layer(str(config_file()), read_file(config_file()))]
    if recipe:
        sources.append(Layer(str(recipe), read_recipe(recipe)))
    sources += _environment(os.environ)
    if flags:
        sources.append(Layer("the command line", {name: dict(flags[name]) for name in flags}))
    return sources


def origin_of(path: Sequence[str | int], sources: Sequence[Layer]) -> str:
    """Return where a setting is made: `FILE:LINE`, a variable, the flags; empty for a default.

    `path` contains its keys, such as `("memory", "k")` or `("profiles", 0, "name")`; list indices
    start at 0.
    """
    layer = next((source for source in reversed(sources) if _has_path(source.values, path)), None)
    if layer is None:
        return ""
    file = Path(layer.origin)
    if not file.is_absolute():
        return layer.origin
    line = line_of(file.read_text("utf-8-sig"), path)
    return f"{file}:{line}" if line else str(file)


def _has_path(values: Any, path: Sequence[str | int]) -> bool:
    """Return whether values contain a path; a whole section as text is searched for the name."""
    for key in path:
        if isinstance(values, str):
            return path[-1] == "name" or f'"{path[-1]}"' in values
        try:
            values = values[key]
        except (KeyError, IndexError, TypeError):
            return False
    return True


def line_of(text: str, path: Sequence[str | int]) -> int:
    """Return the 1-based line of a setting in a TOML text; 0 if it cannot be found.

    For a part of a value, such as an item of an inline list, return the value's line.
    """
    table: list[str | int] = []
    table_counts: dict[str, int] = {}
    last = 0
    for number, line in enumerate(text.split("\n"), start=1):
        stripped = line.split("#")[0].strip()
        if stripped.startswith("["):
            name = stripped.strip("[] ")
            table = list(name.split("."))
            if stripped.startswith("[["):
                table_counts[name] = table_counts.get(name, -1) + 1
                table.append(table_counts[name])
            location = table
        elif "=" in stripped:
            key = stripped.partition("=")[0].strip()
            location = [*table, *(part.strip(" \"'") for part in key.split("."))]
        else:
            continue
        if location[: len(path)] == list(path):
            return number
        if location == list(path[: len(location)]):
            last = number
    return last


def correct(path: Path) -> str:
    """Return the cure of a fault in a settings file: the owner's own, or a workspace's."""
    return EDIT if path == config_file() else f"Correct {path} in an editor"


def read_file(path: Path) -> Raw:
    """Return the values of a TOML file; empty if there is none. Raises ConfigError."""
    try:
        data = storage.read(path)
    except FileNotFoundError:
        return {}
    except StorageError as error:
        raise ConfigError(error.message, error.cure) from error
    import tomllib  # 4 ms, and rarely needed

    try:
        return tomllib.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{path} is not UTF-8 text, in line {line}", correct(path)) from error
    except tomllib.TOMLDecodeError as error:  # it gives line and column, except at the end
        end_position = f"at the end, line {len(data.splitlines())}"
        reason = str(error).replace("at end of document", end_position)
        raise ConfigError(f"{path} is not valid TOML: {reason}", correct(path)) from error


def read_recipe(path: Path) -> Raw:
    """Return the values of a workspace's own file, which may be written by somebody else.

    Raises ConfigError if it sets anything but the recipe of the prompt.
    """
    values = read_file(path)
    for section, entries in values.items():
        if section not in RECIPE_SECTIONS or not isinstance(entries, dict):
            allowed = " and ".join(f"[{name}]" for name in RECIPE_SECTIONS)
            raise ConfigError(
                f"{path} may contain only {allowed}, not {section!r}", f"Move it to {config_file()}"
            )
    if "folders" in values.get("skills", {}):  # they would be read outside the workspace
        raise ConfigError(f"{path} may not set skills.folders", f"Move it to {config_file()}")
    return values


def index_digest(raw: Mapping[str, Any]) -> str:
    """Return a short hash of the settings that an index depends on."""
    relevant = {name: raw[name] for name in INDEX_SECTIONS if raw.get(name)}
    return hashlib.sha256(json.dumps(relevant, sort_keys=True, default=str).encode()).hexdigest()[
        :16
    ]


def _environment(environ: Mapping[str, str]) -> list[Layer]:
    sources = []
    for name, value in environ.items():
        if name in WHOLE_SECTIONS:
            sources.append(Layer(name, {WHOLE_SECTIONS[name]: value}))
        elif name in SHORT_NAMES:
            section, key = SHORT_NAMES[name]
            sources.append(Layer(name, {section: {key: value}}))
        elif name.startswith(PREFIX) and "__" in name:
            section, _, key = name.removeprefix(PREFIX).lower().partition("__")
            sources.append(Layer(name, {section: {key: value}}))
    return sources
