"""Failing disks and killed processes: files are one legal version, nothing is lost."""

import errno
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from assistant.errors import StorageError
from assistant.memory.base import Fact
from assistant.workspace.folder import Workspace
from tests.memory.writing.addressed import AddressedLedger
from tests.memory.writing.saves import TODAY, memory, temporary
from tests.support.faults import FailingDisk, using

ROOT = Path(__file__).resolve().parents[3]


def prepare(workspace: Workspace) -> tuple[AddressedLedger, str]:
    (workspace.root / "MEMORY.md").write_text("# Memory\n")
    ledger = AddressedLedger(workspace, lambda: TODAY)
    ledger.remember([Fact("Lives in Berlin"), Fact("Likes tea")])
    (workspace.root / "memory").mkdir(exist_ok=True)
    (workspace.root / "memory/people.md").write_text("- Bo is 9\n")
    return ledger, memory(workspace)


OPERATIONS: dict[str, Callable[[AddressedLedger], object]] = {
    "remember": lambda ledger: ledger.remember([Fact("Has a dog"), Fact("Is 40")], request="r"),
    "forget": lambda ledger: ledger.forget([ledger.locate("MEMORY.md:5")], request="r"),
    "supersede": lambda ledger: ledger.remember(
        [Fact("Lives in Lisbon", replaces="MEMORY.md:5")], request="r"
    ),
    "supersede elsewhere": lambda ledger: ledger.remember(
        [Fact("Bo is 10", replaces="memory/people.md:1")], request="r"
    ),
    "undo": lambda ledger: ledger.undo(request="r"),
}


@pytest.mark.parametrize("for_good", [False, True])
@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC])
@pytest.mark.parametrize("operation", OPERATIONS)
def test_whatever_the_disk_refuses_files_are_whole_and_a_retry_completes(
    tmp_path: Path, operation: str, code: int, for_good: bool
) -> None:
    perform = OPERATIONS[operation]
    reference = Workspace(tmp_path / "reference")
    reference.root.mkdir()
    ledger, before = prepare(reference)
    perform(ledger)
    after = memory(reference)
    people = (reference.root / "memory/people.md").read_text()
    failures = 0
    for nth in range(1, 60):
        workspace = Workspace(tmp_path / str(nth))
        workspace.root.mkdir()
        ledger, _ = prepare(workspace)
        with using(FailingDisk(nth, code, for_good=for_good)) as disk:
            try:
                perform(ledger)
            except StorageError:
                failures += 1
        assert memory(workspace) in {before, after}
        assert temporary(workspace) == []
        if disk.calls >= nth:
            fresh = AddressedLedger(workspace, lambda: TODAY)
            assert "Likes tea" in [entry.text for entry in fresh.journals.log()]
            if memory(workspace) == before:
                perform(fresh)
            fresh.remember([Fact("One more")])  # settles what was left open
            assert fresh.undo()[0].text == "One more"
        assert memory(workspace) == after
        assert (workspace.root / "memory/people.md").read_text() == people
        if disk.calls < nth:
            break
    assert failures == nth - 1 >= 6


# Killed processes

WORKER = """
import sys
from pathlib import Path
from assistant.memory.base import Fact
from assistant.memory.writing.ledger import Ledger
from assistant.workspace.folder import Workspace
ledger = Ledger(Workspace(Path(sys.argv[1])))
number = int(sys.argv[2])
while True:
    ledger.remember([Fact(f"Number {number}"), Fact(f"Twin {number}")], request=f"r{number}")
    print(number, flush=True)
    number += 1
"""


@pytest.mark.parametrize("kills", [12, pytest.param(500, marks=pytest.mark.slow)])
@pytest.mark.timeout(900)
def test_a_killed_writer_loses_nothing_it_acknowledged(workspace: Workspace, kills: int) -> None:
    chance = random.Random(7)
    number = 0
    for _ in range(kills):
        worker = subprocess.Popen(
            [sys.executable, "-c", WORKER, str(workspace.root), str(number)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert worker.stdout is not None
        for _ in range(chance.randint(1, 4)):
            number = int(worker.stdout.readline()) + 1
        # At a random moment of the write that follows.
        threading.Event().wait(chance.random() * 0.02)
        worker.send_signal(signal.SIGKILL)
        rest = [int(line) for line in worker.stdout.read().split()]
        number = max([number, *(n + 1 for n in rest)])
        worker.stdout.close()
        worker.wait()
    ledger = AddressedLedger(workspace)
    again = [Fact(f"Number {number}"), Fact(f"Twin {number}")]
    ledger.remember(again, request=f"r{number}")
    lines = [line for line in memory(workspace).splitlines() if line.startswith("- ")]
    expected = [f"- {kind} {n}" for n in range(number + 1) for kind in ("Number", "Twin")]
    assert lines == expected
    assert temporary(workspace) == []
    assert len(ledger.journals.log(None)) == len(expected)
