"""Whatever the program writes is in a listed store, and a purge reaches all that hold words."""

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from assistant.memory.writing.purge import Purge
from assistant.memory.writing.review import Review
from assistant.workspace import stores
from assistant.workspace.folder import Workspace
from assistant.workspace.stores import STORES, Store
from tests.memory.writing.addressed import AddressedLedger

ROOT = Path(__file__).resolve().parents[2]
LIFE = (
    ("init",),
    ("remember", "The spare key is with Ada"),
    ("remember", "The spare key is with Bo", "--replaces", "MEMORY.md:LINE"),
    ("recall", "who has the spare key?"),
    ("hook", "prompt", "--patient"),
    ("hook", "--quiet-for", "once", "--patient"),
    ("forget", "The spare key is with Bo", "--yes"),
    ("memory", "undo"),
    ("eval",),
    ("memory", "map"),
    ("ask", "who has the spare key?"),
    ("trust",),
    ("chat",),
    ("config", "set", "memory.k", "9"),
    ("memory", "check", "--rebuild"),
    ("doctor",),
    ("daemon", "stop"),
)
"""A scripted life: what an owner types, one after another."""
TYPED = "Hello\n!true\n"
PROMPT = '{"session_id": "s1", "prompt": "who has the spare key?"}'
"""What a coding agent sends at a prompt."""


def assistant(root: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", "assistant.cli.main", "-w", str(root), *arguments]
    stdin = PROMPT if "hook" in arguments else TYPED
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, input=stdin)
    assert "Traceback" not in done.stderr
    return done.stdout


def test_every_file_of_a_life_is_in_a_listed_store(tmp_path: Path) -> None:
    place = Workspace(tmp_path / "workspace")
    line = "1"
    for arguments in LIFE:
        said = assistant(place.root, *(each.replace("LINE", line) for each in arguments))
        if arguments[0] == "remember":
            line = said.partition("MEMORY.md:")[2].split()[0]
    unlisted = [path.name for path in stores.unlisted(place)]
    assert unlisted == [], "list it in assistant/workspace/stores.toml, and have a purge reach it"
    there = {store.name for store in STORES if any(store.files(place))}
    assert there >= {
        "hooks", "memory", "profile", "journal", "history", "index", "vectors", "sessions", "locks",
        "logs", "trust", "models", "settings",
    }  # fmt: skip


def test_a_file_that_nobody_listed_is_found(workspace: Workspace) -> None:
    stray = workspace.private / "diary.txt"
    stray.parent.mkdir()
    stray.write_text("what a new feature would keep")
    assert stores.unlisted(workspace) == [stray]


def test_a_file_of_a_store_that_comes_and_goes_is_no_stray(workspace: Workspace) -> None:
    chroma = workspace.private / "index/chroma"
    chroma.mkdir(parents=True)
    ended = threading.Event()

    def transactions() -> None:
        while not ended.is_set():
            for name in range(20):
                (chroma / f"{name}.sqlite3-journal").touch()
            for name in range(20):
                (chroma / f"{name}.sqlite3-journal").unlink()

    with ThreadPoolExecutor() as pool:
        pool.submit(transactions)
        found = [stores.unlisted(workspace) for _ in range(100)]
        ended.set()
    assert found == [[]] * 100


def test_a_store_of_words_that_no_purge_reaches_is_refused(workspace: Workspace) -> None:
    ledger = AddressedLedger(workspace)
    review = Review(ledger)
    Purge(ledger, review, lambda: None).forget([], past=["nothing"])
    diary = Store("diary", "workspace", (".assistant/diary.txt",), "a diary", "always")
    purge = Purge(ledger, review, lambda: None, (*STORES, diary))
    with pytest.raises(AssertionError, match="no purge reaches the store 'diary'"):
        purge.forget([], past=["nothing"])
