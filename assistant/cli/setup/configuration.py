"""`config`: settings shown and changed."""

from typing import Annotated, Any

import typer

from assistant import config, storage
from assistant.cli.options import AsJson, print_json
from assistant.errors import UsageError

config_commands = typer.Typer(
    help="Show and change settings.", rich_markup_mode=None, no_args_is_help=True
)


def register(cli: typer.Typer) -> None:
    """Add the group to the tree."""
    cli.add_typer(config_commands, name="config")


@config_commands.command("show")
def config_show(as_json: AsJson = False) -> None:
    """Show every setting in force and where it comes from."""
    from assistant import settings

    raw = config.load()
    values = settings.validate(raw).model_dump(mode="json")
    if as_json:
        print_json(values)
        return
    typer.echo(typer.style(f"# {config.config_file()}", dim=True))
    for section, entries in values.items():
        if not isinstance(entries, dict):
            typer.echo(f"{section} = {entries}")
            continue
        for key, value in entries.items():
            given = key in raw.get(section, {})
            shown = "unset" if value is None else value
            line = f"{section}.{key} = {shown}"
            typer.echo(line if given else typer.style(f"{line}  (default)", dim=True))


@config_commands.command("set")
def config_set(
    key: Annotated[str, typer.Argument(help="Such as `model.name`; `model` is short for it.")],
    value: Annotated[str, typer.Argument(help="The value; an empty one removes the setting.")],
) -> None:
    """Change a setting in the configuration file, keeping its comments."""
    import tomlkit

    from assistant import settings

    section, _, name = ("model.name" if key == "model" else key).partition(".")
    if not name:
        raise UsageError(f"{key!r} names a section", f"Write {key}.SETTING, see `config show`")
    path = config.config_file()
    document = tomlkit.parse(path.read_text(encoding="utf-8") if path.exists() else "")
    table = document.setdefault(section, tomlkit.table())
    if value:
        table[name] = _literal(value)
    else:
        table.pop(name, None)
    settings.validate(document.unwrap())
    path.parent.mkdir(parents=True, exist_ok=True)
    storage.replace(path, tomlkit.dumps(document).encode())
    typer.echo(f"{section}.{name} = {value or 'unset'}  ({path})")


def _literal(text: str) -> Any:
    """The TOML value that `text` writes, or `text` itself: `8`, `true`, `["a"]`, `any words`."""
    import tomllib

    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
