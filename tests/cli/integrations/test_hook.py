"""`assistant hook` as coding agents call it."""

import json
import os
import subprocess
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import ASSISTANT, Run

PROMPT = {"hook_event_name": "UserPromptSubmit", "session_id": "s1"}


def event(**more: Any) -> str:
    return json.dumps({**PROMPT, **more})


@pytest.fixture
def hook(run: Run) -> Run:
    """Runs `assistant hook` for as long as it takes on a busy machine."""
    return partial(run, "hook", "--patient")


def test_a_prompt_is_given_what_is_worth_its_tokens(run: Run, hook: Run) -> None:
    run("recall", "key")  # warm
    asked = event(prompt="who has the spare key?")
    told = json.loads(hook("UserPromptSubmit", stdin=asked).stdout)
    told = told["hookSpecificOutput"]
    assert "The spare key is with Ada" in told["additionalContext"]
    assert "MEMORY.md:" in told["additionalContext"]
    for nothing in (
        event(prompt="thanks!"),
        event(prompt="/compact"),
        event(prompt=""),
        "garbage{",
        "",
    ):
        done = hook("UserPromptSubmit", "--odd", stdin=nothing)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    again = event(prompt="who has the spare key, again?")
    assert hook("UserPromptSubmit", stdin=again).stdout == ""  # it was told already

    def said(session: str, *options: str) -> str:
        asked = event(session_id=session, prompt="who has the spare key?")
        return hook("prompt", *options, stdin=asked).stdout

    hook("--quiet-for", "once")
    assert said("s2") == "" and said("s2") != ""
    assert said("s2") == ""
    hook("PreCompact", stdin=event(session_id="s2"))  # its model will not know it any more
    assert said("s2") != ""
    assert said("s3", "--quiet-for", "session") == "" and said("s3") == ""
    assert said("s4") != ""


def test_the_project_is_the_one_that_the_program_works_in(
    run: Run, hook: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("alpha", "beta", "beta/alpha"):
        (tmp_path / name / ".git").mkdir(parents=True)
        (tmp_path / name / "src").mkdir()
    for name in ("alpha", "beta"):
        monkeypatch.chdir(tmp_path / name)
        run("remember", "--project", f"We deploy {name} on the {name} server")

    def told(place: dict[str, Any]) -> str:
        asked = json.dumps({"session_id": str(place), "prompt": "how do we deploy?", **place})
        return hook("prompt", stdin=asked).stdout

    for here in (tmp_path / "alpha", tmp_path):
        monkeypatch.chdir(here)
        for place in (
            {"cwd": str(tmp_path / "beta")},
            {"cwd": str(tmp_path / "beta" / "src"), "hook_event_name": "UserPromptSubmit"},
            {"workspace_roots": [str(tmp_path / "beta")], "cursor_version": "2"},
        ):
            text = told({**place, "here": str(here)})
            assert "deploy beta" in text and "deploy alpha" not in text, (here, place)
        for nowhere in map(str, (tmp_path, tmp_path / "missing", tmp_path / "beta" / "alpha")):
            assert "We deploy" not in told({"cwd": nowhere, "here": str(here)})
    monkeypatch.chdir(tmp_path / "alpha")
    for silent in ({}, {"cwd": None}, {"cwd": ""}, {"workspace_roots": []}, {"workspace_roots": 7}):
        assert "deploy alpha" in told(silent)


def test_it_fails_open_whatever_is_wrong(tmp_path: Path) -> None:
    for folder in (tmp_path / "missing", tmp_path):
        done = subprocess.run(
            [ASSISTANT, "-w", folder, "hook", "UserPromptSubmit"],
            input=event(prompt="who has the key?"),
            capture_output=True,
            text=True,
            env={**os.environ, "ASSISTANT_MEMORY__K": "many"},
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_debug_says_why_nothing_was_imported(run: Run, hook: Run, tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").touch()
    for name in ("session-end", "compact", "stop"):
        for fields, said in (
            ({"transcript_path": f"{tmp_path}/none.jsonl"}, "none.jsonl"),
            ({"transcript_path": f"{tmp_path}/empty.jsonl"}, "empty.jsonl"),
            ({"transcript_path": str(tmp_path)}, str(tmp_path)),
            ({"messages": []}, "no transcript, and no messages"),
        ):
            asked = json.dumps({"session_id": "s1", **fields})
            done = hook(name, stdin=asked)
            assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
            done = run("--debug", "hook", name, "--patient", stdin=asked)
            assert (done.returncode, done.stdout) == (0, "") and said in done.stderr


def test_a_conversation_that_ends_is_a_session_here(
    run: Run, hook: Run, place: Path, tmp_path: Path
) -> None:
    record = tmp_path / "record.jsonl"
    lines = [
        {"type": "user", "message": {"content": "We deploy on Fridays at noon"}},
        {"type": "assistant", "message": {"content": [{"type": "text", "text": "Noted."}]}},
    ]
    record.write_text("".join(f"{json.dumps(each)}\n" for each in lines))
    for name in ("PreCompact", "SessionEnd"):
        done = hook(name, "--for", "claude-code", stdin=event(transcript_path=str(record)))
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    (listed,) = json.loads(run("sessions", "list", "--json").stdout)
    assert (listed["origin"], listed["turns"]) == ("claude-code", 1)
    assert "Fridays" in run("recall", "--sessions", "when is the deploy?").stdout


def test_an_agent_s_start_shows_its_owner_what_no_way_has_taken(
    place: Path, run: Run, hook: Run
) -> None:
    start = json.dumps({"hook_event_name": "SessionStart", "session_id": "a", "cwd": "/"})
    assert hook("SessionStart", stdin=start).stdout == ""
    (place / "HEARTBEAT.md").write_text("- every minute remind me: stretch\n")
    run("config", "set", "heartbeat.notify", "exit 3")
    assert run("heartbeat", "run").returncode == 0
    told = json.loads(hook("SessionStart", stdin=start).stdout)
    assert told["systemMessage"].endswith(": stretch (HEARTBEAT.md:1)")
    assert hook("sessionStart", "--for", "cursor", stdin=start).stdout == ""
    run("config", "set", "heartbeat.notify", "cat > /dev/null")
    assert run("heartbeat", "run").returncode == 0
    assert hook("SessionStart", stdin=start).stdout == ""
    assert "stretch (HEARTBEAT.md:1)" in run("ask", "hello").stderr
