"""Access to the clipboard through a desktop program or the terminal."""

import base64
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence

from assistant.cli.palette import DUMB
from assistant.disk import programs
from assistant.errors import UsageError
from assistant.tables import table_of

PROGRAMS: Mapping[str, Sequence[Sequence[str]]] = table_of(__file__)
"""Programs that `copy`, and that print a copied `picture`, each with the variable it needs."""
PATIENCE = 5.0


def copied(text: str) -> bool:
    """Copy a text with a program, otherwise through the terminal (OSC 52), which does not confirm
    it.

    Return False if neither exists.
    """
    if any(_run(program, text.encode()) is not None for program in _present("copy")):
        return True
    terminal = sys.__stdout__
    if terminal is None or not terminal.isatty() or os.environ.get("TERM", "") in DUMB:
        return False
    encoded = base64.b64encode(text.encode()).decode()
    os.write(terminal.fileno(), f"\x1b]52;c;{encoded}\x07".encode())
    return True


def picture() -> bytes:
    """Return the picture on the clipboard; empty if there is none.

    Raises UsageError if no program can read it.
    """
    commands = list(_present("picture"))
    if not commands:
        raise UsageError(
            "no program here can read pictures from the clipboard",
            "Install wl-paste, xclip or pngpaste, or name the picture's file: @FILE",
        )
    return next(filter(None, map(_run, commands)), b"")


def _present(purpose: str) -> Iterator[Sequence[str]]:
    for variable, name, *arguments in PROGRAMS[purpose]:
        if os.environ.get(variable) and (program := programs.find(name)):
            yield [program, *arguments]


def _run(command: Sequence[str], data: bytes = b"") -> bytes | None:
    """Return the program's output; None if it failed."""
    out = subprocess.DEVNULL if data else subprocess.PIPE  # xclip keeps a pipe open
    try:
        process = subprocess.run(
            command, input=data, check=True, timeout=PATIENCE, stdout=out, stderr=subprocess.DEVNULL
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return process.stdout or b""
