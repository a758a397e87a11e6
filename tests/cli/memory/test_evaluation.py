"""`assistant eval` on a real workspace: what it asks, what it shows, what it keeps and sends."""

import json
import re
from math import ceil
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from typer.testing import CliRunner

from assistant.cli.main import cli
from assistant.display import local_time
from assistant.errors import UsageError
from assistant.upkeep.quiz_by_model import BATCH
from assistant.workspace import template, trust
from assistant.workspace.folder import Workspace
from tests.support.provider import Provider, Received

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


def test_what_recall_misses_is_shown_and_figures_are_kept(place: Workspace) -> None:
    first = shown(place)
    assert (first["kind"], first["facts"], first["questions"]) == (
        "self-retrieval",
        TWINS + 2,
        TWINS + 2,
    )
    missed = first["missed"]
    assert missed and {each["question"] for each in missed} == {"What is the code?"}
    assert first["found"] == round(1 - len(missed) / (TWINS + 2), 4)
    lines = MEMORY.splitlines()
    for each in missed:
        assert lines[each["line"] - 1].startswith("- The code is")
        assert each["place"] is None or each["place"] > 5
    assert first["past"] == []
    kept = place.evaluations.read_text("utf-8")
    assert "code" not in kept and "What" not in kept

    done = run(place)
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("self-retrieval: ")
    cited = f"MEMORY.md:{missed[0]['line']} {lines[missed[0]['line'] - 1]}"
    assert cited in done.stdout
    assert f"{local_time(first['time'])}  {TWINS + 2} questions  returned" in done.stdout
    assert len(place.evaluations.read_text("utf-8").splitlines()) == 2


def test_a_model_is_asked_only_if_the_owner_wants_it(place: Workspace, provider: Provider) -> None:
    configured = {"ASSISTANT_MODEL": "openai/test", "ASSISTANT_API_BASE": provider.url}
    assert shown(place, "-n", "3", **configured, OPENAI_API_KEY="k")["kind"] == "self-retrieval"
    assert provider.requests == []


def test_the_models_questions_are_figures_of_their_own(place: Workspace) -> None:
    def answer(request: Received) -> str:
        numbered = re.findall(r"^(\d+)\. (.+)$", request.body["messages"][-1]["content"], re.M)
        about = {
            number: "Which animals does my sister keep?"
            for number, fact in numbered
            if "sheep" in fact
        }
        return json.dumps(
            {"questions": [{"fact": int(n), "question": text} for n, text in about.items()]}
        )

    shown(place)
    with Provider(respond=answer) as provider:
        configured = {"ASSISTANT_MODEL": "openai/test", "ASSISTANT_API_BASE": provider.url}
        found = shown(place, "--with-model", **configured, OPENAI_API_KEY="k")
    assert len(provider.requests) == ceil((TWINS + 2) / BATCH)
    assert (found["kind"], found["questions"], found["found"]) == ("asked by the model", 1, 1.0)
    assert found["missed"] == found["past"] == []


def test_without_a_model_there_is_a_cure(place: Workspace) -> None:
    done = run(place, "--with-model")
    assert isinstance(done.exception, UsageError)
    assert "--with-model" in str(done.exception)
    assert not place.evaluations.exists()


def test_a_memory_without_facts_is_told(place: Workspace) -> None:
    (place.root / "MEMORY.md").write_text("# Memory\n", encoding="utf-8")
    done = run(place)
    assert isinstance(done.exception, UsageError)
    assert "no fact" in str(done.exception)
