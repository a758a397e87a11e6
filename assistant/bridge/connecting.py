"""Other programs connected to this memory: what would change in their files, the change and its
undoing, and whether what is connected works.

Beside a record of what was written, `connections/NAME/` in the state directory keeps each file as
it was. Where nothing has changed since, undoing restores it to the byte; elsewhere only what is
ours is taken out.
"""

import difflib
import hashlib
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
from assistant.bridge.edits import changed
from assistant.bridge.programs import PROGRAMS, File, Launch, Program
from assistant.disk import storage
from assistant.errors import ConfigError, StorageError

RECORD = "made.json"
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
    """A file that is to change; None stands for one that is not there."""

    path: Path
    before: str | None
    after: str | None

    def diff(self) -> Iterator[str]:
        """The lines of the change."""
        old, new = ((text or "").splitlines() for text in (self.before, self.after))
        there, stays = (
            "/dev/null" if text is None else str(self.path) for text in (self.before, self.after)
        )
        yield from difflib.unified_diff(old, new, there, stays, lineterm="")


def making(program: Program, launch: Launch) -> list[Change]:
    """What connecting would change. Raises ConfigError for a file that cannot be understood."""
    return [each for file in program.files(launch) for each in _made(file)]


def unmaking(program: Program, launch: Launch) -> list[Change]:
    """What taking the connection back would change. Raises ConfigError."""
    kept = _record(program)
    return [each for file in program.files(launch) for each in _unmade(program, file, kept)]


def make(program: Program, changes: Sequence[Change]) -> list[Path]:
    """Carry out changes; returns where the files as they were are kept.

    Raises ConfigError if one was changed since it was looked at, or may not be, StorageError.
    """
    check(changes)
    kept = _record(program)
    copies = [_keep(program, change, kept) for change in changes]
    _write_record(program, kept)
    for change in changes:
        _write(change)
    return [copy for copy in copies if copy]


def unmake(program: Program, changes: Sequence[Change]) -> list[Path]:
    """Carry out changes that take a connection back, and drop all copies.

    Raises ConfigError, StorageError.
    """
    check(changes)
    for change in changes:
        _write(change)
    for path in _folder(program).glob("*"):
        path.unlink()
    return []


def check(changes: Sequence[Change]) -> None:
    """Raise ConfigError if a file is not as it was, or its owner has it for reading alone."""
    for change in changes:
        if held(change.path) != change.before:
            raise ConfigError(f"{change.path} was changed meanwhile", "Run it again")
        if change.before is not None:
            mode = stat.S_IMODE(change.path.stat().st_mode)
            if not (mode & stat.S_IWUSR and os.access(change.path, os.W_OK)):
                raise ConfigError(
                    f"{change.path} is for reading alone (mode {mode:04o}), so nothing was changed",
                    f"`chmod u+w {shlex.quote(str(change.path))}` if it may be, and run it again",
                )


def _made(file: File) -> Iterator[Change]:
    before = held(file.path)
    after = changed(str(file.path), before or "", [each.made for each in file.edits])
    if after != before:
        yield Change(file.path, before, after)


def _unmade(program: Program, file: File, kept: dict[str, Any]) -> Iterator[Change]:
    before = held(file.path)
    if before is None:
        return
    known = kept.get(str(file.path))
    if known and known["sha256"] == _digest(before):
        after = held(_folder(program) / known["copy"]) if known["copy"] else None
    else:
        after = changed(str(file.path), before, [each.unmade for each in file.edits])
        if after.strip() in ("", "{}") and (known is None or not known["copy"]):
            after = None if after != before else before
    if after != before:
        yield Change(file.path, before, after)


def _keep(program: Program, change: Change, kept: dict[str, Any]) -> Path | None:
    """Keep a file as it was before the first of our changes to it, and note what it becomes."""
    known = kept.get(str(change.path))
    copy = known["copy"] if known else ""
    if known is None or known["sha256"] != _digest(change.before or ""):
        copy = f"{len(kept)}-{change.path.name}" if change.before is not None else ""
        if change.before is not None:
            storage.private_directory(_folder(program).parent)
            path = storage.private_directory(_folder(program)) / copy
            storage.replace(path, change.before.encode())
    kept[str(change.path)] = {"copy": copy, "sha256": _digest(change.after or "")}
    return _folder(program) / copy if copy else None


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


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _folder(program: Program) -> Path:
    return config.state_dir() / "connections" / program.name


def _record(program: Program) -> dict[str, Any]:
    """What was written, by file; nothing if that is not known."""
    try:
        found = json.loads(storage.read(_folder(program) / RECORD))
    except (FileNotFoundError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _write_record(program: Program, kept: dict[str, Any]) -> None:
    storage.private_directory(_folder(program).parent)
    storage.private_directory(_folder(program))
    storage.replace(_folder(program) / RECORD, json.dumps(kept, indent=1).encode())


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
        command = next((words for each in found if (words := _command(each))), ())
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
