"""What is connected, and whether it works: each program's own words are carried out once."""

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from assistant.bridge.connect.changing import held
from assistant.bridge.connect.edits import changed
from assistant.bridge.connect.programs import PROGRAMS, Launch, Program
from assistant.errors import ConfigError, StorageError

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
