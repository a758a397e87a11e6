"""Changes the configuration file in place, keeping its comments."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import tomlkit
from tomlkit.items import AoT

from assistant import config
from assistant.cli.help import did_you_mean
from assistant.errors import ConfigError, UsageError
from assistant.model import catalogue
from assistant.settings import tree as settings
from assistant.settings.sections import SERVERS, ServerSettings
from assistant.tools.policy import unknown_tools

Path = tuple[str | int, ...]
"""The keys of a setting; indices of lists start at 0."""
EMPTY = {"heartbeat.notify", "embedding.query_prefix", "embedding.document_prefix"}
"""Settings whose empty value is not their default."""
_OF_SERVER = re.compile(rf"(.+?)\.({'|'.join(ServerSettings.model_fields)})(?:\.(.+))?")


@dataclass(frozen=True, slots=True)
class Changed:
    """The new text of the file, and the changed setting: None for `value` if it was removed.

    `doubts` warn of a model or a tool.
    """

    text: str
    key: str
    value: Any
    doubts: Sequence[str] = ()


def path_of(key: str) -> Path:
    """The path of a setting: `profiles.1.name` is that of the first profile.

    Raises UsageError for an unknown setting.
    """
    key = "model.name" if key == "model" else key
    section, _, rest = key.partition(".")
    number, _, name = rest.partition(".")
    if section in settings.LISTED and not rest:
        return (section,)
    if section in settings.LISTED and number.isdecimal() and int(number):
        own = (name,) if name else ()
        if not name or f"{section}.1.{name}" in settings.names():
            return (section, int(number) - 1, *own)
    elif section == SERVERS and (server := _OF_SERVER.fullmatch(rest)):
        return section, *filter(None, server.groups())
    elif key in settings.names():
        return section, rest
    near = get_close_matches(key, settings.names(), n=1)
    raise UsageError(
        f"there is no setting {key!r}",
        did_you_mean(near) or "`assistant config show` lists the settings",
    )


def value_at(values: Any, path: Path) -> Any:
    """The value at a path; None if it is unset."""
    for key in path:
        try:
            values = values[key]
        except (KeyError, IndexError, TypeError):
            return None
    return values


def changed(key: str, values: Sequence[str]) -> Changed:
    """The file with a setting changed, or removed by no value or an empty one.

    Raises UsageError for an unknown setting or an invalid value, ConfigError for a broken file or a
    model that litellm does not know.
    """
    path, file = path_of(key), config.config_file()
    rest = config.read_file(file)  # raises with the line of a syntax error
    _remove(rest, path)
    document = tomlkit.parse(file.read_text("utf-8") if file.exists() else "")
    unset = not values or (list(values) == [""] and key not in EMPTY)
    if unset:
        _remove(document, path)
    else:
        _put(document, path, values[0] if len(values) == 1 else list(values))
    try:
        valid = settings.validate(document.unwrap(), sources=[config.Layer(str(file), rest)])
    except ConfigError as error:
        cure = error.cure
        if unset and path[0] in settings.LISTED and len(path) == 3:
            cure = f"`assistant config unset {settings.shown_key(path[:-1])}` removes all of it"
        raise UsageError(error.message, cure) from error
    if unset:
        return Changed(tomlkit.dumps(document), settings.shown_key(path), None)
    typed = valid.model_dump(mode="json", exclude_none=True)
    value = value_at(typed, path)
    _put(document, path, value)
    doubts = _doubts(typed, path)
    return Changed(tomlkit.dumps(document), settings.shown_key(path), value, doubts)


def _doubts(values: Any, path: Path) -> list[str]:
    """Warnings of a rule for a tool that does not exist, or of an unlikely model."""
    if path[0] == "policy":
        return unknown_tools({str(path[1]): value_at(values, path)})
    if path == ("profiles",):
        tables = value_at(values, path)
    else:
        is_model = path[0] in ("model", "profiles") and path[-1] == "name"
        tables = [value_at(values, path[:-1])] if is_model else []
    return [
        doubt
        for table in tables
        for doubt in catalogue.doubts(table["name"], table.get("api_base"))
    ]


def _put(document: Any, path: Path, value: Any) -> None:
    """Set a value, creating tables on the way. A new source is named after its folder."""
    section = str(path[0])
    if section not in settings.LISTED:
        table = document
        for key in path[:-1]:
            table = table.setdefault(key, tomlkit.table())
            if not isinstance(table, dict):  # validation names its line
                return
        table[path[-1]] = value
        return
    if len(path) == 1 or not isinstance(document.get(section), AoT):
        document[section] = _tables(value if len(path) == 1 else document.get(section, []))
    if len(path) == 1:
        return
    tables, number = document[section], int(path[1])
    first = "path" if section == "sources" else "name"
    is_new = number == len(tables)
    if number > len(tables) or len(path) < 3 or (is_new and path[2] != first):
        raise UsageError(
            f"{settings.shown_key(path)!r} cannot be set yet",
            f"First `assistant config set {section}.{len(tables) + 1}.{first} VALUE`",
        )
    if is_new:
        tables.append(tomlkit.table())
    if (section, path[2]) == ("sources", "path") and "name" not in tables[number]:
        tables[number]["name"] = re.sub(r"[^A-Za-z0-9]+", "-", str(value)).strip("-").split("-")[-1]
    tables[number][str(path[2])] = value


def _tables(profiles: Any) -> AoT:
    """Profiles, given as tables or only by name, as `[[profiles]]`."""
    tables = tomlkit.aot()
    for profile in profiles.split(",") if isinstance(profiles, str) else profiles:
        table = tomlkit.table()
        table.update({"name": profile.strip()} if isinstance(profile, str) else profile)
        tables.append(table)
    return tables


def _remove(document: Any, path: Path) -> None:
    """Remove a value if it is set."""
    parent, key = value_at(document, path[:-1]), path[-1]
    if isinstance(parent, dict):
        parent.pop(key, None)
    elif isinstance(parent, list) and isinstance(key, int) and key < len(parent):
        del parent[key]
        if not parent:
            del document[path[0]]
