"""The list of sessions: titles that cannot steer a terminal, sums, faults."""

import sys
from pathlib import Path

import pytest

from assistant.messages import ToolCall, Usage
from assistant.session import transcript
from assistant.session.entries import (
    ApprovalEntry,
    AssistantEntry,
    CapturedEntry,
    CaptureEntry,
    CompactionEntry,
    Entry,
    InterruptedEntry,
    NoticeEntry,
    RetryEntry,
    TitleEntry,
    ToolResultEntry,
    UserEntry,
)
from assistant.session.history import group
from assistant.session.listing import abandoned, latest, sessions, title


def test_a_session_is_listed_with_its_first_message_turns_and_usage(tmp_path: Path) -> None:
    session = transcript.create(tmp_path)
    session.append(UserEntry("Where is\nthe \x1b[31mkey\u202e?"))
    session.append(AssistantEntry("there", usage=Usage(10, 2, 5, 0.1), model="m1"))
    session.append(UserEntry("And the door?"))
    session.append(AssistantEntry("here", usage=Usage(20, 3, 7, 0.2), model="m2"))
    ended = session.append(CompactionEntry("s", "e2", 1, 2, 1, usage=Usage(5, 5)))
    session.append(RetryEntry("reader", "no route"))
    session.append(NoticeEntry("No facts were taken yet", time="2999-01-01T00:00:00.000+00:00"))
    (listed,) = sessions(tmp_path)
    assert (listed.id, listed.title, listed.turns) == (
        session.session,
        "Where is the [31mkey?",
        2,
    )
    assert listed.usage == Usage(35, 10, 0, listed.usage.cost)
    assert listed.model == "m2"
    assert listed.started == session.entries[0].time and listed.updated == ended.time


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
    transcript.borrow(tmp_path, "20250101-000000-abc").append(UserEntry("And then?"))
    assert [each.turns for each in sessions(tmp_path)] == [2, 1]  # the last used is the first
    assert latest(tmp_path) == "20250101-000000-abc"
    other = transcript.borrow(tmp_path, "20260101-000000-abc")
    for entry in (CaptureEntry("e1"), CapturedEntry(("e2",)), TitleEntry("Keys")):
        other.append(entry)  # it was read for facts, and renamed
    assert latest(tmp_path) == "20250101-000000-abc"


@pytest.mark.parametrize("begun", [b"", b'{"type":"header","vers'])
def test_one_that_was_killed_before_its_first_line_is_none(tmp_path: Path, begun: bytes) -> None:
    session = transcript.create(tmp_path)
    session.append(UserEntry("Where is the key?"))
    (tmp_path / "29990101-000000-abc.jsonl").write_bytes(begun)
    assert [each.id for each in sessions(tmp_path)] == [session.session]
    assert latest(tmp_path) == session.session
    session.close()
    assert [each.id for each in abandoned(tmp_path)] == [session.session]


def test_a_damaged_session_is_listed_with_its_fault(tmp_path: Path) -> None:
    (tmp_path / "20250101-000000-abc.jsonl").write_bytes(b"garbage\n")
    (listed,) = sessions(tmp_path)
    assert "line 1 of" in listed.fault


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        (b'{"type":"user","id":"e1","time":"t","text":5}\n', "line 2 of"),
        (b'{"type":"header","id":"e0","time":"t","version":"9.0","session":"s"}\n', ""),
        (b'{"type":"user","id":"e1"}\n', "line 2 of"),
        (b'{"type":"user","id":"e1","time":"t","text":"\\ud800 x"}\n', ""),
    ],
)
def test_what_cannot_be_read_at_a_glance_is_read_whole(
    tmp_path: Path, line: bytes, fault: str
) -> None:
    session = transcript.create(tmp_path)
    session.append(UserEntry("Hello"))
    assert session.path is not None
    lines = session.path.read_bytes().splitlines(keepends=True)
    session.path.write_bytes(lines[0] + line + lines[1])
    (listed,) = sessions(tmp_path)
    assert fault in listed.fault
    assert bool(listed.fault) is bool(fault)


def test_a_later_format_is_a_fault(tmp_path: Path) -> None:
    header = b'{"type":"header","id":"e0","time":"t","version":"2.0","session":"s"}\n'
    (tmp_path / "20250101-000000-abc.jsonl").write_bytes(header)
    assert "of format 2.0" in sessions(tmp_path)[0].fault


def test_each_file_is_opened_once_and_the_directory_is_read_once(tmp_path: Path) -> None:
    for number in range(50):
        made = transcript.Transcript(f"s{number}", tmp_path / f"s{number}.jsonl")
        made.append(UserEntry("Hello"))
        made.close()
    seen: list[str] = []
    watching = True

    def note(event: str, arguments: tuple[object, ...]) -> None:
        if watching and not (event == "open" and isinstance(arguments[0], int)):  # open by now
            seen.append(event)

    sys.addaudithook(note)
    assert len(sessions(tmp_path)) == 50
    watching = False
    assert seen.count("os.scandir") + seen.count("os.listdir") == 1
    assert seen.count("open") <= 2 * 50


def test_a_long_title_is_cut() -> None:
    assert title("word " * 50) == ("word " * 50)[:79] + "…"


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("Where is the key? I need it.", "Where is the key?"),
        ("Hi there! Where is the key? Now.", "Hi there! Where is the key?"),
        ("plan the trip\nto Porto", "plan the trip to Porto"),
        (
            "鍵はどこにありますか教えて。急いでいます。",
            "鍵はどこにありますか教えて。",
        ),
        ("Version 1.2.3 fails", "Version 1.2.3 fails"),
    ],
)
def test_a_title_is_the_first_sentence_that_says_something(said: str, shown: str) -> None:
    assert title(said) == shown


def left(directory: Path, name: str, *entries: Entry) -> None:
    made = transcript.Transcript(name, directory / f"{name}.jsonl")
    for entry in entries:
        made.append(entry)
    made.close()


def test_how_the_last_turn_was_left_is_listed(tmp_path: Path) -> None:
    call = AssistantEntry("", tool_calls=(ToolCall("c1", "look", {"deep": {"er": [1]}}),))
    asked = UserEntry("Look")
    left(tmp_path, "s1", asked, AssistantEntry("Seen."))
    left(tmp_path, "s2", asked)
    left(tmp_path, "s3", asked, call, ApprovalEntry("c1"))
    left(tmp_path, "s4", asked, call, ApprovalEntry("c1"), ApprovalEntry("c1", "no"))
    left(tmp_path, "s5", asked, call, ToolResultEntry("c1", "look", "x"))
    left(tmp_path, "s6", asked, InterruptedEntry("stopped"), TitleEntry("Eyes"))
    listed = {each.id: each.left for each in sessions(tmp_path)}
    assert listed == {
        "s1": "", "s2": "cut off", "s3": "waiting", "s4": "cut off", "s5": "cut off", "s6": "",
    }  # fmt: skip
    assert sessions(tmp_path)[0].title == "Eyes"
    for each in sessions(tmp_path):
        turn = group(transcript.read(tmp_path, each.id))[-1]
        assert turn.finished is (each.left == "")
    imported = transcript.create(tmp_path, "ChatGPT")
    imported.append(asked)
    imported.append(CaptureEntry(imported.entries[-1].id))
    imported.close()
    assert {each.left for each in sessions(tmp_path) if each.origin} == {""}


def test_abandoned_are_those_after_the_last_whole_one_that_nobody_has_open(tmp_path: Path) -> None:
    left(tmp_path, "s1", UserEntry("Old"))
    left(tmp_path, "s2", UserEntry("Whole"), AssistantEntry("Yes."))
    left(tmp_path, "s3", UserEntry("Cut"))
    held = transcript.Transcript("s4", tmp_path / "s4.jsonl")
    held.append(UserEntry("Running"))
    left(tmp_path, "s5", UserEntry("Cut too"))
    assert [each.title for each in abandoned(tmp_path)] == ["Cut too", "Cut"]
    held.close()
