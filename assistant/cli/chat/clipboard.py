"""The clipboard of the machine at which the owner sits, by whichever program of it is there."""

import os
import subprocess
from collections.abc import Iterator, Sequence

from assistant.disk import programs
from assistant.errors import UsageError

PROGRAMS: Sequence[tuple[str, Sequence[str]]] = (
    ("WAYLAND_DISPLAY", ("wl-copy",)),
    ("DISPLAY", ("xclip", "-selection", "clipboard")),
    ("DISPLAY", ("xsel", "--clipboard", "--input")),
    ("WSL_DISTRO_NAME", ("clip.exe",)),
    ("HOME", ("pbcopy",)),
    ("HOME", ("termux-clipboard-set",)),
)
"""Each with the variable without which it has nothing to reach."""
PICTURES: Sequence[tuple[str, Sequence[str]]] = (
    ("WAYLAND_DISPLAY", ("wl-paste", "--type", "image/png")),
    ("DISPLAY", ("xclip", "-selection", "clipboard", "-target", "image/png", "-out")),
    ("HOME", ("pngpaste", "-")),
)
"""The same for the picture that is there."""
PATIENCE = 5.0


def copied(text: str) -> bool:
    """Put the text there; False if no program could."""
    return any(_run(each, text.encode()) is not None for each in _present(PROGRAMS))


def picture() -> bytes:
    """What stands there as a picture; nothing if there is none.

    Raises UsageError if no program could say.
    """
    commands = list(_present(PICTURES))
    if not commands:
        raise UsageError(
            "the clipboard cannot be asked for a picture",
            "Install wl-paste, xclip or pngpaste, or name the picture's file: @FILE",
        )
    return next(filter(None, map(_run, commands)), b"")


def _present(commands: Sequence[tuple[str, Sequence[str]]]) -> Iterator[Sequence[str]]:
    for known, command in commands:
        program = programs.find(command[0])
        if os.environ.get(known) and program:
            yield [program, *command[1:]]


def _run(command: Sequence[str], data: bytes = b"") -> bytes | None:
    """What the program prints; None if it failed."""
    out = subprocess.DEVNULL if data else subprocess.PIPE  # xclip stays behind, and holds a pipe
    try:
        done = subprocess.run(
            command,
            input=data,
            check=True,
            timeout=PATIENCE,
            stdout=out,
            stderr=subprocess.DEVNULL,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout or b""
