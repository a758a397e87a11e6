"""Forty ways out of the workspace by the file tools; none leads out."""

import ctypes
import threading
import time
from pathlib import Path

import pytest

from assistant.secrets.redactor import Redactor
from assistant.tools.files.access import Roots
from assistant.tools.files.write import writing_tools
from assistant.tools.policy import ApproveAll
from assistant.tools.toolbox import Toolbox
from assistant.workspace.folder import Workspace
from tests.tools.conftest import Call, calling

JEWELS = "the crown jewels"

PATHS: dict[str, str] = {
    "parent": "../outside/secret.txt",
    "parents": "../../../../../../../../etc/passwd",
    "absolute": "{outside}/secret.txt",
    "root": "/etc/passwd",
    "through a directory": "sub/../../outside/secret.txt",
    "doubled slashes": "sub//..//..//outside//secret.txt",
    "dots": "./sub/./../../outside/secret.txt",
    "absolute with parents": "{workspace}/../outside/secret.txt",
    "absolute with parents inside": "{workspace}/sub/../../outside/secret.txt",
    "a sibling with the same start": "{workspace}-2/secret.txt",
    "home": "~/secret.txt",
    "another home": "~root/secret.txt",
    "link to a file": "link",
    "link to a directory": "linked/secret.txt",
    "link within a directory": "sub/link",
    "relative link": "relative",
    "link to a link": "chain",
    "link to the parent": "up/outside/secret.txt",
    "link with parents after it": "sub/deep-link/../../outside/secret.txt",
    "absolute link to the workspace's parent": "back/outside/secret.txt",
    "link to root": "slash/etc/passwd",
    "link to proc": "proc/etc/passwd",
    "proc": "/proc/self/root/etc/passwd",
    "proc cwd": "/proc/self/cwd/../outside/secret.txt",
    "hard link": "hard",
    "device": "/dev/zero",
    "descriptor": "/dev/fd/0",
    "percent": "%2e%2e/outside/secret.txt",
    "backslashes": "..\\outside\\secret.txt",
    "file URL": "file://{outside}/secret.txt",
    "NUL": "MEMORY.md\0/../../outside/secret.txt",
    "trailing slash": "link/",
    "program's own": ".assistant/token",
    "program's own by link": "private/token",
    "configuration": "{home}/.config/assistant/secrets.json",
}


@pytest.fixture
def traps(workspace: Workspace, outside: Path, home: Path) -> Path:
    """The workspace, with every kind of link out of it."""
    root = workspace.root
    (root / "sub").mkdir()
    (root / ".assistant").mkdir()
    (root / ".assistant/token").write_text(JEWELS)
    (root.parent / "workspace-2").mkdir()
    links = {
        "link": outside / "secret.txt",
        "linked": outside,
        "sub/link": outside / "secret.txt",
        "relative": "../outside/secret.txt",
        "chain": "link",
        "up": "..",
        "sub/deep-link": root / "sub",
        "back": root.parent,
        "slash": "/",
        "proc": "/proc/self/root",
        "private": ".assistant",
    }
    for name, target in links.items():
        (root / name).symlink_to(target)
    (root / "hard").hardlink_to(outside / "secret.txt")
    for place in (home, root.parent / "workspace-2"):
        (place / "secret.txt").write_text(JEWELS)
    (home / ".config/assistant").mkdir(parents=True)
    (home / ".config/assistant/secrets.json").write_text(JEWELS)
    return root


def everything(directory: Path) -> dict[Path, bytes]:
    return {
        path: path.read_bytes()
        for path in directory.rglob("*")
        if path.is_file() and not path.is_symlink()
    }


@pytest.mark.parametrize("way", PATHS)
def test_no_way_out(approved: Call, traps: Path, outside: Path, home: Path, way: str) -> None:
    """Reading, writing, editing, patching, listing and searching alike; all is approved."""
    path = PATHS[way].format(outside=outside, workspace=traps, home=home)
    before = everything(traps.parent)
    results = [
        approved("read_file", path=path),
        approved("write_file", path=path, text="evil"),
        approved("edit_file", path=path, old_text="crown", new_text="paste"),
        approved("apply_patch", patch=f"--- a/{path}\n+++ /dev/null\n@@ -1 +0,0 @@\n-evil\n"),
        approved("grep", pattern="crown", path=path),
        approved("list_files", path=path),
    ]
    after = {path: data for path, data in everything(traps.parent).items() if path in before}
    assert after == before
    assert not any(JEWELS in result.content for result in results)
    new = set(everything(traps.parent)) - set(before)
    assert all(path.is_relative_to(traps) for path in new)


def test_the_programs_own_directories_are_closed_within_an_added_one(
    workspace: Workspace, home: Path
) -> None:
    box = Toolbox(writing_tools(Roots(workspace, [home]), Redactor()))
    call = calling(box, ApproveAll())
    assert not call("write_file", path=f"{home}/notes.txt", text="x").error
    for own in (".config/assistant/config.toml", ".local/state/assistant/trusted"):
        assert "private" in call("write_file", path=f"{home}/{own}", text="x").content
        assert not (home / own).exists()


def test_searching_everywhere_finds_nothing_outside(approved: Call, traps: Path) -> None:
    assert "No line matches" in approved("grep", pattern="crown").content
    assert approved("find_files", pattern="secret*").compact == "0 files"
    assert approved("find_files", pattern="token").compact == "0 files"


RENAME_EXCHANGE = 2
LIBC = ctypes.CDLL(None)


def exchanging(first: Path, second: Path, stop: threading.Event) -> None:
    while not stop.is_set():
        LIBC.renameat2(-100, bytes(first), -100, bytes(second), RENAME_EXCHANGE)


RACES: dict[str, dict[str, object]] = {
    "read_file": {"path": "door/secret.txt"},
    "write_file": {"path": "door/secret.txt", "text": "plain\n"},
    "edit_file": {"path": "door/secret.txt", "old_text": "l", "new_text": "1l"},
    "grep": {"path": "door", "pattern": "crown|plain"},
    "apply_patch": {"patch": "--- a/door/secret.txt\n+++ b/door/secret.txt\n@@\n-plain\n+plain!\n"},
}


@pytest.mark.skipif(not hasattr(LIBC, "renameat2"), reason="only Linux exchanges two names at once")
@pytest.mark.parametrize("tool", RACES)
def test_no_race_leads_out(approved: Call, workspace: Workspace, outside: Path, tool: str) -> None:
    """A directory turns into a link to the outside and back, as fast as it can."""
    root = workspace.root
    (root / "door").mkdir()
    (root / "door/secret.txt").write_text("plain\n")
    (root / "away").symlink_to(outside)
    stop, results, patience = threading.Event(), [], time.monotonic() + 30
    racer = threading.Thread(target=exchanging, args=(root / "door", root / "away", stop))
    racer.start()
    try:
        while len(results) < 150 or (
            len({each.error for each in results}) < 2 and time.monotonic() < patience
        ):
            results.append(approved(tool, **RACES[tool]))
    finally:
        stop.set()
        racer.join()
    assert {result.error for result in results} == {True, False}
    assert not any(JEWELS in result.content for result in results)
    assert everything(outside) == {outside / "secret.txt": f"{JEWELS}\n".encode()}


def test_descriptors_are_closed(roots: Roots, call: Call, traps: Path) -> None:
    def count() -> int:
        return sum(1 for _ in Path("/dev/fd").iterdir())

    call("read_file", path="MEMORY.md")
    before = count()
    for path in PATHS.values():
        call("read_file", path=path)
        call("grep", pattern="x", path="sub")
    assert count() == before
