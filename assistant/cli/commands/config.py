"""`config`: show and change settings, and show where each comes from."""

import contextlib
import re
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import tomlkit
import typer
from tomlkit.items import AoT, Array

from assistant import config
from assistant.cli.help import did_you_mean
from assistant.cli.options import AsJson, Globals, answer, argument, at_terminal, note, run_editor
from assistant.cli.palette import echo
from assistant.cli.progress import ProgressLine
from assistant.disk import storage
from assistant.display import as_json as to_json
from assistant.display import counted
from assistant.errors import ConfigError, UsageError, WorkspaceError
from assistant.memory.open import open_model_switch
from assistant.model import catalogue
from assistant.settings import tree as settings
from assistant.settings.sections import SERVERS, EmbeddingSettings, ServerSettings, as_tables
from assistant.tables import value_at
from assistant.tools.mcp_client.servers import hidden
from assistant.tools.policy import unknown_tools
from assistant.upkeep.reach import masked

Keys = tuple[str | int, ...]
"""The path of a setting: its keys; indices of lists start at 0."""
EMPTY = {"heartbeat.notify", "embedding.query_prefix", "embedding.document_prefix"}
"""Settings for which an empty value differs from their default."""
_OF_SERVER = re.compile(rf"(.+?)\.({'|'.join(ServerSettings.model_fields)})(?:\.(.+))?")


KEY = argument(
    "KEY", "Such as `memory.k`; `model` is short for `model.name`.", autocompletion=settings.names
)
Key = Annotated[str, KEY]
FIRST = "# The settings of assistant; `assistant config show` lists them all.\n"


def show(
    context: typer.Context, key: Annotated[str | None, KEY] = None, as_json: AsJson = False
) -> None:
    """Show all settings and where each comes from, or the value of one.

    Examples:
      assistant config show
      assistant config show memory.k
    """
    values = _values(context.obj)
    if key is not None:
        value = value_at(values, path_of(key))
        answer(value)
        if value is None and not as_json:
            raise typer.Exit(1)
        for item in value if isinstance(value, list) else [value]:
            echo(_text(item))
        return
    answer(values)
    layers = config.layers(recipe=context.obj.recipe())
    for path, value in _leaves(values):
        _print(path, value, config.origin_of(path, layers))
    echo(f"The configuration file is {config.config_file()}.", err=True)
    for line in settings.unknown_variables():
        note(line)


def set_(
    context: typer.Context,
    key: Key,
    values: Annotated[
        list[str],
        partial(argument, autocompletion=lambda ctx: settings.choices(ctx.params.get("key", ""))),
    ],
) -> None:
    """Change a setting in the configuration file, keeping its comments.

    Arguments:
      VALUE...: Its value, or the values of a list.

    Examples:
      assistant config set model ollama_chat/qwen3
      assistant config set policy.allow 'shell:git status*' 'shell:ls*'
      assistant config set profiles.1.name openai/gpt-5.6
      assistant config set mcpServers.files.args -- -y some-package
    """
    if key == "embedding.model" and values[0]:
        values = [_embed_first(context.obj, values[0])]
    put(context.obj, key, values)


def _values(options: Globals) -> dict[str, Any]:
    return _without_secrets(options.settings().model_dump(mode="json"))


def _without_secrets(values: dict[str, Any]) -> dict[str, Any]:
    """Return all settings, without the secrets of MCP servers and addresses."""
    values[SERVERS] = {name: hidden(server) for name, server in values[SERVERS].items()}
    values["reach"]["ways"] = [masked(address) for address in values["reach"]["ways"]]
    return values


def put(options: Globals, key: str, values: list[str]) -> None:
    """Change a setting and print it; if it was removed, print the value in force now."""
    path, file = path_of(key), config.config_file()
    value, doubts = save(key, values)
    origin = config.origin_of(path, config.layers(recipe=options.recipe()))
    if value is None:
        _print(path, value_at(_values(options), path), origin)
    else:
        echo(f"{settings.shown_key(path)} = {_text(value)}  ({file})")
    if origin and not origin.startswith(f"{file}:"):
        where = "" if Path(origin).is_absolute() else " is set in this shell, and"
        note(f"{origin}{where} overrides {file}")
    for doubt in doubts:
        note(doubt)


def save(key: str, values: Sequence[str]) -> tuple[Any, list[str]]:
    """Change a setting in the file; return its new value without secrets, and warnings."""
    text, value, doubts = changed(key, values)
    file = config.config_file()
    file.parent.mkdir(parents=True, exist_ok=True)
    storage.replace(file, text.encode())
    return value, doubts


def unset(context: typer.Context, key: Key) -> None:
    """Remove a setting from the configuration file."""
    put(context.obj, key, [])


def edit() -> None:
    """Open the configuration file in your editor, then check it."""
    path = config.config_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        storage.replace(path, FIRST.encode())
    while True:
        run_editor(path)
        try:
            settings.validate(config.read_file(path))
        except ConfigError as error:
            echo(f"assistant: {error}", err=True)
            if at_terminal() and typer.confirm("Edit it again?", default=True, err=True):
                continue
            raise typer.Exit(1) from error
        return


def _leaves(values: Any, path: Keys = ()) -> Iterator[tuple[Keys, Any]]:
    """Yield the settings with their paths, including those in lists of tables."""
    tables = isinstance(values, list) and values and isinstance(values[0], dict)
    if not isinstance(values, dict) and not tables:
        yield path, values
        return
    for key, value in values.items() if isinstance(values, dict) else enumerate(values):
        yield from _leaves(value, (*path, key))


def _print(path: Keys, value: Any, origin: str) -> None:
    """Print a setting's value and where it comes from."""
    line = f"{settings.shown_key(path)} = {'unset' if value is None else _text(value)}"
    if origin:
        echo(line, f"  ({origin})")
    else:
        echo(f"{line}  (default)", faint=True)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else to_json(value)


# The file


def path_of(key: str) -> Keys:
    """Return the path of a setting: `profiles.1.name` is that of the first profile.

    Raises UsageError for an unknown setting.
    """
    key = "model.name" if key == "model" else key
    section, *parts = key.split(".")
    if section == SERVERS and (server := _OF_SERVER.fullmatch(key.partition(".")[2])):
        return section, *filter(None, server.groups())
    lists = [known for name in settings.LISTED for known in (name, f"{name}.1")]
    if re.sub(r"\.0*[1-9][0-9]*\b", ".1", key, count=1) in (*settings.names(), *lists):
        return section, *(int(part) - 1 if part.isdecimal() else part for part in parts)
    near = get_close_matches(key, ["model", *settings.names()], n=1)
    raise UsageError(
        f"there is no setting {key!r}",
        did_you_mean(near) or "`assistant config show` lists the settings",
    )


def changed(key: str, values: Sequence[str]) -> tuple[str, Any, list[str]]:
    """Return the file's text with a setting changed, its new value without secrets, and warnings.

    No value or an empty one removes the setting; its new value is then None. The warnings are about
    a model or a tool. Raises UsageError for an unknown setting or an invalid value, ConfigError for
    a broken file or a model that litellm does not know.
    """
    path, file = path_of(key), config.config_file()
    rest = config.read_file(file)  # raises with the line of a syntax error
    _remove(rest, path)
    before = file.read_bytes().decode() if file.exists() else ""
    document = tomlkit.parse(before.removeprefix(config.BYTE_ORDER_MARK))
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
        return _dumped(document, before), None, []
    typed = valid.model_dump(mode="json", exclude_none=True)
    value = value_at(typed, path)
    _put(document, path, value)
    doubts = _warnings(typed, path)
    return _dumped(document, before), value_at(_without_secrets(typed), path), doubts


def _dumped(document: Any, before: str) -> str:
    """Return the text of a file that was `before`, with its byte-order mark and line endings."""
    mark = before[: before.startswith(config.BYTE_ORDER_MARK)]
    text = tomlkit.dumps(document)
    return mark + (re.sub("\r?\n", "\r\n", text) if "\r\n" in before else text)


def _warnings(values: Any, path: Keys) -> list[str]:
    """Return warnings about a rule for a tool that does not exist, or about an unlikely model."""
    if path[0] == "policy":
        return unknown_tools({f"policy.{path[1]}": value_at(values, path)})
    if path == ("profiles",):
        tables = value_at(values, path)
    else:
        is_model = path[0] in ("model", "profiles") and path[-1] == "name"
        tables = [value_at(values, path[:-1])] if is_model else []
    doubts = (catalogue.doubts(table["name"], table.get("api_base")) for table in tables)
    return list(dict.fromkeys(chain.from_iterable(doubts)))


def _put(document: Any, path: Keys, value: Any) -> None:
    """Set a value, creating the tables above it. A new source is named after its folder."""
    section = str(path[0])
    if section not in settings.LISTED:
        table = document
        for key in path[:-1]:
            table = table.setdefault(key, tomlkit.table())
            if not isinstance(table, dict):  # validation reports its line
                return
        _assign(table, str(path[-1]), value)
        return
    if len(path) == 1 or not isinstance(document.get(section), AoT):
        tables = value if len(path) == 1 else document.get(section, [])
        with contextlib.suppress(ValueError):  # validation reports the fault
            tables = as_tables(tables)
        document[section] = tables or tomlkit.aot()
    if len(path) == 1:
        return
    tables, number = document[section], int(path[1])
    fields = settings.LISTED[section].model_fields
    required = [name for name, field in fields.items() if field.is_required()]
    first = "path" if section == "sources" else required[0]
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
    _assign(tables[number], str(path[2]), value)


def _assign(table: Any, key: str, value: Any) -> None:
    """Set a value; of a list change only the items that differ, so that its comments stay."""
    existing = table.get(key)
    if isinstance(existing, Array) and isinstance(value, list):
        for item in [item for item in existing if item not in value]:
            existing.remove(item)
        for item in [item for item in value if item not in existing]:
            existing.append(item)
    if existing != value:
        table[key] = value


def _remove(document: Any, path: Keys) -> None:
    """Remove a value if it is set."""
    parent, key = value_at(document, path[:-1]), path[-1]
    if isinstance(parent, dict):
        parent.pop(key, None)
    elif isinstance(parent, list) and isinstance(key, int) and key < len(parent):
        del parent[key]
        if not parent:
            del document[path[0]]


# The embedding model


def _embed_first(options: Globals, name: str) -> str:
    """Embed the workspace's texts with a model, so that no recall has to wait; return its name.

    Raises EmbedderError if the model cannot be used. An interrupted run is continued next time.
    """
    folder = storage.expanded(name)
    name = str(folder.resolve()) if folder.exists() else name
    own = EmbeddingSettings.model_validate(
        {**options.settings().embedding.model_dump(), "model": name}
    )
    with contextlib.suppress(WorkspaceError), ProgressLine() as progress:
        switch = open_model_switch(options.workspace(), own, progress)
        plan = switch.plan()
        texts = f"{counted(plan.texts, 'text')} of {plan.total:,} to embed"
        minutes, seconds = plan.seconds / 60, max(1, round(plan.seconds))
        time = f"{minutes:.0f} min" if minutes >= 1.5 else f"{seconds} s"
        cost = f"about {time} here, {plan.bytes / 1e6:.1f} MB"
        echo(f"{name} has {texts}: {cost}")
        switch.embed(progress)
    return name
