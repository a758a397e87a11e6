"""The real command with a model that starts things, ended in each way: nothing lives on."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from assistant.messages import Reply, ToolCall
from assistant.workspace import template, trust
from assistant.workspace.folder import Workspace
from tests.support.daemon import ended
from tests.support.provider import Provider
from tests.tools.conftest import ends, reached, running

ASSISTANT = Path(sys.executable).with_name("assistant")


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Workspace]:
    made = template.create(tmp_path / "place").workspace
    trust.grant(made)
    yield made
    ended(made.root)


@pytest.fixture
def number() -> str:
    return f"7{os.getpid()}.{int.from_bytes(os.urandom(3))}"


def command(number: str, **more: object) -> Reply:
    """The model starts something that does not want to end."""
    script = (
        f"(setsid sleep {number} &) ; trap '' TERM HUP; touch started; echo begun; sleep {number}"
    )
    return Reply(tool_calls=(ToolCall("c1", "shell", {"command": script, **more}),))


def asking(place: Workspace, provider: Provider) -> "subprocess.Popen[bytes]":
    env: Mapping[str, str] = {
        **os.environ,
        "OPENAI_API_KEY": "test-key-of-nobody",
        "ASSISTANT_MODEL": "openai/test",
        "ASSISTANT_API_BASE": provider.url,
    }
    arguments = [ASSISTANT, "-w", place.root, "ask", "go on", "--yes"]
    return subprocess.Popen(arguments, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)


@pytest.mark.parametrize(
    ("sign", "outside"),
    [
        (signal.SIGKILL, False),
        pytest.param(signal.SIGKILL, True, marks=pytest.mark.slow),
        pytest.param(signal.SIGHUP, False, marks=pytest.mark.slow),
    ],
)
def test_a_killed_assistant_leaves_nothing_running(
    place: Workspace, provider: Provider, number: str, sign: signal.Signals, outside: bool
) -> None:
    provider.enqueue(command(number, outside=outside))
    process = asking(place, provider)
    assert reached(place.root / "started")
    assert running(number)
    process.send_signal(sign)
    process.communicate(timeout=600)
    assert ends(number)


@pytest.mark.slow
def test_what_runs_in_the_background_ends_when_the_answer_is_given(
    place: Workspace, provider: Provider, number: str
) -> None:
    wait = Reply(tool_calls=(ToolCall("c2", "read_job", {"job": 1, "wait": 20}),))
    provider.enqueue(command(number, background=True), wait, "It runs.")
    process = asking(place, provider)
    said, _ = process.communicate(timeout=600)
    assert b"It runs." in said
    assert ends(number)
