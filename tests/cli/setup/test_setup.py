"""Setting up: `init`, `config`, `trust`, `secrets`."""

import json
import os
import subprocess
from pathlib import Path

import pexpect
import pytest

from assistant.workspace import folder as workspace
from assistant.workspace import trust
from tests.cli.conftest import ASSISTANT, Run
from tests.support.daemon import ended


def test_init_adds_what_is_missing_and_keeps_the_rest(place: Path, run: Run) -> None:
    (place / "SOUL.md").unlink()
    (place / "USER.md").write_text("mine")
    shown = run("init", str(place)).stdout
    assert "added SOUL.md" in shown
    assert "kept  USER.md" in shown
    assert (place / "USER.md").read_text() == "mine"


def test_init_names_the_memories_that_other_programs_have(place: Path, run: Run) -> None:
    home = Path(os.environ["HOME"])
    note = home / ".claude" / "projects" / "shop" / "memory" / "MEMORY.md"
    note.parent.mkdir(parents=True)
    note.write_text("- We deploy on Fridays\n")
    shown = run("init", str(place)).stdout
    assert (
        f"Claude Code keeps a memory on this machine: `assistant -w {place} import {home}/.claude`"
        in shown
    )
    assert "Codex" not in shown
    assert "1 fact, for your review: 1 new" in run("import", str(home / ".claude")).stdout


@pytest.mark.slow
def test_a_copied_workspace_stays_out_of_prompts_until_it_is_trusted(
    place: Path, run: Run, tmp_path: Path
) -> None:
    (tmp_path / "copy").mkdir()
    for path in place.glob("*.md"):
        (tmp_path / "copy" / path.name).write_bytes(path.read_bytes())
    copy = workspace.Workspace(tmp_path / "copy")
    shown = run("-w", str(copy.root), "context", "spare key").stdout
    assert "Ada, next door" not in shown
    assert "Ada, next door" in run("-w", str(copy.root), "recall", "spare key").stdout
    assert run("-w", str(copy.root), "trust").returncode == 0
    assert trust.is_trusted(copy)
    assert "Ada, next door" in run("-w", str(copy.root), "context", "spare key").stdout
    ended(copy.root)


def test_a_setting_is_kept_with_the_files_comments(run: Run) -> None:
    path = Path(os.environ["HOME"]) / ".config/assistant/config.toml"
    path.parent.mkdir(parents=True)
    path.write_text("# mine\n[memory]\nk = 5 # few\n")
    assert run("config", "set", "memory.budget", "1500").returncode == 0
    assert run("config", "set", "model", "ollama_chat/qwen3").returncode == 0
    text = path.read_text()
    assert "# mine" in text
    assert "# few" in text
    shown = json.loads(run("config", "show", "--json").stdout)
    assert shown["memory"]["budget"] == 1500
    assert shown["model"]["name"] == "ollama_chat/qwen3"


@pytest.mark.slow
def test_what_an_embedding_model_costs_is_said_before_it_is_set(run: Run) -> None:
    assert run("recall", "spare key").returncode == 0
    shown = run("config", "set", "embedding.model", "all-MiniLM-L6-v2").stdout.splitlines()
    assert "has 0 texts of" in shown[0]
    assert shown[1].startswith("embedding.model = all-MiniLM-L6-v2")


def test_a_wrong_setting_changes_nothing(run: Run) -> None:
    done = run("config", "set", "memory.k", "many")
    assert done.returncode == 2
    assert "memory.k" in done.stderr
    done = run("config", "set", "embedding.model", "/nowhere")
    assert done.returncode == 1
    assert "there is no embedding model at /nowhere" in done.stderr
    assert not (Path(os.environ["HOME"]) / ".config/assistant/config.toml").exists()


def test_a_recipe_may_not_name_a_model(place: Path, run: Run) -> None:
    (place / "assistant.toml").write_text('[model]\nname = "openai/evil"\n')
    done = run("ask", "hello")
    assert done.returncode == 1
    assert "may contain only [context] and [skills]" in done.stderr


def test_secrets_are_listed_by_name_and_never_shown(run: Run) -> None:
    added = run("secrets", "add", "door_key", stdin="correct horse battery\n")
    assert added.returncode == 0
    listed = run("secrets", "show")
    assert listed.stdout == "door_key\n"
    assert "horse" not in added.stdout + listed.stdout
    as_json = run("secrets", "show", "door_key", "--json").stdout
    assert json.loads(as_json) == "correct horse battery"
    assert run("secrets", "remove", "door_key", "--yes").returncode == 0
    none = run("secrets", "show")
    assert none.stdout == "" and "assistant secrets add NAME" in none.stderr
    assert json.loads(run("secrets", "show", "--json").stdout) == []


def test_a_secret_is_neither_replaced_nor_removed_unasked(place: Path, run: Run) -> None:
    def add(value: str, *options: str) -> subprocess.CompletedProcess[str]:
        return run("secrets", "add", "door", *options, stdin=f"{value}\n")

    with (place / "MEMORY.md").open("a") as memory:
        memory.write("- The door opens with [[secret:door]]\n- Ada has [[secret:door]] too\n")
    add("correct horse")
    assert add("correct horse").returncode == 0
    for refused in (add("battery staple"), run("secrets", "remove", "door")):
        assert refused.returncode == 2 and "Run it again with --yes" in refused.stderr
        assert f"[[secret:door]] is in 2 lines of {place}" in refused.stderr
    assert run("secrets", "add", "door", "--yes", stdin="short").returncode == 2
    assert run("secrets", "show").stdout == "door\n"
    assert run("secrets", "show", "door").stdout == "correct horse\n"
    assert "door_1" in add("battery staple", "--yes").stdout
    assert "door_2" in add("a third one", "--yes").stdout
    values = [run("secrets", "show", name).stdout for name in ("door", "door_1", "door_2")]
    assert values == ["a third one\n", "correct horse\n", "battery staple\n"]
    assert run("secrets", "remove", "door", "--yes").returncode == 0
    (place / "MEMORY.md").unlink()
    assert "no longer registered" in run("secrets", "remove", "door_1", "--yes").stdout


def test_at_a_terminal_the_owner_is_asked_before_a_secret_goes(place: Path, run: Run) -> None:
    run("secrets", "add", "door", stdin="correct horse\n")
    for typed, remaining in (("n", "door\n"), ("y", "")):
        child = pexpect.spawn(str(ASSISTANT), ["-w", str(place), "secrets", "remove", "door"])
        child.expect("Delete door and its value for good")
        child.sendline(typed)
        child.expect(pexpect.EOF)
        assert run("secrets", "show").stdout == remaining
