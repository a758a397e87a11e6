"""Where settings come from: flag > environment > file > default, as plain nested values.

Nothing is validated here but that the file is TOML: `settings.py` does that, with pydantic, which
costs 0.2 s to import. A command-line client needs no more than this module: which workspace, and
a digest of what the memory daemon depends on.
"""

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assistant.errors import ConfigError

Raw = dict[str, Any]

PREFIX = "ASSISTANT_"
SHORT_NAMES = {
    "ASSISTANT_MODEL": ("model", "name"),
    "ASSISTANT_API_BASE": ("model", "api_base"),
    "ASSISTANT_CONTEXT_WINDOW": ("model", "context_window"),
    "ASSISTANT_IDLE_SECONDS": ("daemon", "idle_seconds"),
}
MEMORY_SECTIONS = ("memory", "embedding", "index", "daemon")
RECIPE_SECTIONS = ("context", "skills")
"""What a workspace's assistant.toml may set: never an endpoint, a key or a model."""


def config_file() -> Path:
    """The owner's configuration file, by the XDG base directory specification."""
    return _xdg("XDG_CONFIG_HOME", ".config") / "assistant" / "config.toml"


def cache_dir() -> Path:
    """Where compiled embedding models are kept; may be deleted at any time."""
    return _xdg("XDG_CACHE_HOME", ".cache") / "assistant"


def state_dir() -> Path:
    """What must outlive a workspace's own files: trust, logs, prompt history."""
    return _xdg("XDG_STATE_HOME", ".local/state") / "assistant"


def _xdg(variable: str, fallback: str) -> Path:
    value = os.environ.get(variable, "")
    return Path(value) if Path(value).is_absolute() else Path.home() / fallback


def load(flags: Mapping[str, Mapping[str, Any]] | None = None, recipe: Path | None = None) -> Raw:
    """The settings as nested values: the file's, overlaid by the environment's, then by `flags`.

    `recipe` is a workspace's assistant.toml, laid over the file. Raises ConfigError if a file is
    not TOML or cannot be read, or a recipe holds more than one may.
    """
    values = read_file(config_file())
    for section, entries in (read_recipe(recipe) if recipe else {}).items():
        _section(values, section).update(entries)
    for section, key, value in _environment(os.environ):
        _section(values, section)[key] = value
    for section, entries in (flags or {}).items():
        _section(values, section).update(entries)
    return values


def read_file(path: Path) -> Raw:
    """The values of a TOML file; empty if there is none. Raises ConfigError."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}", "Check it") from error
    import tomllib  # 4 ms that few need to spend

    try:
        return tomllib.loads(data.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not valid TOML: {error}", "Correct that line") from error


def read_recipe(path: Path) -> Raw:
    """The values of a workspace's own file, which may come from somebody else.

    Raises ConfigError if it sets anything but the recipe of the prompt.
    """
    values = read_file(path)
    for section, entries in values.items():
        if section not in RECIPE_SECTIONS or not isinstance(entries, dict):
            allowed = " and ".join(f"[{name}]" for name in RECIPE_SECTIONS)
            raise ConfigError(
                f"{path} may hold {allowed} only, not {section!r}", f"Move it to {config_file()}"
            )
    return values


def memory_digest(raw: Mapping[str, Any]) -> str:
    """A short hash of the settings a memory daemon depends on, the language model's left out."""
    relevant = {name: raw[name] for name in MEMORY_SECTIONS if raw.get(name)}
    return hashlib.sha256(json.dumps(relevant, sort_keys=True, default=str).encode()).hexdigest()[
        :16
    ]


def _environment(environ: Mapping[str, str]) -> list[tuple[str, str, str]]:
    found = []
    for name, value in environ.items():
        if name in SHORT_NAMES:
            found.append((*SHORT_NAMES[name], value))
        elif name.startswith(PREFIX) and "__" in name:
            section, _, key = name.removeprefix(PREFIX).lower().partition("__")
            found.append((section, key, value))
    return found


def _section(values: Raw, name: str) -> Raw:
    section = values.setdefault(name, {})
    if not isinstance(section, dict):
        raise ConfigError(f"[{name}] in {config_file()} is not a table", f"Write [{name}]")
    return section
