"""Commands in the background: started, listed, read, stopped, ended with their chat."""

import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from assistant.secrets.redactor import Redactor
from assistant.tools.files.access import Roots
from assistant.tools.policy import ApproveAll
from assistant.tools.sandbox import process
from assistant.tools.shell.command import MOST, Jobs, Shell, job_tools
from assistant.tools.toolbox import Toolbox
from assistant.workspace.checkpoints import Checkpoints
from assistant.workspace.folder import Workspace
from tests.tools.conftest import Call, calling, ends, happens, reached


@pytest.fixture
def jobs() -> Iterator[Jobs]:
    made = Jobs()
    yield made
    made.close()


@pytest.fixture
def box(roots: Roots, jobs: Jobs, interrupt: threading.Event) -> Toolbox:
    shell = Shell(roots, Redactor({"DOOR": "open-sesame"}), interrupt, jobs=jobs).tools()[0]
    return Toolbox([shell, *job_tools(jobs, interrupt)], redactor=Redactor({"DOOR": "open-sesame"}))


@pytest.fixture
def run(box: Toolbox) -> Call:
    return calling(box, ApproveAll())


@pytest.fixture(params=[False, True], ids=["as it is", "outside"])
def start(request: pytest.FixtureRequest, run: Call) -> Call:
    """Starts a command in the background, in the sandbox or out of it."""
    return lambda command, **more: run(
        "shell", command=command, background=True, outside=request.param, **more
    )


def test_a_job_is_read_as_it_goes_on_until_it_ends(
    start: Call, run: Call, workspace: Workspace
) -> None:
    waits = "until [ -e go ]; do sleep 0.05; done"
    assert "job 1" in start(f"echo one; {waits}; echo two; exit 3").content
    assert run("read_job", job=1, wait=20).content.startswith("one\n[running, ")
    assert run("read_job", job=1).content.startswith("[running, ")
    assert run("list_jobs").content.startswith("1 [running, ")
    (workspace.root / "go").touch()
    assert happens(lambda: "[exit 3]" in run("list_jobs").content)
    assert run("read_job", job=1).content == "two\n[exit 3]"
    assert run("read_job", job=1).content == "[exit 3]"


def test_a_job_is_stopped_with_all_that_it_started(
    start: Call, run: Call, workspace: Workspace
) -> None:
    start("(setsid sleep 83.25 &); touch started; sleep 83.25")
    assert reached(workspace.root / "started")
    assert run("stop_job", job=1).content == "[stopped]"
    assert ends("83.25")
    assert run("list_jobs").content.startswith("1 [stopped] (setsid")


def test_jobs_end_with_their_chat(start: Call, jobs: Jobs, workspace: Workspace) -> None:
    start("touch a; sleep 84.25")
    start("touch b; (trap '' TERM; sleep 84.25; sleep 84.25)")
    assert reached(workspace.root / "a")
    assert reached(workspace.root / "b")
    jobs.close()
    assert not any("runs" in line for line in jobs.listed())
    assert ends("84.25")
    assert not (workspace.root / "SOUL.md").exists()


def test_a_jobs_time_can_be_limited(start: Call, run: Call) -> None:
    start("echo begun; sleep 85.25", timeout=1)
    assert happens(lambda: "stopped after 1 s; give it longer]" in run("list_jobs").content)
    assert ends("85.25")


def test_tools_for_jobs_are_offered_once_there_is_one(box: Toolbox, run: Call) -> None:
    assert [spec.name for spec in box.specs()] == ["shell"]
    run("shell", command="true", background=True)
    assert [spec.name for spec in box.specs()] == ["shell", "list_jobs", "read_job", "stop_job"]
    assert "there is no job 7; jobs end with their chat" in run("read_job", job=7).content


def test_there_are_not_too_many_at_a_time(run: Call) -> None:
    for _ in range(MOST):
        run("shell", command="sleep 86.25", background=True)
    assert "Stop one first" in run("shell", command="true", background=True).content
    run("stop_job", job=1)
    assert not run("shell", command="true", background=True).error


def test_what_a_job_prints_is_bounded_and_holds_no_secret(run: Call) -> None:
    command = "seq 100000; echo open-sesame; touch done; sleep 87.25"
    run("shell", command=command, background=True)
    assert happens(lambda: "running" in run("list_jobs").content)
    said = ""
    while "secret:DOOR" not in said:
        said = run("read_job", job=1, wait=20).content
        assert len(said) < 50_000
        assert "open-sesame" not in said


def test_waiting_for_a_job_ends_when_the_owner_interrupts(
    run: Call, interrupt: threading.Event
) -> None:
    run("shell", command="sleep 88.25", background=True)
    threading.Timer(0.2, interrupt.set).start()
    assert run("read_job", job=1, wait=60).content.startswith("[running, ")
    assert interrupt.is_set()


def test_stand_ins_stay_as_long_as_any_command_of_the_workspace_runs(
    run: Call, workspace: Workspace, tmp_path: Path
) -> None:
    run("shell", command="touch started; sleep 89.25", background=True)
    assert reached(workspace.root / "started")
    run("shell", command="true")
    assert (workspace.root / "SOUL.md").exists()
    assert "Read-only" in run("shell", command="echo evil | tee SOUL.md").content
    run("stop_job", job=1)
    assert happens(lambda: not (workspace.root / "SOUL.md").exists())


@pytest.mark.parametrize("background", [False, True])
def test_a_change_that_cannot_be_kept_is_told(
    roots: Roots, jobs: Jobs, workspace: Workspace, background: bool
) -> None:
    checkpoints = Checkpoints(workspace.checkpoints)
    checkpoints.begin("session", "e1")
    shell = Shell(roots, Redactor(), threading.Event(), jobs=jobs, checkpoints=checkpoints)
    call = calling(Toolbox([*shell.tools(), *job_tools(jobs, threading.Event())]), ApproveAll())
    command = f"echo > a; rm -r {workspace.checkpoints}; touch {workspace.checkpoints}"
    answer = call("shell", command=command, background=background, outside=True).content
    if background:
        assert happens(lambda: "running" not in call("list_jobs").content)
        answer = call("read_job", job=1).content
    assert "checkpoints/session.e1 cannot be made" in answer


def test_a_job_whose_supervisor_hangs_is_killed(
    run: Call, jobs: Jobs, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "PATIENCE", 0.3)
    run("shell", command="touch started; sleep 60", background=True)
    assert reached(workspace.root / "started")
    supervisor = jobs.get(1)._process
    supervisor.send_signal(signal.SIGSTOP)
    assert run("stop_job", job=1).content == "[ended: killed]"
    assert supervisor.poll() == -signal.SIGKILL
