"""`config`: settings shown and changed, with where each comes from."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from assistant import config
from assistant.cli.config_file import changed, path_of, value_at
from assistant.cli.options import AsJson, Globals, answer, argument, at_terminal, note, run_editor
from assistant.cli.progress import ProgressLine
from assistant.disk import storage
from assistant.display import as_json as to_json
from assistant.display import counted, spelled
from assistant.errors import ConfigError, WorkspaceError
from assistant.memory.open import open_model_switch
from assistant.settings import tree as settings
from assistant.settings.sections import SERVERS, EmbeddingSettings
from assistant.tools.mcp_client.servers import hidden


def _names(incomplete: str) -> list[str]:
    return [name for name in settings.names() if name.startswith(incomplete)]


KEY = argument(
    "KEY", "Such as `memory.k`; `model` is short for `model.name`.", autocompletion=_names
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
            typer.echo(spelled(_text(item)))
        return
    answer(values)
    layers = config.layers(recipe=context.obj.recipe())
    for path, value in _leaves(values):
        typer.echo(_with_origin(settings.shown_key(path), value, config.origin_of(path, layers)))
    typer.echo(f"The configuration file is {config.config_file()}.", err=True)
    for line in settings.unknown_variables():
        note(line)


def set_(
    context: typer.Context,
    key: Key,
    values: Annotated[list[str], argument("VALUE...", "Its value, or the values of a list.")],
) -> None:
    """Change a setting in the configuration file, keeping its comments.

    Examples:
      assistant config set model ollama_chat/qwen3
      assistant config set policy.allow 'shell:git status*' 'shell:ls*'
      assistant config set profiles.1.name openai/gpt-5.6
    """
    if key == "embedding.model" and values[0]:
        values = [_embedded_ahead(context.obj, values[0])]
    put(context.obj, key, values)


def _values(options: Globals) -> dict[str, Any]:
    """All settings, without the secrets of MCP servers."""
    values = options.settings().model_dump(mode="json")
    values[SERVERS] = {name: hidden(server) for name, server in values[SERVERS].items()}
    return values


def put(options: Globals, key: str, values: list[str]) -> None:
    """Change a setting, and print it; if it is removed, print the value that holds now."""
    change, file = changed(key, values), config.config_file()
    file.parent.mkdir(parents=True, exist_ok=True)
    storage.replace(file, change.text.encode())
    origin = config.origin_of(path_of(key), config.layers(recipe=options.recipe()))
    if change.value is None:
        now = value_at(_values(options), path_of(key))
        typer.echo(_with_origin(change.key, now, origin))
    else:
        typer.echo(f"{change.key} = {_text(change.value)}  ({file})")
    if origin and not origin.startswith(f"{file}:"):
        where = "" if Path(origin).is_absolute() else " is set in this shell, and"
        note(f"{origin}{where} overrides {file}")
    for doubt in change.doubts:
        note(doubt)


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
            typer.echo(f"assistant: {spelled(str(error))}", err=True)
            if at_terminal() and typer.confirm("Edit it again?", default=True, err=True):
                continue
            raise typer.Exit(1) from error
        return


def _leaves(values: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[Any, Any]]:
    """The settings with their paths, those in lists of tables included."""
    tables = isinstance(values, list) and values and isinstance(values[0], dict)
    if not isinstance(values, dict) and not tables:
        yield path, values
        return
    for key, value in values.items() if isinstance(values, dict) else enumerate(values):
        yield from _leaves(value, (*path, key))


def _with_origin(key: str, value: Any, origin: str) -> str:
    """A setting's value and where it comes from."""
    line = f"{key} = {'unset' if value is None else _text(value)}"
    if not origin:
        return typer.style(f"{line}  (default)", dim=True)
    return f"{line}  {typer.style(f'({spelled(origin)})', dim=True)}"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else to_json(value)


# The embedding model


def _embedded_ahead(options: Globals, name: str) -> str:
    """The model's name, once the workspace's texts are embedded, so that no recall waits for that.

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
        cost = f"about {_time(plan.seconds)} here, {plan.bytes / 1e6:.1f} MB"
        typer.echo(f"{spelled(name)} has {texts}: {cost}")
        switch.embed(progress)
    return name


def _time(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{max(1, round(seconds))} s"
