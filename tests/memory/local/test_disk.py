"""Recall on a disk that is full or read-only: a real one, in a mount namespace of its own."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import json, subprocess, sys
from pathlib import Path
from assistant.errors import StorageError
from assistant.memory.base import Fact, Query
from tests.support.hashing import HashingEmbedder
from assistant.memory.local import LocalMemory
from assistant.settings.tree import Settings
from assistant.workspace.folder import Workspace

disk, state = Path(sys.argv[1]), sys.argv[2]
embedder, told, root = HashingEmbedder(), [], disk / "workspace"
root.mkdir()
(root / "MEMORY.md").write_text("- The spare key is with Ada\\n")

def opened():
    return LocalMemory(Workspace(root), Settings(), embedder, notify=told.append)

def asked(memory):
    return [each.text for each in memory.recall(Query("spare key")).passages]

memory = opened()
assert asked(memory)
if state == "fills while it is open":
    (root / "AGENTS.md").write_text("- The spare key hangs in the shed\\n")
if state != "fills while it is open":
    memory.close()
if state == "read-only":
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
else:
    try:
        with (disk / "filling").open("wb") as file:
            while True:
                file.write(bytes(4096))
    except OSError:
        pass
if state != "fills while it is open":
    memory = opened()
before = embedder.embedded
found = [asked(memory), asked(memory)]
try:
    memory.remember([Fact("Something new")])
    wrote = True
except StorageError:
    wrote = False
memory.close()
print(json.dumps({"found": found, "told": told, "wrote": wrote}))
"""
UNSHARE = shutil.which("unshare")


def can_mount(folder: Path) -> bool:
    command = [str(UNSHARE), "-rm", "mount", "-t", "tmpfs", "tmpfs", str(folder)]
    return UNSHARE is not None and subprocess.run(command, capture_output=True).returncode == 0


@pytest.mark.parametrize("state", ["full", "read-only", "fills while it is open"])
def test_recall_works_on_a_disk_that_takes_no_writes_and_says_so_once(
    tmp_path: Path, state: str
) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    if not can_mount(disk):
        pytest.skip("no mount namespaces here")
    mount = f'mount -t tmpfs -o size=6m tmpfs "{disk}" && exec "$@"'
    done = subprocess.run(
        [str(UNSHARE), "-rm", "sh", "-c", mount, "sh", sys.executable, "-c", SCRIPT, disk, state],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    for found in said["found"]:
        assert "- The spare key is with Ada" in found
    assert sum("is full or read-only" in each for each in said["told"]) == 1
    if not state.startswith("fills"):  # there, letting go of the index makes room
        assert not said["wrote"]
