"""Commands on a disk that is read-only as a whole: settings, state, caches and workspace."""

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import ASSISTANT, Run

UNSHARE = shutil.which("unshare")
MOUNT = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"'


@pytest.fixture
def read_only(place: Path, tmp_path: Path, run: Run) -> Callable[..., str]:
    """Runs a command while the disk with all of its files is read-only, and returns its output."""
    run("recall", "key")  # indexes
    run("daemon", "stop")
    command = [str(UNSHARE), "-rm", "sh", "-c", MOUNT, str(tmp_path)]
    if UNSHARE is None or subprocess.run([*command, "true"], capture_output=True).returncode:
        pytest.skip("no mount namespaces here")

    def run_read_only(*arguments: str, stdin: str = "") -> str:
        done = subprocess.run(
            [*command, ASSISTANT, "-w", place, *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=600,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run_read_only


def test_what_only_reads_answers(read_only: Callable[..., str]) -> None:
    assert "The spare key is with Ada" in read_only("recall", "key")
    assert "Nothing is due" in read_only("agenda")
    assert "The spare key is with Ada" in read_only("context", "where is the key?")
    assert "daemon: process" in read_only("memory", "status")
    asked = json.dumps(
        {"hook_event_name": "UserPromptSubmit", "session_id": "s1", "prompt": "who has the key?"}
    )
    assert "The spare key is with Ada" in read_only("hook", "--patient", "prompt", stdin=asked)
