"""`memory model`: go over to another embedding model, while recall goes on by the one there is."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from assistant.cli.memory.state import memory_commands
from assistant.cli.options import AsJson, at_terminal, print_json
from assistant.cli.progress import ProgressLine
from assistant.disk import storage

KEY = "embedding.model"


def register(_: typer.Typer) -> None:
    """Add it to the memory commands."""
    memory_commands.command("model")(model)


def model(
    context: typer.Context,
    name: Annotated[
        str, typer.Argument(metavar="DIR", help="The folder of a sentence-transformers model.")
    ],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Go over to it without asking.")] = False,
    as_json: AsJson = False,
) -> None:
    """Say what another embedding model costs, then embed by it and use it from then on."""
    from assistant import config
    from assistant.cli.setup.going_over import cost, embedding_by
    from assistant.memory.opening import open_ahead

    place = context.obj.place()
    wanted = str(Path(name).expanduser().resolve()) if Path(name).expanduser().exists() else name
    with ProgressLine() as progress:
        ahead = open_ahead(place, embedding_by(wanted), progress)
        plan = ahead.plan()
    if as_json:
        print_json(asdict(plan))
    else:
        typer.echo(cost(wanted, plan.texts, plan.total, plan.seconds, plan.bytes))
    asks = at_terminal() and not as_json
    if not yes and not (asks and typer.confirm("Go over to it?")):
        if not as_json:
            typer.echo("Nothing is changed" if asks else "Nothing is changed; `--yes` goes over")
        return
    with ProgressLine() as progress:
        ahead.make(progress)
    from assistant.cli.setup import changing  # pydantic: not for clients

    storage.replace(config.config_file(), changing.changed(KEY, [wanted]).text.encode())
    if not as_json:
        typer.echo("From the next question on memory is asked by it")
