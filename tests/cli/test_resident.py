"""The process that waits for `ask`: it does what the command would, at once, and ends with it."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from assistant import config
from assistant.cli import resident, worker
from assistant.memory.daemon import sockets
from assistant.memory.daemon.lifecycle import Code
from tests.cli.conftest import ASSISTANT, Run
from tests.cli.talk.test_ask import command, done
from tests.support.provider import Pause, Provider, Raw, fails


@pytest.fixture(autouse=True)
def process_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not the process that serves other tests: another environment to import things in."""
    monkeypatch.setenv("LITELLM_TEST", str(tmp_path))


def waiting(place: Path, url: str) -> "subprocess.Popen[bytes]":
    """An `ask` that has no input and waits for its answer."""
    model = {"ASSISTANT_MODEL": "openai/test", "ASSISTANT_API_BASE": url}
    words = [ASSISTANT, "-w", place, "ask", "wait"]
    return subprocess.Popen(words, stdin=subprocess.DEVNULL, env=os.environ | model)


def test_the_second_ask_is_done_by_the_process_that_the_first_began(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "notes.txt").write_text("Mia likes rooibos\n")
    held = Pause()
    try:
        with Provider("One.", fails(401), Raw((held,)), Raw((held,))) as provider:
            first = command(place, provider.url, "ask", "hello")
            assert done(first) == (0, "One.\n", "")
            assert sockets.answers(resident.socket_name())

            monkeypatch.chdir(tmp_path)
            second = command(place, provider.url, "ask", "see", "@notes.txt")
            code, shown, beside = done(second, "piped\n")
            assert (code, shown) == (1, "") and beside.startswith("assistant: ")
            sent = str(provider.requests[1].body["messages"][-1]["content"])
            assert "rooibos" in sent and "]\npiped\n" in sent

            stopped = waiting(place, provider.url)
            assert provider.wait_for(lambda each: len(each.requests) == 3, 90)
            stopped.send_signal(signal.SIGINT)
            assert stopped.wait(60) == 130

            killed = waiting(place, provider.url)
            assert provider.wait_for(lambda each: len(each.requests) == 4, 90)
            killed.kill()
            killed.wait(60)
            assert provider.wait_for(lambda each: each.hang_ups == 2, 90)
    finally:
        subprocess.run([ASSISTANT, "-w", place, "daemon", "stop"], capture_output=True, check=True)
    assert not sockets.answers(resident.socket_name())


@pytest.mark.parametrize(
    ("raw", "model", "expected"),
    [
        ({}, None, False),
        ({"model": {"name": "openai/x"}}, None, True),
        ({}, "openai/x", True),
        ({"profiles": "openai/x"}, None, True),
        ({"model": {"name": "openai/x", "resident": False}}, None, False),
        ({"model": {"name": "openai/x", "resident": "false"}}, "openai/y", False),
    ],
)
def test_it_is_worthwhile_where_a_model_is_asked(
    raw: dict[str, object], model: str | None, expected: bool
) -> None:
    assert resident.is_worthwhile(raw, model) is expected


@pytest.mark.parametrize(
    "text", ['model = "openai/x"\n', 'daemon = 3\n[model]\nname = "openai/x"\n']
)
def test_a_setting_in_the_place_of_a_section_is_named(run: Run, text: str) -> None:
    file = config.config_file()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    done = run("ask", "hello")
    assert done.stderr.startswith("assistant: the setting ")


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of an imported module."""
    file = tmp_path / "made_up.py"
    file.write_text("")
    module = ModuleType("assistant.made_up")
    module.__file__ = str(file)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return file


def test_code_is_changed_by_a_file_that_an_upgrade_dates_back(module: Path) -> None:
    code = Code()
    assert not code.check()
    os.utime(module, (0, 0))
    assert code.check()


def test_a_command_that_an_upgrade_breaks_says_so(
    module: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run() -> None:
        raise ImportError("cannot import name 'new'")

    monkeypatch.setattr("assistant.cli.root.run", run)
    code = Code()
    assert worker._run(code) == 1
    assert "Traceback" in capsys.readouterr().err
    os.utime(module, (0, 0))
    assert worker._run(code) == 1
    assert capsys.readouterr().err == f"assistant: {worker.UPGRADED}\n"
