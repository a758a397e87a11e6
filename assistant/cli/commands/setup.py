"""`init`, `trust`, `secrets`, `daemon` and `completion`."""

import contextlib
import shlex
import sys
from functools import partial
from itertools import count
from pathlib import Path
from typing import Annotated, Literal

import typer

from assistant.cli import COMPLETES
from assistant.cli.options import (
    AsJson,
    Globals,
    Yes,
    answer,
    argument,
    note,
    option,
    own_command,
)
from assistant.cli.palette import echo
from assistant.cli.questions import must_confirm
from assistant.disk import storage
from assistant.display import counted
from assistant.errors import UsageError, WorkspaceError
from assistant.secrets import registered
from assistant.secrets.stand_ins import stand_in_of
from assistant.workspace import folder, template, trust
from assistant.workspace.folder import path_of


def init(
    context: typer.Context,
    directory: Annotated[Path | None, partial(argument, parser=path_of)] = None,
    archive: Annotated[Path | None, partial(option, parser=path_of)] = None,
    git: bool = False,
    as_json: AsJson = False,
) -> None:
    """Create a workspace, or add missing files to one.

    Arguments:
      [DIR]: Its folder, if not the default one.
      --from ARCHIVE: Restore an archive of `assistant export`.
      --git: Keep it in git, which then merges memory fact by fact.

    Examples:
      assistant init
      assistant init ~/notes/mind --git
      assistant init ~/notes/mind --from mind.zip
    """
    from assistant.importing.archive import restore  # both slow to import
    from assistant.importing.folders import at_home

    root = (directory or context.obj.directory or folder.default_root()).absolute()
    was_trusted = trust.is_trusted(folder.Workspace(root.resolve()))
    restored = restore(archive, root) if archive else []
    created = make(root)
    git_lines = template.set_up_git(folder.find(root), Path(own_command())) if git else []
    result = {"workspace": str(root), "added": created.added, "kept": created.kept}
    answer({**result, "restored": restored, "git": git_lines})
    if archive is None:
        show_created(created)
    else:
        echo(f"Restored {counted(len(restored), 'file')} from {archive}.")
    for line in git_lines:
        echo(line)
    command = folder.command_for(root)
    echo(f"The workspace is {root}; edit its files in any editor.")
    if created.kept and not was_trusted:
        echo("It is trusted from now on: its files guide the model.")
    echo(f"Next: `{command}` opens the chat, `{command} doctor` checks the setup.")
    for maker, path in at_home().items():
        own = shlex.quote(str(path))
        echo(f"{maker} keeps a memory on this machine: `{command} import {own}` imports it.")


def make(root: Path) -> template.Created:
    """Create a trusted workspace, which counts as new unless it had files."""
    created = template.create(root)
    trust.grant(created.workspace)
    if not created.kept:
        created.workspace.new.touch()
    return created


def show_created(created: template.Created) -> None:
    """Print which files of a new workspace were added or kept."""
    for name in created.added:
        echo(f"added {name}")
    for name in created.kept:
        echo(f"kept  {name}")


def trust_(context: typer.Context) -> None:
    """Allow a workspace's files into prompts."""
    workspace = context.obj.workspace()
    new = trust.grant(workspace)
    echo(f"{workspace.root} is trusted" if new else f"{workspace.root} was already trusted")


def secrets(
    context: typer.Context,
    action: Literal["show", "add", "remove"] = "show",
    name: str | None = None,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Register values that must never be sent or stored.

    `show` lists their names, or prints the value of one. `add` asks for the value, or reads it from
    a pipe; a value that it replaces stays registered as NAME_1.

    Arguments:
      [show|add|remove]: What to do.
      [NAME]: Such as `home_key`.

    Examples:
      assistant secrets add home_key
      pass wifi | assistant secrets add wifi
      assistant secrets show home_key
      assistant secrets remove home_key
    """
    if action == "show":
        return _show_secrets(name)
    if name is None:
        raise UsageError("no secret given", f"`assistant secrets {action} NAME`")
    is_known = name in registered.names()
    if action == "remove":
        if is_known:
            _tell_use(context.obj, name)
            must_confirm(f"Delete {name} and its value for good?", yes=yes)
        registered.remove(name)
        echo(f"{name} is no longer registered")
        return
    if sys.stdin.isatty():
        value = typer.prompt("Value", hide_input=True, err=True)
    else:
        value = sys.stdin.read().strip()
    old = value
    with contextlib.suppress(registered.SecretLost):
        old = registered.value(name) if is_known else value
    if old != value:
        registered.check(name, value)
        _tell_use(context.obj, name)
        must_confirm(f"Replace the value of {name}?", yes=yes)
        known = registered.names()
        kept = next(new for number in count(1) if (new := f"{name}_{number}") not in known)
        registered.add(kept, old)
        echo(f"The old value of {name} is now {kept}, and stays redacted.")
    store = registered.add(name, value)
    echo(f"{name} is registered; its value is in {store}")


def _tell_use(options: Globals, name: str) -> None:
    """Say how many lines of memory contain a secret's stand-in, if there is a workspace."""
    with contextlib.suppress(WorkspaceError):
        workspace, stand_in = options.workspace(), stand_in_of(name)
        texts = (storage.read(workspace.root / source) for source in workspace.sources())
        lines = sum(stand_in.encode() in line for text in texts for line in text.splitlines())
        note(f"{stand_in} is in {counted(lines, 'line')} of {workspace.root}")


def _show_secrets(name: str | None) -> None:
    """Print the names of all secrets, or the value of one."""
    if name is not None:
        value = registered.value(name)
        answer(value)
        return typer.echo(value)
    names = registered.names()
    answer(names)
    if not names:
        echo("No secrets yet. `assistant secrets add NAME` registers one.", err=True)
    for registered_name in names:
        echo(registered_name)


def stop(context: typer.Context) -> None:
    """Stop the memory daemon; the next command starts it again."""
    from assistant.cli import resident
    from assistant.memory.daemon import lifecycle

    if resident.stop():
        echo("stopped the resident process of `ask`", err=True)
    stopped = lifecycle.stop(context.obj.workspace(), lambda line: echo(line, err=True))
    echo("stopped" if stopped else "not running")


Shell = Literal["bash", "zsh", "fish"]


def completion(shell: Shell) -> None:
    """Print the script that completes commands in your shell.

    Arguments:
      SHELL: bash, zsh or fish.

    Examples:
      assistant completion bash >> ~/.bashrc
      assistant completion zsh > ~/.zfunc/_assistant
      assistant completion fish > ~/.config/fish/completions/assistant.fish
    """
    from typer.completion import get_completion_script

    typer.echo(get_completion_script(prog_name="assistant", complete_var=COMPLETES, shell=shell))
