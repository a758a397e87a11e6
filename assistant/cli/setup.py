"""`init`, `config`, `daemon` and `doctor`: what is done once, or when something is wrong."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from assistant import config, storage, trust, workspace
from assistant.cli.options import AsJson, print_json
from assistant.errors import AssistantError, UsageError

config_commands = typer.Typer(
    help="Show and change settings.", rich_markup_mode=None, no_args_is_help=True
)
daemon_commands = typer.Typer(
    help="Look after the memory daemon.", rich_markup_mode=None, no_args_is_help=True
)


def register_init(cli: typer.Typer) -> None:
    """Add `init`, the first command of the tree."""
    cli.command()(init)


def register(cli: typer.Typer) -> None:
    """Add the commands of set-up to the tree."""
    cli.add_typer(config_commands, name="config")
    cli.add_typer(daemon_commands, name="daemon")
    cli.command("trust")(trust_workspace)
    cli.command()(doctor)


def init(
    context: typer.Context,
    directory: Annotated[
        Path | None, typer.Argument(help="Where; else the default workspace.")
    ] = None,
) -> None:
    """Create a workspace; what is there already stays."""
    root = directory or context.obj.directory or workspace.default_root()
    created = workspace.create(root)
    for name in created.added:
        typer.echo(f"added {name}")
    for name in created.kept:
        typer.echo(f"kept  {name}")
    trust.grant(created.workspace)
    typer.echo(f"The workspace is at {root}. Edit SOUL.md and USER.md to make it yours.")


def trust_workspace(context: typer.Context) -> None:
    """Let a workspace's files enter prompts."""
    place = context.obj.place()
    new = trust.grant(place)
    typer.echo(f"{place.root} is trusted" if new else f"{place.root} was trusted already")


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


@daemon_commands.command("start")
def daemon_start(context: typer.Context) -> None:
    """Start the memory daemon, if it is not running."""
    with context.obj.memory() as memory:
        state = memory.status().daemon
    typer.echo(f"running: process {state.pid}" if state else "running in this process")


@daemon_commands.command("stop")
def daemon_stop(context: typer.Context) -> None:
    """Stop the memory daemon; the next command starts another."""
    from assistant.memory.daemon import owner

    stopped = owner.ask_to_yield(context.obj.place())
    typer.echo("stopped" if stopped else "not running")


@daemon_commands.command("status")
def daemon_status(context: typer.Context, as_json: AsJson = False) -> None:
    """Show whether a memory daemon runs for this workspace; starts none."""
    from assistant.memory.daemon import client

    state = client.daemon_status(context.obj.place())
    if as_json:
        print_json(asdict(state) if state else None)
    elif state is None:
        typer.echo("not running")
    else:
        rss = state.rss_bytes / 1e6
        typer.echo(f"running: process {state.pid}, {rss:.0f} MB, {state.uptime_s:.0f} s")


def doctor(context: typer.Context) -> None:
    """Check every part; each fault comes with its cure."""
    from assistant.cli import doctor as checks

    healthy = True
    for name, check in checks.CHECKS.items():
        try:
            typer.echo(f"✓ {name}: {check(context.obj)}")
        except AssistantError as error:
            healthy = False
            typer.echo(f"✗ {name}: {error}")
    if not healthy:
        raise typer.Exit(1)
