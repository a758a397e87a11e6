"""Failing disks, killed processes and editors: files are one legal version, nothing is lost."""

import errno
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path

import pytest

from assistant import storage
from assistant.errors import StorageError
from assistant.memory.base import Fact
from assistant.memory.text.identity import digest
from assistant.memory.writing.record.journal import Journal
from assistant.memory.writing.record.writes import Edit, Write
from assistant.workspace import Workspace
from tests.faults import FailingDisk
from tests.memory.writing.addressed import AddressedLedger

TODAY = date(2026, 11, 21)
ROOT = Path(__file__).resolve().parents[2]


def memory(workspace: Workspace) -> str:
    return (workspace.root / "MEMORY.md").read_text(encoding="utf-8")


def temporary(workspace: Workspace) -> list[Path]:
    return list(workspace.root.rglob(f"*{storage.TEMPORARY}"))


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
    "purge": lambda ledger: ledger.forget([ledger.locate("MEMORY.md:5")], purge=True, request="r"),
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
        with storage.using(FailingDisk(nth, code, for_good=for_good)) as disk:
            try:
                perform(ledger)
            except StorageError:
                failures += 1
        assert memory(workspace) in {before, after}
        assert temporary(workspace) == []
        if disk.calls >= nth:
            fresh = AddressedLedger(workspace, lambda: TODAY)
            assert "Likes tea" in [entry.text for entry in fresh.log()]
            if memory(workspace) == before:
                perform(fresh)
            fresh.remember([Fact("One more")])  # settles what was left open
            assert fresh.undo().text == "One more"
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
from assistant.workspace import Workspace
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
    assert len(ledger.log(None)) == len(expected)


# Editors

SAVES = ("in place", "rename")


def save(path: Path, text: str, how: str) -> None:
    """Save as an editor does."""
    if how == "in place":
        path.write_text(text, encoding="utf-8")
        return
    beside = path.with_name("MEMORY.md~")
    beside.write_text(text, encoding="utf-8")
    beside.replace(path)


def _typing(path: Path, how: str, lines: Iterator[str], stop: threading.Event) -> list[str]:
    """An owner who loads the file, types a line and saves, again and again."""
    typed = []
    chance = random.Random(3)
    while not stop.is_set():
        line = next(lines)
        text = path.read_text(encoding="utf-8")
        if not text:  # another editor's in-place save is under way
            continue
        save(path, text + f"{line}\n", how)
        typed.append(line)
        stop.wait(0.01 + chance.random() * 0.1)
    return typed


@pytest.mark.parametrize("how", SAVES)
@pytest.mark.parametrize("runs", [40, pytest.param(200, marks=pytest.mark.slow)])
def test_no_line_that_the_owner_types_is_lost(workspace: Workspace, how: str, runs: int) -> None:
    path = workspace.root / "MEMORY.md"
    ledger = AddressedLedger(workspace, lambda: TODAY)
    stop = threading.Event()
    typed: list[str] = []
    lines = (f"typed {number}" for number in range(10**6))
    owner = threading.Thread(target=lambda: typed.extend(_typing(path, how, lines, stop)))
    owner.start()
    try:
        facts = [f"Fact {number} of many" for number in range(runs)]
        for fact in facts:
            ledger.remember([Fact(fact)])
    finally:
        stop.set()
        owner.join()
    ledger.observe("MEMORY.md")
    left = memory(workspace).splitlines()
    assert [line for line in typed if line not in left] == []
    offered = {entry.text for entry in ledger.erasures.all()}
    standing = {line.removeprefix("- ") for line in left}
    assert [fact for fact in facts if fact not in standing | offered] == []


def _stale(path: Path, write: Callable[[], object]) -> str:
    """What an editor holds that loaded the file before a write."""
    buffer = path.read_text(encoding="utf-8")
    write()
    return buffer


@pytest.mark.parametrize("how", SAVES)
def test_a_fact_that_a_stale_save_erased_is_offered_and_not_written_back(
    workspace: Workspace, how: str
) -> None:
    path = workspace.root / "MEMORY.md"
    ledger = AddressedLedger(workspace, lambda: TODAY)
    for number in range(10):
        buffer = _stale(path, lambda n=number: ledger.remember([Fact(f"Lost {n} in the fog")]))
        save(path, buffer + f"typed {number}\n", how)
        ledger.observe("MEMORY.md")
    assert [entry.text for entry in ledger.erasures.all()] == [
        f"Lost {n} in the fog" for n in range(10)
    ]
    assert "Lost" not in memory(workspace)
    first, second, *_ = [entry.id for entry in ledger.erasures.all()]
    (back,) = ledger.erasures.restore([first])
    assert (back.status, back.text) == ("stored", "Lost 0 in the fog")
    ledger.erasures.dismiss([second])
    assert [entry.text for entry in ledger.erasures.all()] == [
        f"Lost {n} in the fog" for n in range(2, 10)
    ]
    assert [f"typed {n}" in memory(workspace) for n in range(10)] == [True] * 10


def test_the_next_write_notices_what_nobody_observed(workspace: Workspace) -> None:
    path = workspace.root / "MEMORY.md"
    ledger = AddressedLedger(workspace, lambda: TODAY)
    buffer = _stale(path, lambda: ledger.remember([Fact("Likes tea")]))
    save(path, buffer + "typed\n", "in place")
    ledger.remember([Fact("Has a dog")])
    assert [entry.text for entry in AddressedLedger(workspace).erasures.all()] == ["Likes tea"]


def test_a_stale_save_with_nothing_typed_takes_our_heading_along(workspace: Workspace) -> None:
    path = workspace.root / "MEMORY.md"
    ledger = AddressedLedger(workspace, lambda: TODAY)
    buffer = _stale(path, lambda: ledger.remember([Fact("Likes tea")]))
    save(path, buffer, "in place")
    ledger.observe("MEMORY.md")
    assert [entry.text for entry in ledger.erasures.all()] == ["Likes tea"]


def _edits() -> dict[str, Callable[[str], str]]:
    return {
        "the line": lambda text: text.replace("- The last fact\n", ""),
        "the line, and types": lambda text: text.replace("- The last fact\n", "") + "typed\n",
        "the section": lambda text: text[: text.index("## Remembered")] + "typed\n",
        "all": lambda text: "",
        "by rewording": lambda text: text.replace("The last fact", "The very last fact"),
        "by striking": lambda text: text.replace("The last fact", "~~The last fact~~"),
    }


@pytest.mark.parametrize("how", SAVES)
@pytest.mark.parametrize("what", _edits())
def test_what_the_owner_saw_and_deleted_is_not_offered(
    workspace: Workspace, what: str, how: str
) -> None:
    """However it is deleted, once a save has held the fact; and at once, by the line itself."""
    path = workspace.root / "MEMORY.md"
    ledger = AddressedLedger(workspace, lambda: TODAY)
    ledger.remember([Fact("An older fact"), Fact("The last fact")])
    save(path, memory(workspace) + "\nI was here\n", how)
    ledger.observe("MEMORY.md")
    save(path, _edits()[what](memory(workspace)), how)
    ledger.observe("MEMORY.md")
    assert ledger.erasures.all() == ()


@pytest.mark.parametrize("what", ["the line", "the line, and types", "by rewording", "by striking"])
@pytest.mark.parametrize("heading", ["ours", "older", "emptied"])
def test_a_deletion_in_the_first_save_after_the_write_is_understood(
    workspace: Workspace, what: str, heading: str
) -> None:
    path = workspace.root / "MEMORY.md"
    ledger = AddressedLedger(workspace, lambda: TODAY)
    if heading != "ours":
        ledger.remember([Fact("An older fact")])
        gone = "- An older fact\n" if heading == "emptied" else ""
        save(path, "intro\n" + memory(workspace).replace(gone, ""), "in place")
        ledger.observe("MEMORY.md")
    ledger.remember([Fact("The last fact")])
    save(path, _edits()[what](memory(workspace)), "in place")
    ledger.observe("MEMORY.md")
    ambiguous = what == "the line, and types" and heading != "ours"
    assert len(ledger.erasures.all()) == (1 if ambiguous else 0)


def test_a_later_fact_in_the_save_shows_that_the_earlier_was_deleted(workspace: Workspace) -> None:
    path = workspace.root / "MEMORY.md"
    ledger = AddressedLedger(workspace, lambda: TODAY)
    ledger.remember([Fact("An older fact")])
    ledger.remember([Fact("A later fact")])
    save(path, memory(workspace).replace("- An older fact\n", "") + "typed\n", "in place")
    ledger.observe("MEMORY.md")
    assert ledger.erasures.all() == ()


@pytest.mark.parametrize("first", ["ours", "the owner's"])
def test_a_forgotten_fact_that_is_not_back_shows_that_the_editor_loaded_what_came_before(
    workspace: Workspace, first: str
) -> None:
    path = workspace.root / "MEMORY.md"
    ledger = AddressedLedger(workspace, lambda: TODAY)
    if first == "ours":
        ledger.remember([Fact("Soon forgotten"), Fact("Stays"), Fact("Deleted")])
    else:
        save(path, memory(workspace) + "- Soon forgotten\n", "in place")
        ledger.remember([Fact("Deleted")])
    where = memory(workspace).split("\n").index("- Soon forgotten") + 1
    ledger.forget([ledger.locate(f"MEMORY.md:{where}")])
    save(path, memory(workspace).replace("- Deleted\n", "") + "typed\n", "in place")
    ledger.observe("MEMORY.md")
    assert ledger.erasures.all() == ()


def test_a_line_struck_out_later_shows_that_the_editor_loaded_what_came_before(
    workspace: Workspace,
) -> None:
    path = workspace.root / "MEMORY.md"
    ledger = AddressedLedger(workspace, lambda: TODAY)
    ledger.remember([Fact("New")])
    save(path, "- Old\n\n" + memory(workspace), "in place")
    ledger.observe("MEMORY.md")
    ledger.remember([Fact("Deleted")])
    where = memory(workspace).split("\n").index("- Old") + 1
    ledger.remember([Fact("New", replaces=f"MEMORY.md:{where}")])
    save(path, memory(workspace).replace("- Deleted\n", ""), "in place")
    ledger.observe("MEMORY.md")
    assert ledger.erasures.all() == ()


def test_what_the_ledger_itself_removed_is_not_offered(workspace: Workspace) -> None:
    path = workspace.root / "MEMORY.md"
    ledger = AddressedLedger(workspace, lambda: TODAY)
    ledger.remember([Fact("To forget"), Fact("To replace"), Fact("To undo")])
    ledger.undo()
    ledger.forget([ledger.locate("MEMORY.md:5")])
    ledger.remember([Fact("Replaced", replaces="MEMORY.md:5")])
    save(path, memory(workspace) + "typed\n", "in place")
    ledger.observe("MEMORY.md")
    assert ledger.erasures.all() == ()


@pytest.mark.parametrize("how", ["forgotten", "deleted"])
def test_an_erased_fact_written_again_is_not_offered_for_what_it_was_before(
    workspace: Workspace, how: str
) -> None:
    path = workspace.root / "MEMORY.md"
    ledger = AddressedLedger(workspace, lambda: TODAY)
    buffer = _stale(path, lambda: ledger.remember([Fact("Likes tea")]))
    save(path, buffer + "typed\n", "rename")
    ledger.observe("MEMORY.md")
    assert len(ledger.erasures.all()) == 1
    (again,) = ledger.remember([Fact("Likes tea")])
    save(path, memory(workspace) + "typed again\n", "rename")
    ledger.observe("MEMORY.md")
    if how == "forgotten":
        ledger.forget([ledger.locate(f"{again.source}:{again.line}")])
    else:
        save(path, memory(workspace).replace("- Likes tea\n", ""), "rename")
        ledger.observe("MEMORY.md")
    assert ledger.erasures.all() == ()


def test_a_fact_moved_to_another_file_is_not_offered(workspace: Workspace) -> None:
    path = workspace.root / "MEMORY.md"
    ledger = AddressedLedger(workspace, lambda: TODAY)
    buffer = _stale(path, lambda: ledger.remember([Fact("Likes tea")]))
    save(path, buffer + "typed\n", "rename")
    (workspace.root / "AGENTS.md").write_text("* likes tea!\n")
    ledger.observe("MEMORY.md")
    assert ledger.erasures.all() == ()


# A write that was begun by a process that died


@pytest.mark.parametrize("landed", [True, False])
def test_what_a_dead_writer_began_is_settled_from_the_file(
    workspace: Workspace, landed: bool
) -> None:
    before = memory(workspace)
    after = before + "- Likes tea\n"
    edit = Edit("MEMORY.md", len(before), "", "- Likes tea\n", digest(before), digest(after))
    journal = Journal(workspace.journal)
    storage.private_directory(workspace.private)
    journal.begin(
        [Write("w1", "2026-11-21T10:00:00+00:00", "remember", "Likes tea", edits=(edit,))]
    )
    if landed:  # and the owner has typed since
        (workspace.root / "MEMORY.md").write_text(after + "typed\n")
    (workspace.root / f".MEMORY.md.abc{storage.TEMPORARY}").write_bytes(b"half")
    ledger = AddressedLedger(workspace, lambda: TODAY)
    assert ledger.log() == (), "it was not acknowledged"
    ledger.remember([Fact("Has a dog")])
    assert [entry.text for entry in ledger.log()] == ["Has a dog", "Likes tea"][: 1 + landed]
    assert temporary(workspace) == []
