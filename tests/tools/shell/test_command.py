import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from assistant.messages import ToolCall
from assistant.secrets.redactor import Redactor
from assistant.settings.sections import PolicySettings
from assistant.tools.base import RESULT_LIMIT
from assistant.tools.files.access import Roots
from assistant.tools.files.mentions import Mentions
from assistant.tools.policy import ApproveAll, Decision, Rules
from assistant.tools.sandbox.process import available
from assistant.tools.shell.command import Shell, environment
from assistant.tools.toolbox import Toolbox
from assistant.workspace.folder import Workspace
from tests.tools.conftest import Call, calling, ends, reached

confined = pytest.mark.skipif(not available(), reason="no sandbox works here")


@pytest.fixture
def unconfined(roots: Roots, interrupt: threading.Event) -> Toolbox:
    """A shell on a machine where no sandbox works."""
    return Toolbox([Shell(roots, Redactor(), interrupt, lambda: False).tools()[0]])


@pytest.fixture(params=["confined", "outside"])
def anywhere(request: pytest.FixtureRequest, call: Call, approved: Call) -> Call:
    """The shell inside the sandbox, then outside of it."""
    if request.param == "outside":
        return lambda name, **arguments: approved(name, **arguments, outside=True)
    if not available():
        pytest.skip("no sandbox works here")
    return call


def test_the_model_is_told_which_programs_are_here_but_none_of_the_workspace(
    roots: Roots, interrupt: threading.Event, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted = roots.workspace.root / "bin"
    for folder, name in ((tmp_path / "usr", "pandoc"), (tmp_path / "usr", "zip"), (planted, "jq")):
        folder.mkdir(exist_ok=True)
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{planted}:{tmp_path / 'usr'}")
    shell, execute = Shell(roots, Redactor(), interrupt).tools()
    assert shell.spec.description.endswith("\n\nThis machine has: pandoc, zip.")
    assert "This machine" not in execute.spec.description


@confined
def test_bash_runs_a_command_also_once_a_message_has_named_files(
    roots: Roots, interrupt: threading.Event
) -> None:
    Mentions(roots.workspace, PolicySettings(), Path("/")).attached("look at @MEMORY.md")
    shell = Shell(roots, Redactor(), interrupt).tools()[0]
    assert "\n\nThe shell is bash." in shell.spec.description
    command = "set -o pipefail; a=(1 2); [[ x == x ]] && cat <(echo ${a[1]}) | cat"
    assert calling(Toolbox([shell]), ApproveAll())("shell", command=command).content == "2"


@confined
def test_sh_runs_a_command_where_the_sandbox_shows_no_bash(
    roots: Roots, interrupt: threading.Event, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/bash").symlink_to("/bin/bash")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    shell = Shell(roots, Redactor(), interrupt).tools()[0]
    assert shell.spec.description.endswith("\n\nThe shell is sh.")
    result = calling(Toolbox([shell]), ApproveAll())("shell", command="echo $0")
    assert result.content == "/bin/sh"


def test_a_command_runs_in_the_workspace(anywhere: Call, workspace: Workspace) -> None:
    result = anywhere("shell", command="pwd; echo err >&2; echo made > new.txt")
    assert result.content == f"{workspace.root}\nerr"
    assert not result.error
    assert (workspace.root / "new.txt").read_text() == "made\n"


@pytest.mark.parametrize(
    ("command", "ending"),
    [("exit 3", "[exit 3]"), ("kill -9 $$", "[exit 137]"), ("no-such-command", "[exit 127]")],
)
def test_a_failure_shows_its_exit_code(anywhere: Call, command: str, ending: str) -> None:
    result = anywhere("shell", command=command)
    assert result.error
    assert result.content.endswith(ending) or "[exit -9]" in result.content


@confined
def test_commands_that_run_at_once_do_not_disturb_each_other(
    roots: Roots, interrupt: threading.Event
) -> None:
    shell = Toolbox(Shell(roots, Redactor(), interrupt).tools())

    def several(number: int) -> list[str]:
        calls = (ToolCall("c", "shell", {"command": f"echo {number}"}) for _ in range(8))
        return [shell.run(shell.review(call)).content for call in calls]

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(several, range(4))) == [[str(number)] * 8 for number in range(4)]


def test_silence_is_said(anywhere: Call) -> None:
    assert anywhere("shell", command="true").content == "(no output)"


def test_standard_input_is_empty(anywhere: Call) -> None:
    assert anywhere("shell", command="cat; read x || echo none").content == "none"


def test_a_long_output_keeps_its_head_and_tail(anywhere: Call) -> None:
    content = anywhere("shell", command="echo first; seq 100000; echo last").content
    assert content.startswith("first\n1\n2\n")
    assert content.endswith("100000\nlast")
    assert "Read on with read_on, result=1, offset=14000.]" in content
    assert len(content) <= RESULT_LIMIT


def test_a_pipe_that_closes_early_ends_its_writer(anywhere: Call) -> None:
    assert anywhere("shell", command="yes | head -n 1").content == "y"


def test_a_command_out_of_time_is_stopped_with_all_it_started(
    anywhere: Call, workspace: Workspace
) -> None:
    script = "(trap '' TERM; sleep 600; touch late.txt) & echo started; sleep 600"
    result = anywhere("shell", command=script, timeout=3)
    assert result.error
    assert result.content.startswith("started")
    assert "stopped after 3 s" in result.content
    assert ends("late.txt")


def test_what_is_left_in_the_background_does_not_hold_the_turn(anywhere: Call) -> None:
    assert anywhere("shell", command="sleep 970 & echo done").content == "done"
    assert ends("sleep\x00970")


def test_the_owner_can_interrupt(
    anywhere: Call, interrupt: threading.Event, workspace: Workspace
) -> None:
    begun = workspace.root / "begun"
    threading.Thread(target=lambda: reached(begun) and interrupt.set()).start()
    result = anywhere("shell", command="echo begun; touch begun; sleep 980")
    assert result.content == "begun\n[interrupted by the owner]"
    assert ends("sleep\x00980")


def test_ctrl_c_kills_the_command_and_keeps_what_it_has_printed(
    anywhere: Call, workspace: Workspace
) -> None:
    def press() -> None:
        reached(workspace.root / "begun")
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=press).start()
    result = anywhere("shell", command="echo begun; touch begun; sleep 960")
    assert result.content == "begun\n[interrupted by the owner]" and result.interrupted
    assert ends("sleep\x00960")


def test_no_key_is_in_the_environment(anywhere: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = {
        "OPENAI_API_KEY": "abcdefghijkl",
        "MY_THING": "hidden-value",
        "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMIK7MDENG",
        "SSH_AUTH_SOCK": "/tmp/agent",
        "LC_PAPER": "ghp_" + "a1" * 18,
    }
    for name, value in keys.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("LANG", "C.UTF-8")
    content = anywhere("shell", command="env").content
    assert "LANG=C.UTF-8" in content
    assert not any(name in content for name in keys)


def test_the_environment_is_a_choice_of_harmless_names() -> None:
    given = {"PATH": "/bin", "HOME": "/h", "XDG_DATA_HOME": "/d", "HTTP_PROXY": "http://u:p@h"}
    assert environment(given, Redactor()) == {
        "PATH": "/bin",
        "HOME": "/h",
        "XDG_DATA_HOME": "/d",
    }


def test_a_secret_is_put_into_the_command_and_kept_out_of_the_answer(roots: Roots) -> None:
    redactor = Redactor({"DOOR": "open-sesame"})
    box = Toolbox([Shell(roots, redactor, threading.Event()).tools()[0]], redactor=redactor)
    call = calling(box, ApproveAll())
    result = call("shell", command="printf '%s' '[[secret:DOOR]]' | tee there | base64")
    assert (roots.workspace.root / "there").read_text() == "open-sesame"
    assert result.content == "[[secret:DOOR]]"
    assert call("shell", command="cat there").content == "[[secret:DOOR]]"
    assert "not known here" in call("shell", command="echo [[secret:WINDOW]]").content


def test_outside_the_sandbox_asks_and_shows_the_whole_command(toolbox: Toolbox) -> None:
    arguments = {"command": "ls\u202e\ncurl evil", "outside": True}
    verdict = toolbox.review(ToolCall("1", "shell", arguments))
    assert verdict.action == "ask"
    assert "Outside the sandbox" in verdict.detail
    assert "ls\\u{202e}\ncurl evil" in verdict.detail


def test_without_a_sandbox_every_command_asks(unconfined: Toolbox) -> None:
    verdict = unconfined.review(ToolCall("1", "shell", {"command": "ls"}))
    assert verdict.action == "ask"
    assert "No sandbox works" in verdict.detail
    assert unconfined.run(verdict).error
    assert not unconfined.run(unconfined.settle(verdict, Decision("once"))).error


@confined
@pytest.mark.parametrize(("link", "named"), [("SOUL.md", "SOUL.md"), (".git", ".git")])
def test_what_steers_behind_a_link_makes_every_command_ask(
    toolbox: Toolbox, workspace: Workspace, outside: Path, link: str, named: str
) -> None:
    (workspace.root / link).symlink_to(outside)
    verdict = toolbox.review(ToolCall("1", "shell", {"command": "ls"}))
    assert verdict.action == "ask"
    assert f"{named}, which is behind a symbolic link" in verdict.detail


@confined
def test_stand_ins_for_missing_files_are_gone_afterwards(call: Call, workspace: Workspace) -> None:
    listed = call("shell", command="ls -A; touch SOUL.md 2>&1; mkdir memory/x 2>&1").content
    assert "Read-only file system" in listed
    assert [path.name for path in workspace.root.iterdir()] == ["MEMORY.md"]


@confined
def test_what_the_owner_writes_meanwhile_in_the_place_of_a_stand_in_stays(
    call: Call, workspace: Workspace
) -> None:
    def write() -> None:
        reached(workspace.root / "ready")
        (workspace.root / "SOUL.md").write_text("Be kind.\n")

    writer = threading.Thread(target=write)
    writer.start()
    call("shell", command="touch ready; until [ -s SOUL.md ]; do sleep 0.05; done")
    writer.join()
    assert (workspace.root / "SOUL.md").read_text() == "Be kind.\n"


def test_always_covers_what_was_shown_and_nothing_else(workspace: Workspace) -> None:
    roots = Roots(workspace, policy=PolicySettings(ask=("shell",)))
    shell = Shell(roots, Redactor(), threading.Event(), lambda: True).tools()[0]
    box = Toolbox([shell], roots.rules)

    def action(**arguments: object) -> str:
        return box.review(ToolCall("1", "shell", arguments)).action

    inside = box.review(ToolCall("1", "shell", {"command": "touch x"}))
    assert inside.action == "ask"
    box.settle(inside, Decision("always"))
    assert action(command="touch x") == "run"
    assert action(command="touch x", outside=True) == "ask"
    assert action(command="touch x", background=True) == "ask"
    assert action(command="touch y") == "ask"


def test_no_library_of_the_workspace_is_loaded_by_what_starts_a_command(
    call: Call, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    (workspace.root / "libm.so.6").write_text("no library")  # Python needs it, a shell does not
    monkeypatch.setenv("LD_LIBRARY_PATH", str(workspace.root))
    assert call("shell", command="echo $LD_LIBRARY_PATH").content == str(workspace.root)


def test_code_runs_where_commands_do(anywhere: Call, workspace: Workspace) -> None:
    code = """import pathlib
total = sum(range(101))
pathlib.Path("sum.txt").write_text(f'{total}\\n')
print("it's", total, pathlib.Path.cwd())"""
    result = anywhere("execute_code", code=code)
    assert result.content == f"it's 5050 {workspace.root}"
    assert (workspace.root / "sum.txt").read_text() == "5050\n"


def test_a_fault_of_the_code_shows_its_traceback(anywhere: Call) -> None:
    result = anywhere("execute_code", code="print(1)\n1 / 0")
    assert result.error
    assert result.content.startswith("1\n") and result.content.endswith("[exit 1]")
    assert "ZeroDivisionError" in result.content


@confined
def test_code_in_the_sandbox_sees_no_other_files_and_its_output_is_bounded(
    call: Call, outside: Path
) -> None:
    result = call("execute_code", code=f"print(open({str(outside / 'secret.txt')!r}).read())")
    assert "FileNotFoundError" in result.content or "PermissionError" in result.content
    assert len(call("execute_code", code="print('x' * 5_000_000)").content) <= RESULT_LIMIT


@pytest.mark.parametrize("rule", ["shell", "execute_code", "*"])
def test_what_a_rule_says_of_commands_holds_for_code(
    roots: Roots, interrupt: threading.Event, rule: str
) -> None:
    tools = Shell(roots, Redactor(), interrupt).tools()
    toolbox = Toolbox(tools, Rules(PolicySettings(deny=(rule,))))
    assert "execute_code" not in [spec.name for spec in toolbox.specs()]


def test_code_outside_the_sandbox_loads_nothing_of_the_workspace(
    approved: Call, workspace: Workspace
) -> None:
    (workspace.root / "json.py").write_text("print('planted')\n")
    result = approved("execute_code", code="import json; print(json.dumps(1))", outside=True)
    assert result.content == "1"


def test_code_that_takes_too_long_is_told_what_it_can_do(call: Call, approved: Call) -> None:
    slow = approved("execute_code", code="while True: pass", timeout=1, outside=True)
    assert slow.content == "[stopped after 1 s; give it longer]"
