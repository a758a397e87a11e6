"""The clipboard of the machine at which the owner sits, by whichever program of it is there."""

import os
import shutil
import subprocess
from collections.abc import Sequence

PROGRAMS: Sequence[tuple[str, Sequence[str]]] = (
    ("WAYLAND_DISPLAY", ("wl-copy",)),
    ("DISPLAY", ("xclip", "-selection", "clipboard")),
    ("DISPLAY", ("xsel", "--clipboard", "--input")),
    ("WSL_DISTRO_NAME", ("clip.exe",)),
    ("HOME", ("pbcopy",)),
    ("HOME", ("termux-clipboard-set",)),
)
"""Each with the variable without which it has nothing to reach."""
PATIENCE = 5.0


def copied(text: str) -> bool:
    """Put the text there; False if no program could."""
    found = (
        command for known, command in PROGRAMS if os.environ.get(known) and shutil.which(command[0])
    )
    return any(_piped(command, text) for command in found)


def _piped(command: Sequence[str], text: str) -> bool:
    try:
        subprocess.run(
            command,
            input=text.encode(),
            check=True,
            timeout=PATIENCE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return True
