"""A pipe in the place of a file: nothing waits for its writer."""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from assistant import config
from assistant.disk import locking, storage
from assistant.errors import ConfigError, StorageError
from assistant.importing import archive
from assistant.memory.sources import conversations, notes
from assistant.workspace import machine
from assistant.workspace.folder import Workspace


@pytest.fixture(autouse=True)
def impatient() -> Iterator[None]:
    """A call that waits fails."""

    def fail(*_: object) -> None:
        raise AssertionError("it waits")

    signal.signal(signal.SIGALRM, fail)
    signal.alarm(20)
    yield
    signal.alarm(0)


@pytest.mark.parametrize("read", [config.read_file, config.read_recipe])
def test_settings_are_read_from_a_file_only(
    tmp_path: Path, read: Callable[[Path], config.Raw]
) -> None:
    os.mkfifo(tmp_path / "assistant.toml")
    with pytest.raises(ConfigError, match="cannot be read: it is not a file") as caught:
        read(tmp_path / "assistant.toml")
    assert caught.value.cure == "Move what is there out of the way"


def test_files_of_a_workspace_are_not_waited_for(workspace: Workspace, tmp_path: Path) -> None:
    for name in ("machine", "owner.lock", "journal.jsonl", "app.json", "x.zip"):
        path = workspace.root / ".assistant" / name
        path.parent.mkdir(exist_ok=True)
        os.mkfifo(path)
    private = workspace.private
    os.mkfifo(workspace.root / "x.zip")
    assert machine.lives_here(private)
    assert locking.holder(private / "owner.lock") is None
    assert not conversations.is_imported(private / "journal.jsonl")
    assert notes._setting(private / "app.json", "folder") == ""
    with pytest.raises(StorageError, match="cannot be written"):
        storage.append(private / "journal.jsonl", b"{}")
    assert archive.export(workspace, tmp_path / "mind.zip")[0] == ["MEMORY.md"]
