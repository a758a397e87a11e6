"""`assistant eval` on a real workspace: what it asks and what it shows."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from typer.testing import CliRunner

from assistant.cli.root import cli
from assistant.errors import UsageError
from assistant.workspace import template, trust
from assistant.workspace.folder import Workspace
from tests.support.provider import Provider

TWINS = 40
MEMORY = """# Memory

## Remembered -- 2026-05-01

- Sister Ana breeds sheep by the sea
- Prefers tea without sugar
""" + "".join(f"- The code is {number * 1117}\n" for number in range(1, TWINS + 1))


@pytest.fixture
def place(tmp_path: Path) -> Workspace:
    """A workspace with more facts of one wording than a recall returns."""
    made = template.create(tmp_path / "place").workspace
    trust.grant(made)
    (made.root / "MEMORY.md").write_text(MEMORY, encoding="utf-8")
    return made


def run(place: Workspace, *arguments: str, **env: str) -> Result:
    command = ["-w", str(place.root), "--no-daemon", "eval", *arguments]
    return CliRunner().invoke(cli, command, env=env)


def shown(place: Workspace, *arguments: str, **env: str) -> Any:
    done = run(place, *arguments, "--json", **env)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


@pytest.mark.slow
def test_what_recall_misses_is_shown_with_its_place(place: Workspace) -> None:
    told = shown(place)
    assert (told["facts"], told["questions"]) == (TWINS + 2, TWINS + 2)
    missed = told["missed"]
    assert missed and {each["question"] for each in missed} == {"What is the code?"}
    assert told["found"] == round(1 - len(missed) / (TWINS + 2), 4)
    lines = MEMORY.splitlines()
    for each in missed:
        assert lines[each["line"] - 1].startswith("- The code is")
        assert each["rank"] is None or each["rank"] > 5

    done = run(place)
    assert done.exit_code == 0, done.output
    assert f"Answers recalled: {TWINS + 2 - len(missed)} of {TWINS + 2}" in done.stdout
    assert f"MEMORY.md:{missed[0]['line']} {lines[missed[0]['line'] - 1]}" in done.stdout


def test_no_model_is_asked(place: Workspace, provider: Provider) -> None:
    configured = {"ASSISTANT_MODEL": "openai/test", "ASSISTANT_API_BASE": provider.url}
    assert shown(place, "-n", "3", **configured, OPENAI_API_KEY="k")["questions"] == 3
    assert provider.requests == []


def test_a_memory_without_facts_is_told(place: Workspace) -> None:
    (place.root / "MEMORY.md").write_text("# Memory\n", encoding="utf-8")
    done = run(place)
    assert isinstance(done.exception, UsageError)
    assert "no fact" in str(done.exception)
