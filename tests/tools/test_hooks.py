"""The owner's hooks before and after the model's tool calls, with real commands."""

import threading
from pathlib import Path

import pytest

from assistant.errors import ConfigError
from assistant.messages import ToolCall
from assistant.secrets.redactor import Redactor
from assistant.settings.sections import HookSettings
from assistant.settings.tree import validate
from assistant.tools.base import ToolResult
from assistant.tools.files.access import Roots
from assistant.tools.files.write import writing_tools
from assistant.tools.sandbox.process import available
from assistant.tools.shell.command import Shell
from assistant.tools.toolbox import Hooks, Toolbox
from assistant.workspace.checkpoints import Checkpoints, load
from assistant.workspace.folder import Workspace

pytestmark = pytest.mark.skipif(not available(), reason="no sandbox works here")


def call(roots: Roots, name: str, *hooks: HookSettings, sandbox: bool = True, **given: str) -> str:
    """The result of a call with these hooks."""
    interrupt = threading.Event()
    shell = Shell(roots, Redactor(), interrupt, lambda: sandbox)
    box = Toolbox(
        [*shell.tools(), *writing_tools(roots, Redactor(), Checkpoints())],
        hooks=Hooks(hooks, roots.directories, shell.run_hook),
    )
    return result(box, name, **given).content


def result(box: Toolbox, name: str, **given: str) -> ToolResult:
    verdict = box.review(ToolCall("c1", name, given))
    assert verdict.action == "run", verdict.reason
    return box.run(verdict)


def test_a_hook_that_fails_keeps_a_call_from_running_and_the_model_is_told_why(
    roots: Roots, workspace: Workspace
) -> None:
    hook = HookSettings(run='echo "no $TOOL: $ARGUMENTS"; exit 1', before=("shell:touch*",))
    refused = "a hook of the owner's refused this call: "
    told = call(roots, "shell", hook, command="touch a")
    assert told == refused + 'no shell: {"command": "touch a"}'
    assert not (workspace.root / "a").exists()
    call(roots, "shell", hook, command="echo b > b")
    assert (workspace.root / "b").exists()
    silent = HookSettings(run="exit 3", before=("shell",))
    assert f"{refused}exit 3" in call(roots, "shell", silent, command="true")


def test_what_a_hook_prints_after_a_call_is_added_to_its_result(
    roots: Roots, workspace: Workspace
) -> None:
    hook = HookSettings(
        run="tr a-z A-Z < draft.txt > upper.txt; echo formatted, failed=$FAILED, $RESULT",
        after=("write_file:*.txt",),
    )
    answer = call(roots, "write_file", hook, path="draft.txt", text="hello\n")
    assert "\n[A hook says: formatted, failed=, " in answer
    assert (workspace.root / "upper.txt").read_text() == "HELLO\n"
    assert "hook" not in call(roots, "write_file", hook, path="draft.md", text="hello\n")


def test_a_hook_is_confined_unless_its_owner_lets_it_out(roots: Roots, tmp_path: Path) -> None:
    path = tmp_path / "beside.txt"
    for outside in (False, True):
        hook = HookSettings(run=f"echo x > {path}", after=("shell",), outside=outside)
        call(roots, "shell", hook, command="true")
        assert path.exists() == outside


def test_where_no_sandbox_works_a_hook_stops_the_call_or_says_that_it_did_not_run(
    roots: Roots, workspace: Workspace
) -> None:
    before = HookSettings(run="true", before=("write_file",))
    told = call(roots, "write_file", before, sandbox=False, path="a.txt", text="x")
    assert told.startswith("a hook cannot run: No sandbox works on this machine")
    assert not (workspace.root / "a.txt").exists()
    after = HookSettings(run="true", after=("write_file",))
    told = call(roots, "write_file", after, sandbox=False, path="a.txt", text="x")
    assert "[A hook says: a hook cannot run: No sandbox" in told
    assert (workspace.root / "a.txt").exists()


def test_hooks_are_settings_and_a_mistake_in_one_is_named() -> None:
    chosen = validate({"hooks": [{"run": "make lint", "after": ["write_file"]}]})
    assert chosen.hooks[0].run == "make lint" and not chosen.hooks[0].outside
    with pytest.raises(ConfigError, match="hooks"):
        validate({"hooks": [{"run": "true", "befor": ["shell"]}]})


def test_what_a_hook_changes_is_undone_with_its_turn(
    roots: Roots, workspace: Workspace, tmp_path: Path
) -> None:
    draft, other = workspace.root / "draft.txt", workspace.root / "other.txt"
    draft.write_text("old\n")
    checkpoints = Checkpoints(tmp_path / "kept")
    shell = Shell(roots, Redactor(), threading.Event(), checkpoints=checkpoints)
    run = "tr a-z A-Z < draft.txt > t && mv t draft.txt; echo x > other.txt"
    box = Toolbox(
        writing_tools(roots, Redactor(), checkpoints),
        hooks=Hooks([HookSettings(run=run, after=("write_file",))], (), shell.run_hook),
    )
    checkpoints.begin("s", "e1")
    result(box, "write_file", path="draft.txt", text="new\n")
    checkpoints.end()
    assert (draft.read_text(), other.read_text()) == ("NEW\n", "x\n")
    assert load(tmp_path / "kept", "s", "e1").restore()[1] == []
    assert draft.read_text() == "old\n" and not other.exists()


def test_a_call_that_no_hook_can_be_given_whole_does_not_run(
    roots: Roots, workspace: Workspace
) -> None:
    hook = HookSettings(run="true", before=("write_file",))
    told = call(roots, "write_file", hook, path="long.txt", text="x" * 120_000)
    assert "too long for the owner's hook" in told
    assert not (workspace.root / "long.txt").exists()
