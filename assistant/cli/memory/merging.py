"""`memory merge` and `memory merge-driver`: what another machine wrote, united with what this one
did."""

import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assistant.cli.memory.state import memory_commands
from assistant.cli.options import AsJson, confirmed, print_json
from assistant.display import counted, spelled
from assistant.errors import UsageError

if TYPE_CHECKING:
    from assistant.memory.text.merge import CopyMerge


def register(_: typer.Typer) -> None:
    """Add these to the memory commands."""
    memory_commands.command()(merge)
    memory_commands.command("merge-driver")(merge_driver)


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
            _show(each)
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


def _show(planned: "CopyMerge") -> None:
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
