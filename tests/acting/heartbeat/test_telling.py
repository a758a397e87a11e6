"""What a beat says: nothing, or something that the next chat tells."""

from datetime import datetime

import pytest

from assistant.acting.heartbeat import claims
from assistant.acting.heartbeat.tasks import Task, tasks
from assistant.acting.heartbeat.telling import Beat, says_nothing, tell, tell_broken
from assistant.session import beats
from assistant.workspace.folder import Workspace

DUE = datetime(2026, 3, 2, 9, 30)


@pytest.fixture
def task() -> Task:
    (made,), _ = tasks("\n- every 30 minutes: look at the boat\n")
    return made


@pytest.mark.parametrize(
    ("reply", "nothing"),
    [
        ("", True),
        ("**Nothing.**", True),
        ("I looked at the boat, which leaks.\n\nHEARTBEAT_OK", False),
        ("no reply!", True),
        ("Nothing to worry about, but the boat leaks.", False),
        ("Nothing.\nBut the boat leaks.", False),
    ],
)
def test_only_a_whole_reply_says_that_there_is_nothing(reply: str, nothing: bool) -> None:
    assert says_nothing(reply) is nothing


def test_only_what_was_done_or_failed_is_told(workspace: Workspace, task: Task) -> None:
    tell(workspace, Beat(task, DUE, "silent", "Nothing."))
    tell(workspace, Beat(task, DUE, "done", "The boat leaks.", session="s1"))
    tell(workspace, Beat(task, DUE, "failed", "no model answers", session="s2"))
    done, failed = beats.load(workspace).untold
    assert (done.due, done.session, done.failed) == ("2026-03-02T09:30", "s1", "")
    assert (failed.session, failed.failed) == ("", "HEARTBEAT.md:2: no model answers")


def test_a_beat_that_died_is_told_once(workspace: Workspace, task: Task) -> None:
    assert claims.take(workspace, task, DUE) and not claims.take(workspace, task, DUE)
    tell_broken(workspace)
    tell_broken(workspace)
    (broken,) = beats.load(workspace).untold
    assert broken.due.startswith("2026-03-02T") and "broke off" in broken.failed
