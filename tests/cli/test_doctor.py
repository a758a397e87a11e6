"""`doctor`: every part is looked at, each fault has its cure, the next chat mentions it once."""

import json
import os
import re
from pathlib import Path

import pexpect
import pytest

from tests.cli.conftest import ASSISTANT, Run
from tests.support.provider import Provider, fails

PARTS = """
    path settings disk sandbox workspace files
    journal sessions skills stores embedder index chroma model profiles
    heartbeat web MCP_servers programs
"""


def test_a_healthy_place_is_told_part_by_part(place: Path, run: Run) -> None:
    run("remember", "The ladder is in the shed")
    done = run("doctor", "--json")
    assert done.returncode == 0, done.stdout
    found = {each["name"].replace(" ", "_"): each for each in json.loads(done.stdout)}
    assert list(found) == PARTS.split()
    states = {name: each["state"] for name, each in found.items()}
    assert "fault" not in states.values()
    assert re.fullmatch(r"\d+ files read", found["files"]["said"])
    assert re.fullmatch(r"your data is in \d+ files, \d\.\d MB", found["stores"]["said"])
    assert found["embedder"]["said"].startswith("all-MiniLM-L6-v2-")
    assert found["journal"]["said"] == "1 write"


@pytest.mark.slow
def test_a_file_that_no_store_has_and_a_folder_open_to_others_are_remarked_on(
    place: Path, run: Run
) -> None:
    private = place / ".assistant"
    (private / "left-behind.txt").write_text("Grandmother's recipe")
    (private / "and-another.txt").write_text("")
    state = [
        each for each in json.loads(run("doctor", "--json").stdout) if each["name"] == "stores"
    ]
    assert state[0]["state"] == "remark" and "forget --purge` does not reach" in state[0]["said"]
    assert " and 1 more" in state[0]["said"]
    private.chmod(0o755)
    assert f"chmod 700 {private}" in run("doctor").stdout


def test_faults_come_with_their_cures_and_are_mentioned_once(
    place: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / "AGENTS.md").write_bytes(b"\xff\xfe")
    (place / "HEARTBEAT.md").write_bytes(b"\xff")
    (place / "SOUL.md").unlink()
    (place / "skills/x").mkdir(parents=True)
    (place / "skills/x/SKILL.md").write_text("no front matter")
    (place / ".assistant/sessions").mkdir()
    damaged = place / ".assistant/sessions/20261121-133024-k7q.jsonl"
    damaged.write_text("{}\n{}\n")
    monkeypatch.setenv("ASSISTANT_INDEX__URL", "http://127.0.0.1:9")
    monkeypatch.setenv("ASSISTANT_PROFILES", '[{"name": "openai/a", "api_key_env": "MY_KEY"}]')
    monkeypatch.setenv("ASSISTANT_MODEL", "anthropic/claude-sonet-4-5")
    done = run("doctor")
    assert done.returncode == 1
    faults = [line for line in done.stdout.splitlines() if line.startswith("✗ ")]
    for said in (
        r"files: (?=.*AGENTS.md is not UTF-8 text)(?=.*HEARTBEAT.md is not).*SOUL.md is missing",
        "skills: skills/x/SKILL.md:1 is not used",
        "sessions: .*20261121-133024-k7q",
        "chroma: The Chroma server at http://127.0.0.1:9 cannot be reached",
        "profiles: MY_KEY",
    ):
        (line,) = [line for line in faults if re.match(f"✗ {said}", line)]
        assert ". " in line, line
    assert "did you mean anthropic/claude-sonnet-4-5" in done.stdout


@pytest.mark.slow
def test_the_model_is_asked_with_consent_only(place: Path) -> None:
    with Provider(fails(401)) as provider:
        for answer, said, code in (("n", "", 0), ("y", "✗ answer", 1)):
            child = pexpect.spawn(
                str(ASSISTANT),
                ["-w", str(place), "doctor"],
                env={
                    **os.environ,
                    "ASSISTANT_MODEL": "openai/test",
                    "ASSISTANT_API_BASE": provider.url,
                },
                encoding="utf-8",
                timeout=600,
                dimensions=(40, 200),
            )
            child.expect("Send openai/test one word")
            assert "answer:" not in str(child.before)
            child.send(f"{answer}\r")
            if said:
                child.expect(said)
            child.expect(pexpect.EOF)
            child.close()
            assert child.exitstatus == code
        assert len(provider.requests) == 1


@pytest.mark.slow
def test_a_journal_that_cannot_be_read_is_a_fault(run: Run, place: Path) -> None:
    (place / ".assistant/journal.jsonl").unlink(missing_ok=True)
    (place / ".assistant/journal.jsonl").mkdir(parents=True)
    done = run("doctor", "--json")
    findings = {each["name"]: each for each in json.loads(done.stdout)}
    assert findings["journal"]["state"] == "fault"
    assert "journal.jsonl cannot be read" in findings["journal"]["said"]
    assert done.returncode == 1


def test_what_stops_several_parts_is_one_fault(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSISTANT_EMBEDDING__MODEL", "/nowhere")
    done = run("doctor", "--json")
    findings = {each["name"]: each for each in json.loads(done.stdout)}
    assert "there is no embedding model at /nowhere" in findings["embedder"]["said"]
    assert findings["index"]["said"] == findings["chroma"]["said"] == "not checked: see embedder"
    assert done.returncode == 1
