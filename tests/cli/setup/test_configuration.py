"""`config`: what is set, where it comes from, and what is said of a fault."""

import json
import os
from pathlib import Path

import pexpect
import pytest

from assistant import config
from assistant.cli.commands.config import path_of
from assistant.errors import ConfigError
from assistant.settings import tree as settings
from tests.cli.conftest import ASSISTANT, Run

TOML = """\
# mine
[memory]
k = 5 # few

[[profiles]]
name = "openai/a"
[[profiles]]
name = "openai/b"
context_window = 9000
"""


@pytest.fixture
def file(home: Path) -> Path:
    path = home / ".config/assistant/config.toml"
    path.parent.mkdir(parents=True)
    path.write_text(TOML)
    return path


def test_settings_are_set_read_and_unset_and_comments_stay(file: Path, run: Run) -> None:
    assert f"The configuration file is {file}." in run("config", "show").stderr
    for change in (
        ("memory.k", "7"),
        ("policy.allow", "shell:git status*", "shell:ls*"),
        ("policy.deny", '["*:secret/*"]'),
        ("profiles.2.context_window", "8000"),
        ("profiles.3.name", "ollama_chat/qwen3"),
    ):
        done = run("config", "set", *change)
        assert done.returncode == 0, done.stderr
    assert run("config", "show", "memory.k").stdout == "7\n"
    assert run("config", "show", "policy.allow").stdout == "shell:git status*\nshell:ls*\n"
    assert json.loads(run("config", "show", "policy.deny", "--json").stdout) == ["*:secret/*"]
    assert run("config", "show", "profiles.2.context_window").stdout == "8000\n"
    assert run("config", "unset", "profiles.1").returncode == 0
    assert run("config", "set", "memory.k", "").returncode == 0
    assert run("config", "show", "memory.k").stdout == f"{settings.Settings().memory.k}\n"
    assert run("config", "show", "profiles.2.name").stdout == "ollama_chat/qwen3\n"
    unset = run("config", "show", "index.url")
    assert (unset.returncode, unset.stdout) == (1, "")
    assert file.read_text().startswith("# mine\n[memory]\n")


SERVER = """\
[mcpServers.tiny-one]
command = "tiny" # small
env = { TOKEN = "abc123" }
"""


def test_what_show_lists_can_be_set_and_unset(file: Path, run: Run) -> None:
    file.write_text(f"{TOML}\n{SERVER}")
    listed = [line.partition(" = ")[0] for line in run("config", "show").stdout.splitlines()]
    assert "mcpServers.tiny-one.timeout_seconds" in listed and "profiles.1.name" in listed
    assert [key for key in listed if not path_of(key)] == []
    for key, value in (("disabled", "true"), ("timeout_seconds", "9"), ("env.USER", "mia")):
        done = run("config", "set", f"mcpServers.tiny-one.{key}", value)
        assert done.returncode == 0, done.stderr
    assert run("config", "show", "mcpServers.tiny-one.disabled").stdout == "true\n"
    assert run("config", "show", "mcpServers.tiny-one.timeout_seconds").stdout == "9.0\n"
    assert 'TOKEN = "abc123", USER = "mia"' in file.read_text() and "# small" in file.read_text()
    for key in ("mcpServers.tiny-one.env.USER", "reach.ways"):
        assert "hunter2" not in run("config", "set", key, "tgram://hunter2/1").stdout
    assert file.read_text().count("tgram://hunter2/1") == 2
    run("config", "unset", "reach.ways")
    run("config", "unset", "mcpServers.tiny-one.env.USER")
    run("config", "unset", "mcpServers.tiny-one.timeout_seconds")
    assert "mia" not in file.read_text() and "timeout" not in file.read_text()
    wrong = run("config", "unset", "mcpServers.tiny-one.command")
    assert wrong.returncode and "`command`" in wrong.stderr and "abc123" not in wrong.stderr
    assert run("config", "set", "mcpServers.tiny-one.timeot", "9").returncode


def test_an_empty_value_that_means_something_is_kept(file: Path, run: Run) -> None:
    for key in ("heartbeat.notify", "embedding.query_prefix"):
        assert run("config", "set", key, "").stdout == f"{key} =   ({file})\n"
        assert run("config", "show", key).stdout == "\n"
        assert f"{key} = unset  (default)" in run("config", "unset", key).stdout


def test_an_item_of_a_list_is_removed_whole_and_leaves_nothing(file: Path, run: Run) -> None:
    done = run("config", "unset", "profiles.1.name")
    assert done.returncode and "`assistant config unset profiles.1` removes all" in done.stderr
    for key in ("profiles.2", "profiles.1"):
        assert run("config", "unset", key).returncode == 0
    assert "profiles" not in file.read_text() and "k = 5 # few" in file.read_text()


FAULTS = [
    ("[memroy]\nk = 3\n", {}, "there is no section [memroy] (FILE:1). Did you mean [memory]?"),
    ("[memory]\nk = 3\n[wbe]\n", {}, "there is no section [wbe] (FILE:3). Did you mean [web]?"),
    (
        "[web]\nfetch = 7\n",
        {},
        "the setting 'web.fetch' cannot be 7 (FILE:2): it should be true or",
    ),
    ("[hooks]\nrun = 'x'\n", {}, "the setting 'hooks' is a table (FILE:1): write it as [[hooks]]"),
    ("[daemon]\nidle_seconds = inf\n", {}, "be inf (FILE:2): it should be a finite number"),
    (TOML, {"ASSISTANT_IDLE_SECONDS": "nan"}, "(ASSISTANT_IDLE_SECONDS): it should be a finite"),
    ("index = 3\n", {}, "the setting 'index' cannot be 3 (FILE:1): it should be a section"),
    (TOML, {"ASSISTANT_MEMORY__K": "a few"}, "'memory.k' cannot be 'a few' (ASSISTANT_MEMORY__K)"),
    (TOML, {"ASSISTANT_MEMROY__K": "3"}, "[memroy] (ASSISTANT_MEMROY__K). Did you mean [memory]?"),
    (TOML, {"ASSISTANT_POLICY__DENY": '["1'}, "(ASSISTANT_POLICY__DENY): it should be a list as"),
]


@pytest.mark.parametrize(
    ("text", "variables", "said"),
    [
        pytest.param(*fault, marks=[pytest.mark.slow] if n % 4 else [])
        for n, fault in enumerate(FAULTS)
    ],
)
def test_every_command_says_the_same_of_a_fault_whichever_process_reads_the_settings(
    text: str,
    variables: dict[str, str],
    said: str,
    file: Path,
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert run("recall", "key").returncode == 0  # starts a daemon without the faults
    file.write_text(text)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    outputs = {run(*words).stderr for words in (("recall", "key"), ("config", "show"))}
    if not variables:
        outputs.add(run("config", "set", "memory.budget", "900").stderr)
    assert len(outputs) == 1 and said.replace("FILE", str(file)) in outputs.pop()
    assert file.read_text() == text


@pytest.mark.slow
def test_what_holds_after_a_setting_is_removed_is_what_show_says(
    file: Path, place: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / "assistant.toml").write_text("[context]\nreserve_tokens = 99\n")
    monkeypatch.setenv("ASSISTANT_MODEL", "openai/c")
    for key in ("memory.k", "model.name", "context.reserve_tokens", "profiles.1.context_window"):
        said = run("config", "unset", key)
        assert said.stdout in run("config", "show").stdout, said
        is_overridden = key in ("model.name", "context.reserve_tokens")
        assert ("overrides" in said.stderr) is is_overridden


@pytest.mark.slow
def test_what_cannot_be_set_changes_nothing(file: Path, run: Run) -> None:
    for key, value, said in (
        ("memory.kk", "3", "Did you mean memory.k?"),
        ("memory", "3", "there is no setting 'memory'"),
        ("profiles.9.name", "openai/a", "First `assistant config set profiles.3.name VALUE`"),
        ("profiles.0.name", "openai/a", "there is no setting"),
        ("memory.k", "many", "'memory.k' cannot be 'many'"),
        ("sources.1.name", "work", "First `assistant config set sources.1.path VALUE`"),
        ("model", "nobody/model", "the model 'nobody/model' has no known provider"),
    ):
        done = run("config", "set", key, value)
        assert done.returncode in (1, 2)
        assert said in done.stderr and done.stderr.count("\n") == 1
    assert file.read_text() == TOML


def test_each_value_says_where_it_comes_from(
    file: Path, place: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / "assistant.toml").write_text("\n[context]\nreserve_tokens = 99\n")
    monkeypatch.setenv("ASSISTANT_MODEL", "openai/c")
    monkeypatch.setenv("ASSISTANT_SKILLS__DISABLED", "weather")
    shown = run("config", "show").stdout.splitlines()
    for line in (
        f"memory.k = 5  ({file}:3)",
        f"profiles.2.context_window = 9000  ({file}:9)",
        f"context.reserve_tokens = 99  ({place}/assistant.toml:3)",
        "model.name = openai/c  (ASSISTANT_MODEL)",
        'skills.disabled = ["weather"]  (ASSISTANT_SKILLS__DISABLED)',
        "memory.budget = 1000  (default)",
    ):
        assert line in shown


@pytest.mark.parametrize(
    ("variable", "value", "path", "expected"),
    [
        ("ASSISTANT_PROFILES", "openai/a, openai/b", "profiles", ["openai/a", "openai/b"]),
        ("ASSISTANT_PROFILES", '[{"name": "x/y", "context_window": 4096}]', "profiles", ["x/y"]),
        ("ASSISTANT_POLICY__DENY", '["a,b", "c"]', "policy.deny", ("a,b", "c")),
        ("ASSISTANT_POLICY__DENY", "a,b\nc", "policy.deny", ("a,b", "c")),
        ("ASSISTANT_POLICY__DENY", "[a-z]*", "policy.deny", ("[a-z]*",)),
        ("ASSISTANT_REACH__WAYS", "[[secret:telegram]]", "reach.ways", ("[[secret:telegram]]",)),
        ("ASSISTANT_SHELL__READABLE", "~/.local/bin", "shell.readable", ("~/.local/bin",)),
        ("ASSISTANT_WEB__FETCH", "true", "web.fetch", True),
    ],
)
def test_lists_and_profiles_come_by_the_environment_too(
    variable: str,
    value: str,
    path: str,
    expected: object,
    file: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(variable, value)
    found = settings.validate(config.load())
    if path == "profiles":
        assert [each.name for each in found.profiles] == expected
    else:
        section, _, key = path.partition(".")
        assert getattr(getattr(found, section), key) == expected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[memory]\nk = 5\nbudget 3\n", "line 3, column 8"),
        ("[memory]\nk = [\n", "at the end, line 2"),
        ("[memory]\n\nkk = 5\n", "config.toml:3)"),
        ("[memory]\nk = 'x'\n", "config.toml:2)"),
        ("memory.k = 'x'\n", "config.toml:1)"),
        ("[[profiles]]\nname = 'a'\n[[profiles]]\nname = 3\n", "config.toml:4)"),
        ("[[profiles]]\nname = 'a'\nnote = 3\n", "'profiles.1.note' "),
        ("[memorie]\nk = 3\n", "config.toml:1)"),
    ],
)
def test_a_fault_in_the_file_is_named_with_its_line(text: str, said: str, file: Path) -> None:
    file.write_text(text)
    with pytest.raises(ConfigError) as caught:
        settings.validate(config.load())
    assert said in str(caught.value)
    assert caught.value.cure


def test_bytes_that_are_no_text_are_named_with_their_line(file: Path) -> None:
    file.write_bytes(b"[memory]\nk = 5\n# \xff\n")
    with pytest.raises(ConfigError, match="in line 3"):
        config.load()


def test_a_models_name_is_checked_when_it_is_set(
    home: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = run("config", "set", "model", "anthropic/claude-sonet-4-5")
    assert done.returncode == 0
    assert "did you mean anthropic/claude-sonnet-4-5" in done.stderr
    assert "ANTHROPIC_API_KEY is not set" in done.stderr
    monkeypatch.setenv("ANTHROPIC_API_KEY", "x")
    assert run("config", "set", "model", "anthropic/claude-sonnet-4-5").stderr == ""


def test_a_broken_file_is_edited_until_it_is_well(file: Path, tmp_path: Path) -> None:
    file.write_text("[memory]\nk == 5\n")
    editor = tmp_path / "editor"
    editor.write_text(
        f"#!/bin/sh\nif [ -e {tmp_path}/again ]; then sed -i 's/==/=/' \"$1\"; fi\n"
        f"touch {tmp_path}/again\n"
    )
    editor.chmod(0o755)
    child = pexpect.spawn(
        str(ASSISTANT),
        ["config", "edit"],
        env={**os.environ, "EDITOR": str(editor)},
        encoding="utf-8",
        timeout=600,
    )
    child.expect("line 2, column")
    child.expect("Edit it again")
    child.send("\r")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0
    assert file.read_text() == "[memory]\nk = 5\n"


@pytest.mark.parametrize("listed", ["", " , ", "\n"])
def test_an_empty_list_of_sections_names_none(listed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSISTANT_CONTEXT__SECTIONS", listed)
    assert settings.validate(config.load()).context.sections == ()
