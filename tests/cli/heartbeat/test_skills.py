"""Skills through the real command: in the prompt, fetched, brought in by a trigger, checked."""

import json
import os
import subprocess
from pathlib import Path

from assistant.messages import Reply, ToolCall
from tests.cli.conftest import ASSISTANT, Run
from tests.support.provider import Provider


def skill(place: Path, name: str, text: str) -> None:
    (place / "skills" / name).mkdir(parents=True)
    (place / "skills" / name / "SKILL.md").write_text(text, encoding="utf-8")


def asked(place: Path, provider: Provider, *words: str) -> "subprocess.CompletedProcess[str]":
    model = {"ASSISTANT_MODEL": "openai/test", "ASSISTANT_API_BASE": provider.url}
    return subprocess.run(
        [ASSISTANT, "-w", place, *words],
        capture_output=True,
        text=True,
        env=os.environ | model,
        stdin=subprocess.DEVNULL,
        check=True,
    )


def test_a_skill_is_listed_triggered_fetched_and_its_script_run(place: Path) -> None:
    skill(place, "tea", "---\ndescription: How to brew tea\ntriggers: [brew]\n---\nWarm the pot.\n")
    skill(place, "post", "---\ndescription: How mail is sent\n---\nRun scripts/stamp.sh\n")
    (place / "skills" / "post" / "scripts").mkdir()
    (place / "skills" / "post" / "scripts" / "stamp.sh").write_text("echo stamped $((40 + 2))\n")
    calls = (
        ToolCall("c1", "load_skills", {"names": ["post", "TEA"]}),
        ToolCall("c2", "shell", {"command": "sh skills/post/scripts/stamp.sh"}),
    )
    with Provider(Reply(tool_calls=calls), "Done.") as provider:
        done = asked(place, provider, "ask", "please brew some")
    first, second = (json.dumps(each.body["messages"]) for each in provider.requests)
    assert "- tea: How to brew tea (skills/tea/SKILL.md)" in first and "load_skills" in first
    assert "Warm the pot." in first and "Run scripts/stamp.sh" not in first
    assert "skill tea loaded: “brew”" in done.stderr
    results = [m["content"] for m in provider.requests[1].body["messages"] if m["role"] == "tool"]
    assert "Run scripts/stamp.sh" in results[0] and "skills/post/scripts/stamp.sh" in results[0]
    assert "Warm the pot." in results[0] and "stamped 42" in second


def test_a_beat_uses_them(place: Path) -> None:
    skill(place, "tea", "---\ndescription: How to brew tea\ntriggers: [brew]\n---\nWarm the pot.\n")
    skill(place, "post", "---\ndescription: How mail is sent\n---\nLick the stamp.\n")
    (place / "HEARTBEAT.md").write_text("- every minute: brew some, and post it\n")
    calls = (ToolCall("c1", "load_skills", {"names": ["post"]}),)
    with Provider(Reply(tool_calls=calls), "Done.") as provider:
        assert asked(place, provider, "heartbeat", "run").stdout == "Done.\n"
    first, second = (json.dumps(each.body["messages"]) for each in provider.requests)
    assert "Warm the pot." in first and "Lick the stamp." not in first
    assert "Lick the stamp." in second


def test_skills_are_begun_shown_and_checked(run: Run, place: Path) -> None:
    assert run("skills", "new", "Weekly Review").returncode == 2
    assert run("skills", "new", "weekly-review", "--description", 'Say "what": now').returncode == 0
    assert run("skills", "new", "weekly-review").returncode == 2
    assert "# Weekly review" in run("skills", "list", "weekly-review").stdout
    skill(place, "bad", "---\nname: bad\ndescription: [a\n---\n")
    skill(place, "all", "---\nname: all\ndescription: x\ntriggers: ['.*']\n---\n")
    checked = run("skills", "list")
    assert checked.returncode == 1
    assert "skills/all/SKILL.md:4 the trigger '.*' contains no word" in checked.stdout
    assert "skills/bad/SKILL.md:3 is not used: its front matter is not valid YAML" in checked.stdout
    listed = json.loads(run("skills", "list", "--json").stdout)
    assert [each["name"] for each in listed["skills"]] == ["all", "weekly-review"]
    assert [(each["path"], each["line"]) for each in listed["faults"]] == [
        ("skills/all/SKILL.md", 4),
        ("skills/bad/SKILL.md", 3),
    ]
    assert "skills/bad/SKILL.md:3" in run("doctor", "--without-model").stdout
