"""`memory status`, `log`, `undo` and `rebuild`: how memory stands, and what was written to it."""

from dataclasses import asdict
from typing import Annotated

import typer

from assistant.cli.help import commands
from assistant.cli.memory.sentences import reading_cost, sentences
from assistant.cli.memory.shown import one_line
from assistant.cli.options import AsJson, print_json
from assistant.display import counted, local_time, spelled
from assistant.memory.state import ServerStatus

memory_commands = commands("Look after memory itself.")


def register(cli: typer.Typer) -> None:
    """Add the group to the tree."""
    cli.add_typer(memory_commands, name="memory")


@memory_commands.command()
def status(context: typer.Context, as_json: AsJson = False) -> None:
    """Show what is indexed, by which model, and who owns the index."""
    with context.obj.memory() as memory:
        state = memory.status()
    if as_json:
        print_json(asdict(state))
        return
    typer.echo(
        f"{counted(state.chunks, 'chunk')}, {state.index_bytes / 1e6:.1f} MB, {state.embedder}"
    )
    for source in state.sources:
        held = f"{counted(source.chunks, 'chunk')}, indexed {local_time(source.indexed_at)}"
        typer.echo(f"  {spelled(source.source)}  {held}")
    for notes in state.notes:
        left = f", {notes.left:,} still to come" if notes.left else ""
        held = f"{counted(notes.notes, 'note')}, {counted(notes.chunks, 'chunk')}{left}"
        typer.echo(f"  {notes.name}: {spelled(notes.path)}  {held}")
    typer.echo(f"{counted(state.embedded_total, 'text')} embedded since the index was made")
    if waiting := state.waiting_for_review:
        wait = counted(waiting, "fact waits", "facts wait")
        typer.echo(f"{wait} for `assistant memory review`")
    if cost := reading_cost(context.obj.place()):
        typer.echo(cost)
    if state.daemon:
        rss = state.daemon.rss_bytes / 1e6
        typer.echo(f"daemon: process {state.daemon.pid}, {rss:.0f} MB")
    if state.server:
        typer.echo(f"Chroma server: {state.server.url}, {_lacking(state.server)}")
    for notice in state.notices:
        typer.echo(f"note: {spelled(notice)}")


def _lacking(server: ServerStatus) -> str:
    lacks = f"lacks {counted(server.lacks, 'vector')}" if server.lacks else "lacks nothing"
    return f"not asked at present, {lacks} as far as is known" if server.trouble else lacks


@memory_commands.command()
def log(
    context: typer.Context,
    limit: Annotated[
        int, typer.Option("-n", metavar="N", min=1, help="How many of the latest writes.")
    ] = 20,
    as_json: AsJson = False,
) -> None:
    """Show the latest writes to memory, newest first, with what they were taken from."""
    place = context.obj.place()
    with context.obj.memory() as memory:
        entries = memory.log(limit)
    if as_json:
        print_json([asdict(entry) for entry in entries])
        return
    for entry in entries:
        undone = " (undone)" if entry.undone else ""
        kept = f"{local_time(entry.time)}  {entry.action:<9} {entry.source}  {one_line(entry.text)}"
        typer.echo(spelled(f"{kept}  [{entry.origin.kind}]{undone}"))
        for said in sentences(place, entry.origin) if entry.text else ():
            typer.echo(typer.style(f"    {spelled(said)}", dim=True))


@memory_commands.command()
def undo(context: typer.Context, as_json: AsJson = False) -> None:
    """Reverse the latest write to memory."""
    with context.obj.memory() as memory:
        entry = memory.undo()
    if as_json:
        print_json(asdict(entry))
    else:
        for said in entry.text.split("\n"):
            typer.echo(f"Undone: {entry.action} {entry.source}  {one_line(said)}")


@memory_commands.command()
def check(context: typer.Context, as_json: AsJson = False) -> None:
    """Look for damage to the journal, the index and the files, and mend what can be mended."""
    with context.obj.memory() as memory:
        found = memory.check()
    if as_json:
        print_json([asdict(each) for each in found])
    for each in () if as_json else found:
        typer.echo(spelled(f"{'mended' if each.mended else 'left'}: {each.what}"))
    if not found and not as_json:
        typer.echo("Nothing is wrong.")
    if not all(each.mended for each in found):
        raise typer.Exit(1)


@memory_commands.command()
def rebuild(context: typer.Context, as_json: AsJson = False) -> None:
    """Make the derived index again; vectors that are cached are not embedded again."""
    with context.obj.memory() as memory:
        state = memory.rebuild()
    if as_json:
        print_json(asdict(state))
    else:
        typer.echo(f"Rebuilt: {counted(state.chunks, 'chunk')}")
