"""What would keep another program waiting is done by a process of its own."""

import subprocess
import sys
import tempfile
from pathlib import Path

import assistant
from assistant.bridge.hooks.events import Happened
from assistant.workspace.folder import Workspace

MOST_AT_ONCE = 2 << 20
"""Bytes of a conversation that are taken over while the other program waits."""
PATIENT = "--patient"
"""The option that says that nobody waits."""


def is_long(at: Happened, told: bytes) -> bool:
    """Whether a conversation is too long to take over at once."""
    path = Path(at.transcript).expanduser()
    recorded = path.stat().st_size if at.transcript and path.is_file() else 0
    return max(recorded, len(told)) > MOST_AT_ONCE


def begin(place: Workspace, at: Happened, told: bytes) -> None:
    """Have another process take it over; it outlives this one."""
    command = ["-m", "assistant.cli.main", "-w", str(place.root), "hook", at.event, PATIENT]
    with tempfile.TemporaryFile() as stdin:
        stdin.write(told)
        stdin.seek(0)
        subprocess.Popen(
            [sys.executable, *command, "--for", at.program],
            stdin=stdin,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            cwd=Path(assistant.__file__).parent.parent,
        )
