"""Other programs connected to this memory: what would change in their files, the change and its
undoing, and whether what is connected works.

`connections/NAME/` in the state directory keeps each file as it was before. Where nothing else has
changed since, undoing restores it to the byte; elsewhere only what is ours is taken out.
"""

import difflib
import json
import os
import shlex
import stat
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assistant import config
from assistant.disk import storage
from assistant.errors import ConfigError, StorageError
from assistant.integrations.edits import changed
from assistant.integrations.programs import PROGRAMS, File, Launch, Program

ANSWER_SECONDS = 30.0
"""How long a server may take to answer its first request, on a busy machine."""
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "doctor", "version": "1"},
    },
}


@dataclass(frozen=True, slots=True)
class Change:
    """A file that is to change; None stands for one that is not there.

    It is `fresh` if nothing of ours is in it yet.
    """

    path: Path
    before: str | None
    after: str | None
    fresh: bool

    def diff(self) -> Iterator[str]:
        """The lines of the change."""
        old, new = ((text or "").splitlines() for text in (self.before, self.after))
        there, stays = (
            "/dev/null" if text is None else str(self.path) for text in (self.before, self.after)
        )
        yield from difflib.unified_diff(old, new, there, stays, lineterm="")


def changes(program: Program, launch: Launch, *, undo: bool = False) -> list[Change]:
    """What connecting would change, or taking the connection back.

    Raises ConfigError for a file that cannot be understood.
    """
    found = []
    for file in program.files(launch):
        before = held(file.path)
        after = _unmade(program, file, before) if undo else _made(file, before)
        if after != before:
            fresh = before is None or _without(file, before) == before
            found.append(Change(file.path, before, after, fresh))
    return found


def carry_out(program: Program, changes: Sequence[Change], *, undo: bool = False) -> list[Path]:
    """Write the changes; returns where the files as they were are kept, until they are undone.

    Raises ConfigError if one was changed since it was looked at, or may not be, StorageError.
    """
    for change in changes:
        _check(change)
    copies = [] if undo else _keep(program, changes)
    for change in changes:
        _write(change)
    for path in _folder(program).glob("*") if undo else ():
        path.unlink()
    return copies


def _check(change: Change) -> None:
    """Raise ConfigError if a file is not as it was, or its owner has it for reading alone."""
    if held(change.path) != change.before:
        raise ConfigError(f"{change.path} was changed meanwhile", "Run it again")
    if change.before is None:
        return
    mode = stat.S_IMODE(change.path.stat().st_mode)
    if not (mode & stat.S_IWUSR and os.access(change.path, os.W_OK)):
        raise ConfigError(
            f"{change.path} is for reading alone (mode {mode:04o}), so nothing was changed",
            f"`chmod u+w {shlex.quote(str(change.path))}` if it may be, and run it again",
        )


def _made(file: File, before: str | None) -> str:
    return changed(str(file.path), before or "", [edit.made for edit in file.edits])


def _without(file: File, text: str) -> str:
    return changed(str(file.path), text, [edit.unmade for edit in file.edits])


def _unmade(program: Program, file: File, before: str | None) -> str | None:
    """A file as it was, if but for ours it says what it did then; else without ours."""
    if before is None or (left := _without(file, before)) == before:
        return before
    was = held(_folder(program) / file.path.name)
    return was if left == _without(file, _made(file, was)) else left


def _keep(program: Program, changes: Sequence[Change]) -> list[Path]:
    """Keep each file as it was before the first of our changes to it; returns where."""
    folder = _folder(program)
    storage.private_directory(folder.parent)
    storage.private_directory(folder)
    for change in changes:
        if change.fresh:
            (folder / change.path.name).unlink(missing_ok=True)
        if change.fresh and change.before is not None:
            storage.replace(folder / change.path.name, change.before.encode())
    copies = [folder / change.path.name for change in changes]
    return [copy for copy in copies if copy.exists()]


def _write(change: Change) -> None:
    if change.after is None:
        change.path.unlink(missing_ok=True)
        return
    try:
        change.path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(f"{change.path.parent} cannot be made: {error.strerror}") from error
    storage.replace(change.path, change.after.encode())


def held(path: Path) -> str | None:
    """What a file says, to the byte; None if it is not there. Raises ConfigError for no text."""
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
    """A program that starts our server with this command; `whole` if its hooks are there too.

    What is `unclear` about its configuration is why nobody knows whether it does.
    """

    program: Program
    command: tuple[str, ...]
    whole: bool
    unclear: str = ""


def connections(launch: Launch) -> Iterator[Connection]:
    """The programs that are connected, or whose configuration cannot be understood."""
    for program in PROGRAMS.values():
        try:
            found = list(_found(program, launch))
        except (ConfigError, StorageError) as error:
            yield Connection(program, (), whole=False, unclear=str(error))
            continue
        command = next((words for value in found if (words := _command(value))), ())
        if command:
            yield Connection(program, command, whole=None not in found)


def fault(connection: Connection) -> str:
    """What is wrong with a connection's server; empty if it answers."""
    if connection.unclear:
        return connection.unclear
    try:
        done = subprocess.run(
            connection.command,
            input=f"{json.dumps(HELLO)}\n",
            capture_output=True,
            text=True,
            timeout=ANSWER_SECONDS,
        )
        told = json.loads(done.stdout.partition("\n")[0])
        return "" if told["result"]["serverInfo"]["name"] else "it does not say its name"
    except OSError as error:
        return f"{connection.command[0]} cannot be started: {error.strerror}"
    except subprocess.TimeoutExpired:
        return f"it did not answer within {ANSWER_SECONDS:.0f} s"
    except (ValueError, KeyError, TypeError):
        said = done.stderr.strip().rpartition("\n")[2]
        return said or "it does not speak the protocol"


def _found(program: Program, launch: Launch) -> Iterator[Any]:
    """What is there of each thing that the program is told."""
    for file in program.files(launch):
        text = (held(file.path) or "").removeprefix("\ufeff")
        changed(str(file.path), text, [edit.made for edit in file.edits])
        for edit in file.edits:
            yield edit.present(text)


def _command(value: Any) -> tuple[str, ...]:
    """The words that start a server, in whichever form a program has them."""
    if not isinstance(value, dict):
        return ()
    command, arguments = value.get("command"), value.get("args", [])
    words = command if isinstance(command, list) else [command, *arguments]
    return tuple(words) if all(isinstance(word, str) for word in words) else ()
