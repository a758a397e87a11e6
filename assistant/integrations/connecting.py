"""Connects other programs to this memory by changing their files, undoes that, and checks it.

`connections/NAME/` in the state directory keeps the original of each file, and the version before
the latest change. If nothing else has changed since, undoing restores the original byte for byte;
otherwise only our entries are removed, and others' entries that they replaced are restored.
"""

import difflib
import json
import os
import shlex
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assistant import config
from assistant.disk import programs, storage
from assistant.errors import ConfigError, StorageError
from assistant.integrations.edits import Entry, changed, command_of
from assistant.integrations.programs import PROGRAMS, File, Launch, Program
from assistant.tables import table_of

HELLO: str = table_of(__file__)["hello"]


@dataclass(frozen=True, slots=True)
class Change:
    """A change to a file; None stands for a missing one.

    It is `fresh` if the file has no entry of ours yet. `replaces` names another server that has the
    name of ours.
    """

    path: Path
    before: str | None
    after: str | None
    fresh: bool
    replaces: str = ""

    def diff(self) -> Iterator[str]:
        """Yield the change as a unified diff."""
        old, new = ((text or "").splitlines() for text in (self.before, self.after))
        old_name, new_name = (
            "/dev/null" if text is None else str(self.path) for text in (self.before, self.after)
        )
        yield from difflib.unified_diff(old, new, old_name, new_name, lineterm="")


def changes(program: Program, launch: Launch, *, undo: bool = False) -> list[Change]:
    """Return the changes that connect a program, or disconnect it.

    Raises ConfigError for a file that cannot be parsed.
    """
    changes = []
    for file in program.files(launch):
        before = read_text(file.path)
        after = _reverted(program, file, before) if undo else _applied(file, before)
        if after != before:
            fresh = before is None or _without(file, before) == before
            others = "" if undo else ", ".join(map(_title, _other_entries(file, before)))
            changes.append(Change(file.path, before, after, fresh, others))
    return changes


def carry_out(program: Program, changes: Sequence[Change], *, undo: bool = False) -> list[Path]:
    """Write the changes; return the backups, which are kept until the connection is undone.

    Raises ConfigError if a file was changed meanwhile or cannot be written, StorageError.
    """
    for change in changes:
        _check(change)
    backups = [] if undo else _back_up(program, changes)
    for change in changes:
        _write(change)
    for path in _folder(program).glob("*") if undo else ():
        path.unlink()
    return backups


def _check(change: Change) -> None:
    """Raise ConfigError if a file has changed, is read-only, or cannot be created."""
    if read_text(change.path) != change.before:
        raise ConfigError(f"{change.path} was changed meanwhile", "Run it again")
    parents = change.path.parents
    for path in (change.path, *parents):
        if path.is_symlink() and not path.exists():
            raise ConfigError(
                f"{path} is a link to nothing ({path.readlink()}), so nothing was changed",
                "Remove the link, or create its target, then run this again",
            )
    folder = next(path for path in parents if path.exists())
    if not (folder.is_dir() and os.access(folder, os.W_OK)):
        raise ConfigError(
            f"no file can be created in {folder}, so nothing was changed", "Check its permissions"
        )
    if change.before is None:
        return
    mode = stat.S_IMODE(change.path.stat().st_mode)
    if not (mode & stat.S_IWUSR and os.access(change.path, os.W_OK)):
        raise ConfigError(
            f"{change.path} is read-only (mode {mode:04o}), so nothing was changed",
            f"Run `chmod u+w {shlex.quote(str(change.path))}`, then run this again",
        )


def _applied(file: File, before: str | None) -> str:
    return changed(str(file.path), before or "", [edit.made for edit in file.edits])


def _without(file: File, text: str) -> str:
    return changed(str(file.path), text, [edit.unmade for edit in file.edits])


def _reverted(program: Program, file: File, before: str | None) -> str | None:
    """Return the original file, if nothing else has changed since; otherwise the file without our
    entries, and with those that they replaced."""
    if before is None or (remaining := _without(file, before)) == before:
        return before
    backup = read_text(_folder(program) / file.path.name)
    if remaining == _without(file, _applied(file, backup)):
        return backup
    return changed(
        str(file.path), remaining, [entry.made for entry in _other_entries(file, backup)]
    )


def _other_entries(file: File, text: str | None) -> list[Entry]:
    """Return the other programs' entries that ours replace."""
    plain = (text or "").removeprefix("\ufeff")
    return [entry for edit in file.edits if (entry := edit.other(plain))]


def _title(entry: Entry) -> str:
    return f"{'.'.join(entry.path)} ({shlex.join(command_of(entry.server)) or 'no command'})"


def _back_up(program: Program, changes: Sequence[Change]) -> list[Path]:
    """Back up each file as it was before our first change to it, and as `NAME~` before a later one;
    return the copies."""
    folder = _folder(program)
    storage.private_directory(folder.parent)
    storage.private_directory(folder)
    copies = []
    for change in changes:
        copy = folder / (change.path.name if change.fresh else f"{change.path.name}~")
        copy.unlink(missing_ok=True)
        if change.before is not None:
            storage.replace(copy, change.before.encode())
            copies.append(copy)
    return copies


def _write(change: Change) -> None:
    if change.after is None:
        change.path.unlink(missing_ok=True)
        return
    with storage.reported("made", change.path.parent):
        change.path.parent.mkdir(parents=True, exist_ok=True)
    storage.replace(change.path, change.after.encode())


def read_text(path: Path) -> str | None:
    """Return a file's text with its line endings; None if it is missing. Raises ConfigError."""
    try:
        return storage.read(path).decode("utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{path} is not UTF-8 text: byte {error.start}", "Save it as UTF-8, and run it again"
        ) from error


def _folder(program: Program) -> Path:
    return config.state_dir() / "connections" / program.name


@dataclass(frozen=True, slots=True)
class Connection:
    """A program that starts our server with this command; `whole` if it also has our hooks.

    `unclear` says why its configuration cannot be read.
    """

    program: Program
    command: tuple[str, ...]
    whole: bool
    unclear: str = ""


def connections(launch: Launch) -> Iterator[Connection]:
    """Yield the programs that are connected, or whose configuration cannot be read."""
    for program in PROGRAMS.values():
        try:
            entries = list(_entries(program, launch))
        except (ConfigError, StorageError) as error:
            yield Connection(program, (), whole=False, unclear=str(error))
            continue
        command = next((words for value in entries if (words := command_of(value))), ())
        if command:
            yield Connection(program, command, whole=None not in entries)


def fault(connection: Connection) -> str:
    """Return the fault of a connection; empty if the server answers."""
    if connection.unclear:
        return connection.unclear
    command = connection.command
    try:
        output = programs.run(f"`{shlex.join(command)}`", command, f"{HELLO}\n")
        answer = json.loads(output.partition("\n")[0])
        return "" if answer["result"]["serverInfo"]["name"] else "it does not give its name"
    except StorageError as error:
        return error.message
    except (ValueError, KeyError, TypeError):
        return "it does not speak the protocol"


def _entries(program: Program, launch: Launch) -> Iterator[Any]:
    """Yield the present value of each entry that connecting would write."""
    for file in program.files(launch):
        text = (read_text(file.path) or "").removeprefix("\ufeff")
        changed(str(file.path), text, [edit.made for edit in file.edits])
        for edit in file.edits:
            yield edit.present(text)
