"""What the commands run by name is not taken from where the model's tools write."""

import os
from pathlib import Path

import pytest

from tests.cli.conftest import Run


@pytest.mark.parametrize(
    ("words", "name", "variables"),
    [
        (["memory", "map", "--open"], "browser", {"BROWSER": "browser"}),
        (["config", "edit"], "editor", {"EDITOR": "editor"}),
        (["config", "edit"], "nano", {"EDITOR": ""}),
        (["reach", "test"], "notify-send", {}),
        (["reach", "test"], "sh", {"ASSISTANT_HEARTBEAT__NOTIFY": "notify-send"}),
    ],
)
def test_a_planted_program_is_not_run(
    place: Path,
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    name: str,
    variables: dict[str, str],
) -> None:
    said, system = tmp_path / "said", tmp_path / "system"
    for folder, names in ((place / "bin", {name}), (system, {name, "notify-send"} - {"sh"})):
        folder.mkdir()
        for program in names:
            (folder / program).write_text(f"#!/bin/sh\necho {folder.name} >> {said}\n")
            (folder / program).chmod(0o755)
    monkeypatch.setenv("PATH", f"{place}/bin:{system}:{os.environ['PATH']}")
    for variable, value in variables.items():
        monkeypatch.setenv(variable, value)
    done = run(*words)
    assert done.returncode == 0, done.stderr
    assert set(said.read_text().split()) == {system.name}
