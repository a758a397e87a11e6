"""`memory core`: what stands in every prompt is shown, and changed by its owner."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.support.provider import Provider

KEY = "The spare key is with Ada, next door"


def test_a_fact_is_put_into_every_prompt_and_out_of_it(place: Path, run: Run) -> None:
    path = place / "MEMORY.md"
    with path.open("a") as file:
        file.write("- I am allergic to nuts\n- I am allergic to nuts and sesame\n")
    before = path.read_bytes()

    added = run("memory", "core", "add", "spare", "key")
    assert added.returncode == 1 and "'spare key' does not identify a single fact" in added.stderr
    added = run("memory", "core", "add", KEY)
    assert added.returncode == 0
    assert added.stdout.startswith("Now in every prompt: MEMORY.md:")
    assert f"- {KEY} <!-- core -->" in path.read_text().splitlines()
    assert "Already" in run("memory", "core", "add", KEY).stderr
    listed = run("memory", "core")
    assert "All of memory is in every prompt" in listed.stdout
    (line,) = [line for line in listed.stdout.splitlines() if KEY in line]
    assert line.startswith("MEMORY.md:") and "added by you" in line and "<!--" not in line
    assert run("memory", "undo").stdout == f"Undone: without the mark again, in MEMORY.md: {KEY}\n"
    assert path.read_bytes() == before

    facts = json.loads(run("memory", "core", "--json").stdout)["facts"]
    nuts = {fact["text"]: fact for fact in facts if "nuts" in fact["text"]}
    assert len(nuts) == 2 and not any(fact["added"] for fact in nuts.values())
    line = nuts["I am allergic to nuts"]["line"]
    dropped = run("memory", "core", "drop", "I am allergic to nuts")
    assert dropped.stdout == f"No longer in the core: MEMORY.md:{line}  I am allergic to nuts\n"
    assert "All of memory is in every prompt while it is small" in dropped.stderr
    run("memory", "undo")
    run("config", "set", "memory.whole", "0")
    dropped = run("memory", "core", "drop", "I am allergic to nuts")
    assert "All of memory" not in dropped.stderr
    run("memory", "undo")
    run("config", "unset", "memory.whole")
    done = json.loads(run("memory", "core", "drop", "I am allergic to nuts", "--json").stdout)
    assert done == {"source": "MEMORY.md", "line": line, "changed": True}
    assert "- I am allergic to nuts <!-- not core -->\n" in path.read_text()
    assert "Already kept out" in run("memory", "core", "drop", f"MEMORY.md:{line}").stderr
    assert "- I am allergic to nuts <!-- not core -->\n" in path.read_text()
    assert "allergic to nuts  " not in run("memory", "core").stdout
    assert "<!--" not in run("recall", "nuts", "--json").stdout
    assert run("memory", "core", "add", f"MEMORY.md:{line}").returncode == 0
    assert "- I am allergic to nuts <!-- core -->\n" in path.read_text()


def test_what_cannot_stand_there_is_said(place: Path, run: Run) -> None:
    (place / "AGENTS.md").write_text("- When planning: ask first\n")
    (place / "memory").mkdir(exist_ok=True)
    (place / "memory" / "code.md").write_text("```\nthe code of the gate\n```\n")
    for words, why in (
        (["put", KEY], "takes `add` or `drop`"),
        (["add"], "takes `add` or `drop`"),
        (["add", "zebras"], "'zebras' does not identify a single fact"),
        (["add", "AGENTS.md:1"], "AGENTS.md is never part of the core"),
        (["add", "memory/code.md:1"], "memory/code.md:1 cannot be marked"),
    ):
        refused = run("memory", "core", *words)
        assert refused.returncode and why in refused.stderr, refused
    assert "<!-- core" not in (place / "memory" / "code.md").read_text()


def test_without_a_model_nothing_can_say_what_facts_matter_for(run: Run) -> None:
    refused = run("memory", "tidy", "--with-model")
    assert refused.returncode == 2 and "no model can be used" in refused.stderr


@pytest.mark.slow
def test_the_model_says_what_facts_matter_for_but_of_none_that_a_rule_hides(
    place: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / "memory").mkdir()
    (place / "memory" / "diary.md").write_text("- Slept badly\n")
    (place / "HEARTBEAT.md").unlink(missing_ok=True)
    (place / "AGENTS.md").unlink()
    answer = json.dumps({"facts": [{"fact": 1, "for": ["a lost key", "travel"]}]})
    with Provider(answer, json.dumps({"pairs": []})) as provider:
        monkeypatch.setenv("ASSISTANT_MODEL", "openai/test")
        monkeypatch.setenv("ASSISTANT_API_BASE", provider.url)
        monkeypatch.setenv("ASSISTANT_POLICY__DENY", "recall:memory/diary.md")
        done = run("memory", "tidy", "--with-model")
        sent = str(provider.requests[0].body["messages"])
    assert "1 of 1 fact now say when they matter" in done.stderr, done
    assert KEY in sent and "Slept badly" not in sent
    assert "a lost key" in (place / "MEMORY.md").read_text()
