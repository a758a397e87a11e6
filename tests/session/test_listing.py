"""The list of sessions: titles that cannot steer a terminal, sums, faults."""

from pathlib import Path

from assistant.messages import Usage
from assistant.session import transcript
from assistant.session.entries import AssistantEntry, CompactionEntry, UserEntry
from assistant.session.listing import latest, sessions, title


def test_a_session_is_listed_with_its_first_message_turns_and_usage(tmp_path: Path) -> None:
    session = transcript.create(tmp_path)
    session.append(UserEntry("Where is\nthe \x1b[31mkey\u202e?"))
    session.append(AssistantEntry("there", usage=Usage(10, 2, 5, 0.1), model="m1"))
    session.append(UserEntry("And the door?"))
    session.append(AssistantEntry("here", usage=Usage(20, 3, 7, 0.2), model="m2"))
    session.append(CompactionEntry("s", "e2", 1, 2, 1, usage=Usage(5, 5)))
    (listed,) = sessions(tmp_path)
    assert (listed.id, listed.title, listed.turns) == (
        session.session,
        "Where is the [31mkey?",
        2,
    )
    assert listed.usage == Usage(35, 10, 0, listed.usage.cost)
    assert listed.model == "m2"
    assert listed.started == session.entries[0].time and listed.updated == session.entries[-1].time


def test_the_newest_comes_first_and_is_the_latest(tmp_path: Path) -> None:
    assert sessions(tmp_path / "none") == [] and latest(tmp_path / "none") is None
    for name in ("20250101-000000-abc", "20260101-000000-abc"):
        made = transcript.Transcript(name, tmp_path / f"{name}.jsonl")
        made.append(UserEntry(name))
        made.close()
    assert [each.title for each in sessions(tmp_path)] == [
        "20260101-000000-abc",
        "20250101-000000-abc",
    ]
    assert latest(tmp_path) == "20260101-000000-abc"


def test_a_damaged_session_is_listed_with_its_fault(tmp_path: Path) -> None:
    (tmp_path / "20250101-000000-abc.jsonl").write_bytes(b"garbage\n")
    (listed,) = sessions(tmp_path)
    assert "line 1 of" in listed.fault


def test_a_long_title_is_cut() -> None:
    assert title("word " * 50) == ("word " * 50)[:79] + "…"
