"""`memory`: how memory stands."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assistant.cli.help import commands
from assistant.cli.options import AsJson, at_terminal, confirmed, print_json
from assistant.cli.progress import ProgressLine
from assistant.cli.shown import one_line
from assistant.disk import storage
from assistant.display import counted, local_time, spelled
from assistant.errors import SessionError, UsageError
from assistant.memory.base import Origin
from assistant.memory.state import ServerCollection, ServerStatus
from assistant.workspace.folder import Workspace

if TYPE_CHECKING:
    from assistant.memory.text.merge import CopyMerge


memory_commands = commands("Look after memory itself.")


def register(cli: typer.Typer) -> None:
    """Add the commands to the tree."""
    for command in (status, log, undo, check, rebuild, capture, merge, model, collections):
        memory_commands.command()(command)
    memory_commands.command("merge-driver")(merge_driver)
    cli.add_typer(memory_commands, name="memory")


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


def undo(context: typer.Context, as_json: AsJson = False) -> None:
    """Reverse the latest write to memory."""
    with context.obj.memory() as memory:
        entry = memory.undo()
    if as_json:
        print_json(asdict(entry))
    else:
        for said in entry.text.split("\n"):
            typer.echo(f"Undone: {entry.action} {entry.source}  {one_line(said)}")


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


def rebuild(context: typer.Context, as_json: AsJson = False) -> None:
    """Make the derived index again; vectors that are cached are not embedded again."""
    with context.obj.memory() as memory:
        state = memory.rebuild()
    if as_json:
        print_json(asdict(state))
    else:
        typer.echo(f"Rebuilt: {counted(state.chunks, 'chunk')}")


def capture(
    context: typer.Context,
    wait: Annotated[
        bool, typer.Option("--wait", help="Stay until every open session has ended, too.")
    ] = False,
) -> None:
    """Take lasting facts out of chats that have ended; it happens by itself as well."""
    from assistant.agent.capture import ended

    read = 0
    for each in ended.read_ended(context.obj.place(), wait=wait):
        read += 1
        typer.echo(f"{each.session}: {counted(len(each.stored), 'fact')}" + _left(each.waiting))
        for fact in each.stored:
            typer.echo(f"  {spelled(fact)}")
        if each.failed:
            typer.echo(f"  not all of it could be read: {spelled(each.failed)}")
    if not read and not wait:
        typer.echo("No chat that has ended is unread.")


def _left(waiting: int) -> str:
    return f", {counted(waiting, 'waits', 'wait')} for `assistant memory review`" if waiting else ""


def merge(
    context: typer.Context,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: AsJson = False,
) -> None:
    """Take in the facts of the copies that Syncthing, Dropbox and others leave of a file.

    What the copies have more is shown as a diff first. They go to .assistant/merged, and `memory
    undo` takes the facts out again.
    """
    from assistant.memory import door

    copies = door.copies(context.obj.place())
    planned = copies.plan()
    if as_json:
        print_json([asdict(each) for each in planned])
    elif not planned:
        typer.echo("No program that syncs has left a copy.")
    else:
        for each in planned:
            _show_merge(each)
    sound = [each for each in planned if not each.fault]
    if sound and (yes or not as_json):
        if not yes and not sys.stdin.isatty():
            typer.echo("Nothing was written. `assistant memory merge --yes` takes it in.")
            return
        if not confirmed("Take this in?", yes=yes, cure="Run it again with --yes"):
            raise typer.Exit(1)
        copies.take_in(planned)
        if not as_json:
            said = counted(len(sound), "copy", "copies")
            typer.echo(f"{said} taken in. `assistant memory undo` takes it back.")
    if len(sound) < len(planned):
        raise typer.Exit(1)


def merge_driver(
    base: Annotated[Path, typer.Argument(help="What both sides came of (%O).")],
    ours: Annotated[Path, typer.Argument(help="Ours, which gets the result (%A).")],
    theirs: Annotated[Path, typer.Argument(help="Theirs (%B).")],
    name: Annotated[str, typer.Argument(help="The file's name (%P).")] = "",
) -> None:
    """Unite two versions of a memory file, for git: `init --git` sets it up."""
    from assistant.memory.text.merge import marked_line, united

    texts = []
    for path in (base, ours, theirs):
        try:
            texts.append(path.read_bytes().decode("utf-8"))
        except UnicodeDecodeError:
            raise typer.Exit(_by_git(ours, base, theirs)) from None
        except OSError as error:
            raise UsageError(f"{path} cannot be read: {error.strerror}", "git names it") from error
    for text in texts:
        if line := marked_line(text):
            raise UsageError(
                f"{name or ours} holds the marks of an unfinished merge, in line {line}",
                "Finish that one first: keep the right lines, remove the marks, and commit",
            )
    done = united(*texts)
    ours.write_bytes(done.text.encode())
    if done.conflicts:
        typer.echo(f"{name}: both sides changed the same prose; the facts are united.", err=True)
        raise typer.Exit(1)


def _by_git(ours: Path, base: Path, theirs: Path) -> int:
    """Leave a file that is no text to git's own merge."""
    import subprocess  # for such files alone

    return subprocess.run(["git", "merge-file", ours, base, theirs], check=False).returncode


def _show_merge(planned: "CopyMerge") -> None:
    if planned.fault:
        typer.echo(f"not taken: {spelled(planned.copy)}: {spelled(planned.fault)}", err=True)
        return
    typer.echo(typer.style(spelled(planned.copy), bold=True))
    for line in _diff(planned):
        colour = {"-": "red", "+": "green"}.get(line[:1])
        typer.echo(typer.style(spelled(line), fg=colour))
    for text in planned.doubtful:
        typer.echo(f"  comes back: {spelled(text)}")
    if planned.doubtful:
        typer.echo(
            "  (written on this machine, gone from the file: nobody knows whether you deleted"
            " it. `assistant forget` keeps a fact out)"
        )
    for text in planned.left:
        typer.echo(f"  not taken, since it is no fact: {spelled(text.strip())}")


def _diff(planned: "CopyMerge") -> Iterator[str]:
    import difflib  # where copies were found alone

    before, after = planned.before.splitlines(), planned.after.splitlines()
    yield from list(difflib.unified_diff(before, after, lineterm="", n=1))[2:] or [
        "  (nothing that is not there already)"
    ]


KEY = "embedding.model"


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
    from assistant.cli.commands.config import cost, embedding_by
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
    from assistant.cli.config_file import changed  # pydantic: not for clients

    storage.replace(config.config_file(), changed(KEY, [wanted]).text.encode())
    if not as_json:
        typer.echo("From the next question on memory is asked by it")


OWNERS = {
    "this": "this memory's",
    "theirs": "that workspace's",
    "nobody": "nobody's",
    "unknown": "made elsewhere",
}


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
        _show_collections(removed)
    else:
        _show_collections(found)


def _show_collections(found: Sequence[ServerCollection]) -> None:
    for each in found:
        place = each.workspace or "an unnamed workspace"
        held = f"{counted(each.vectors, 'vector')}, {OWNERS[each.owner]}"
        typer.echo(f"{each.name}  {spelled(place)}  {held}")


# What a session was read for

SHOWN = 200
"""Characters of an entry that a fact comes from."""


def sentences(place: Workspace, origin: Origin) -> Iterator[str]:
    """The entries that a fact cites, each as one line; none if the session is gone."""
    from assistant.session import entries, transcript  # not on the client's path

    if not origin.session:
        return
    try:
        session = transcript.read(place.sessions, origin.session)
    except SessionError:
        return
    for entry in session:
        match entry:
            case entries.ToolResultEntry(tool=tool, content=text):
                who = f"result of {tool}"
            case entries.UserEntry(text=text):
                who = "you"
            case entries.AssistantEntry(text=text):
                who = "assistant"
            case _:
                continue
        if entry.id in origin.entries:
            yield f"{entry.id} {one_line(f'{who}: {text}', SHOWN)}"


def reading_cost(place: Workspace) -> str:
    """What reading ended chats for facts has cost this month; "" if nothing."""
    from assistant.agent.capture import ended

    tokens = ended.spent(place)
    return f"{counted(tokens, 'token')} this month for reading chats that ended" if tokens else ""
