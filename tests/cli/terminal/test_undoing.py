"""What a turn changed before its chat was killed is undone afterwards."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from assistant.messages import Reply, ToolCall
from tests.cli.conftest import ASSISTANT, Run
from tests.cli.terminal.test_chat import chat, provider  # noqa: F401
from tests.support.provider import Provider

COMMAND = "rm diary.md; echo y > made.md; sleep 0.5; echo gone; sleep 40"


@pytest.mark.parametrize(
    "number", [signal.SIGHUP, pytest.param(signal.SIGKILL, marks=pytest.mark.slow)]
)
def test_a_file_changed_before_the_command_during_which_the_chat_dies_comes_back(
    place: Path,
    provider: Provider,  # noqa: F811
    run: Run,
    number: signal.Signals,
) -> None:
    diary = place / "diary.md"
    diary.write_text("May, by hand\n")
    calls = (
        ToolCall("c1", "write_file", {"path": "new.md", "text": "x"}),
        ToolCall("c2", "shell", {"command": "echo June > diary.md"}),
        ToolCall("c3", "shell", {"command": COMMAND}),
    )
    provider.enqueue(Reply(tool_calls=calls))
    with chat(place, provider) as tty:
        tty.wait("›")
        tty.say("tidy up")
        tty.wait(lambda tty: any(row.strip() == "gone" for row in tty.rows))
        tty.child.kill(number)
        tty.end()
    undone = run("undo", "--yes")
    assert undone.stdout.startswith("Undone: “tidy up”\n"), undone.stderr
    assert "not undone" not in undone.stdout
    assert diary.read_text() == "May, by hand\n"
    assert not (place / "new.md").exists()
    assert not (place / "made.md").exists()


def test_a_plain_chat_that_is_ended_stops_its_turn(
    place: Path,
    provider: Provider,  # noqa: F811
    run: Run,
) -> None:
    (place / "diary.md").write_text("May, by hand\n")
    provider.enqueue(Reply(tool_calls=(ToolCall("c1", "shell", {"command": COMMAND}),)))
    with chat(place, provider, "--plain") as tty:
        tty.wait("›")
        tty.say("tidy up")
        tty.wait(lambda _: (place / "made.md").exists())
        tty.child.kill(signal.SIGTERM)
        assert tty.end() == 0
        assert "to continue: " in tty.whole
    undone = run("undo", "--yes")
    assert (place / "diary.md").read_text() == "May, by hand\n", undone
    assert not (place / "made.md").exists()


def test_a_piped_chat_that_is_ended_waits_for_no_other_line(
    place: Path,
    provider: Provider,  # noqa: F811
    run: Run,
) -> None:
    (place / "diary.md").write_text("May, by hand\n")
    provider.enqueue(Reply(tool_calls=(ToolCall("c1", "shell", {"command": COMMAND}),)))
    settings = {"ASSISTANT_MODEL": "openai/test", "ASSISTANT_API_BASE": provider.url}
    talk = subprocess.Popen(
        [ASSISTANT, "-w", place, "chat"], stdin=subprocess.PIPE, env={**os.environ, **settings}
    )
    assert talk.stdin
    talk.stdin.write(b"tidy up\n")
    talk.stdin.flush()
    while not (place / "made.md").exists() and talk.poll() is None:
        time.sleep(0.01)
    talk.terminate()
    assert talk.wait(120) == 130
    talk.stdin.close()
    undone = run("undo", "--yes")
    assert (place / "diary.md").read_text() == "May, by hand\n", undone
    assert not (place / "made.md").exists()


@pytest.mark.parametrize(
    ("words", "resident"), [("ask tidy", "true"), ("ask tidy", "false"), ("heartbeat run", "false")]
)
def test_what_a_command_made_before_its_ask_is_ended_is_taken_back(
    place: Path,
    provider: Provider,  # noqa: F811
    run: Run,
    words: str,
    resident: str,
) -> None:
    (place / "diary.md").write_text("May, by hand\n")
    (place / "HEARTBEAT.md").write_text("- every minute: tidy\n")
    provider.enqueue(Reply(tool_calls=(ToolCall("c1", "shell", {"command": COMMAND}),)))
    settings = {
        "ASSISTANT_MODEL": "openai/test",
        "ASSISTANT_API_BASE": provider.url,
        "ASSISTANT_MODEL__RESIDENT": resident,
    }
    ask = subprocess.Popen([ASSISTANT, "-w", place, *words.split()], env={**os.environ, **settings})
    made = place / "made.md"
    while not made.exists() and ask.poll() is None:
        time.sleep(0.01)
    ask.terminate()
    ask.wait(60)
    undone = run("undo", "--yes")
    assert (place / "diary.md").read_text() == "May, by hand\n", undone
    assert not made.exists()
