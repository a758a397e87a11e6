"""`assistant sessions …` on sessions as chats leave them."""

import json
from pathlib import Path

from assistant.messages import ToolCall
from assistant.session import transcript
from assistant.session.entries import ApprovalEntry, AssistantEntry, Entry, UserEntry
from assistant.workspace.folder import Workspace
from tests.cli.conftest import Run


def left(place: Path, *entries: Entry) -> str:
    """A session that holds these; its id."""
    session = transcript.create(Workspace(place).sessions)
    for entry in entries:
        session.append(entry)
    session.close()
    return session.session


def test_a_session_is_named_exported_and_deleted(place: Path, run: Run) -> None:
    name = left(place, UserEntry("Where is the key? Hurry."), AssistantEntry("With **Ada**."))
    assert run("sessions", "list").stdout.rstrip().endswith("Where is the key?")
    assert run("sessions", "rename", name[-3:], "Ada's", "key").returncode == 0
    assert run("sessions", "list").stdout.rstrip().endswith("Ada's key")
    text = "# Ada's key\n\n## You\n\nWhere is the key? Hurry.\n\n## Assistant\n\nWith **Ada**.\n"
    assert run("sessions", "show", name, "--markdown").stdout == text
    assert run("sessions", "delete", name).returncode == 2  # nobody is asked, nobody says yes
    assert run("sessions", "delete", name, "--yes").stdout == f"Deleted {name}.\n"
    assert "No sessions yet." in run("sessions", "list").stderr


def test_past_conversations_are_searched(place: Path, run: Run) -> None:
    name = left(place, UserEntry("The plumber is Okonkwo"), AssistantEntry("Noted."))
    shown = run("recall", "--sessions", "okonkwo").stdout
    assert shown.startswith(f"{name}:1  ") and "The plumber is Okonkwo" in shown
    found = json.loads(run("recall", "--sessions", "okonkwo", "--json").stdout)["passages"][0]
    assert (found["session"], found["turn"], found["title"]) == (name, 1, "The plumber is Okonkwo")
    assert run("sessions", "delete", name, "--yes").returncode == 0
    assert "No past conversation mentions this." in run("recall", "--sessions", "okonkwo").stderr


def test_what_was_cut_off_or_waits_says_so(place: Path, run: Run) -> None:
    call = AssistantEntry("", tool_calls=(ToolCall("c1", "shell", {"command": "ls"}),))
    left(place, UserEntry("Look"), call)
    left(place, UserEntry("Look again"), call, ApprovalEntry("c1"))
    listed = run("sessions", "list").stdout.splitlines()
    assert sorted(line.split("  ")[1].rpartition(" · ")[2] for line in listed) == [
        "cut off",
        "waits for your yes or no",
    ]
