"""Subtasks on a real terminal: a tree that lives, who asks, and Ctrl-C for all."""

import json
from pathlib import Path

import pytest

from assistant.messages import Reply, ToolCall
from assistant.session import transcript
from assistant.workspace.folder import Workspace
from tests.cli.conftest import Run
from tests.cli.terminal.test_approvals import at
from tests.support.provider import Answer, Pause, Provider, Raw, Received

TASKS = ["find the tide", "wipe the boat"]
WIPE = {"command": "touch wiped", "outside": True}


@pytest.mark.slow
def test_subtasks_show_as_a_tree_say_who_asks_and_end_with_ctrl_c(place: Path, run: Run) -> None:
    never = Raw((Pause(),))

    def respond(received: Received) -> Answer:
        said = json.dumps(received.body["messages"])
        if "several subtasks that you have handed" not in said:
            return Reply(tool_calls=(ToolCall("d", "delegate", {"tasks": TASKS}),))
        if TASKS[0] in said:
            return never
        if received.body["messages"][-1]["role"] == "tool":
            return "The boat is as it was."
        return Reply(tool_calls=(ToolCall("w", "shell", WIPE),))

    with Provider(respond=respond) as provider, at(place, provider, "chat") as tty:
        tty.wait("›")
        tty.say("tidy the harbour")
        tty.wait("“wipe the boat” asks: may shell do this?")
        tty.wait("[y,n,a,?]:")
        tty.say("no")
        tty.wait("└ ✓ wipe the boat · ")
        assert "├ ⋯ find the tide · " in tty.text
        tty.send("\x03")
        tty.wait("stopped", gone="Esc stops")
        tty.say("/quit")
        tty.end()
    assert not (place / "wiped").exists()
    (parent,) = transcript.session_ids(Workspace(place).sessions)
    shown = run("sessions", "show", f"{parent}.2").stdout
    assert shown.startswith("› wipe the boat") and "The boat is as it was." in shown
