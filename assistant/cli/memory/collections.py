"""`memory collections`: what lies on a Chroma server, and the removal of what nobody needs."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

import typer

from assistant.cli.memory.state import memory_commands
from assistant.cli.options import AsJson, print_json
from assistant.display import counted, spelled
from assistant.memory.state import ServerCollection

OWNERS = {
    "this": "this memory's",
    "theirs": "that workspace's",
    "nobody": "nobody's",
    "unknown": "made elsewhere",
}


def register(_: typer.Typer) -> None:
    """Add it to the memory commands."""
    memory_commands.command()(collections)


def collections(
    context: typer.Context,
    remove: Annotated[
        list[str] | None, typer.Option("--remove", metavar="NAME", help="Remove this one.")
    ] = None,
    remove_unowned: Annotated[
        bool,
        typer.Option("--remove-unowned", help="Remove those whose workspace or model is gone."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List what lies on the Chroma server for any workspace, and remove what nobody owns."""
    with context.obj.memory() as memory:
        found = memory.collections()
        unowned = [each.name for each in found if remove_unowned and each.owner == "nobody"]
        named = list(dict.fromkeys([*(remove or ()), *unowned]))
        removed = memory.remove_collections(named) if named else ()
    shown = removed if remove or remove_unowned else found
    if as_json:
        print_json([asdict(each) for each in shown])
    elif remove or remove_unowned:
        typer.echo(f"Removed: {counted(len(removed), 'collection')}")
        _show(removed)
    else:
        _show(found)


def _show(found: Sequence[ServerCollection]) -> None:
    for each in found:
        place = each.workspace or "an unnamed workspace"
        held = f"{counted(each.vectors, 'vector')}, {OWNERS[each.owner]}"
        typer.echo(f"{each.name}  {spelled(place)}  {held}")
