"""A transcript is written before anything else, locked while open, and survives a crash."""

import subprocess
import sys
import threading
from pathlib import Path
from subprocess import PIPE

import pytest

from assistant.agent.context_budget import fit
from assistant.disk import locking, storage
from assistant.errors import SessionError
from assistant.messages import ToolCall, Usage
from assistant.session import history as turns
from assistant.session import transcript
from assistant.session.entries import (
    ApprovalEntry,
    AssistantEntry,
    CapturedFact,
    CaptureEntry,
    CitedPassage,
    CompactionEntry,
    InterruptedEntry,
    NoticeEntry,
    OtherEntry,
    RecalledEntry,
    ReminderEntry,
    RetryEntry,
    ToolResultEntry,
    UserEntry,
)
from assistant.session.transcript import Transcript
from assistant.workspace.folder import APPENDING
from tests.model.validator import faults

CALL = ToolCall("c1", "look", {"path": "a.py", "deep": [1, {"x": None}]})
ALL = (
    UserEntry("Ünï\ncode \u2028 \ud800 \\ud800", joins=True),
    AssistantEntry("hi", "hm", (CALL, ToolCall("c2", "x", fault="bad")), Usage(1, 2, 3, 0.5), "m"),
    AssistantEntry("", "hm", signed=({"type": "thinking", "thinking": "hm", "signature": "s"},)),
    ApprovalEntry("c1", "no", "because"),
    ToolResultEntry("c1", "look", "result", error=True, compact="r", synthetic=True),
    RecalledEntry((CitedPassage("p", "MEMORY.md:3", "- x", "2026-11-21"),), 4, weak=False),
    ReminderEntry("end", "rounds"),
    RetryEntry("m2", "busy", 1.5, 2),
    RetryEntry("m2", "busy", 0.0),
    NoticeEntry("note"),
    CaptureEntry("e3", (CapturedFact("Ada", "owner", ("e1", "e2"), "p"),), Usage(5)),
    CompactionEntry("sum", "e3", 1, 20, 10, "lines", Usage(1)),
    InterruptedEntry("stop"),
)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "private" / "sessions"


def begun(directory: Path, *entries: object) -> Transcript:
    session = transcript.create(directory)
    for entry in entries or (UserEntry("Hello"),):
        session.append(entry)  # type: ignore[type-var]
    return session


def path_of(session: Transcript) -> Path:
    assert session.path is not None
    return session.path


def test_every_kind_of_entry_comes_back_as_it_was(directory: Path) -> None:
    session = begun(directory, *ALL)
    assert transcript.read(directory, session.session) == tuple(session.entries)
    assert [entry.id for entry in session.entries] == [f"e{n}" for n in range(len(ALL) + 1)]


def test_a_session_makes_its_file_with_its_first_entry(directory: Path) -> None:
    session = transcript.create(directory)
    assert not directory.exists()
    session.append(UserEntry("Hello"))
    assert path_of(session).read_bytes().count(b"\n") == 2
    assert directory.stat().st_mode & 0o777 == 0o700
    assert path_of(session).stat().st_mode & 0o777 == 0o600


def test_an_entry_is_in_the_file_when_append_returns(directory: Path) -> None:
    session = begun(directory)
    session.append(UserEntry("more"))
    assert [entry.id for entry in transcript.read(directory, session.session)] == ["e0", "e1", "e2"]


def test_off_the_record_writes_nothing(tmp_path: Path) -> None:
    session = transcript.off_the_record()
    session.append(UserEntry("secret"))
    assert session.off_the_record and session.entries[-1].id == "e1"
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_ids_sort_by_time_and_an_end_of_one_is_enough(directory: Path) -> None:
    first, second = begun(directory), begun(directory)
    assert first.session[:15] <= second.session[:15]
    assert transcript.find(directory, second.session[-3:]) == second.session
    assert transcript.find(directory, second.session) == second.session


def test_an_id_that_fits_none_or_several_is_refused(directory: Path) -> None:
    session = begun(directory)
    (directory / f"{session.session[:-3]}zzz.jsonl").write_bytes(path_of(session).read_bytes())
    with pytest.raises(SessionError, match="2 sessions match"):
        transcript.find(directory, session.session[:8])
    for name in ("nope", "", "../escape"):
        with pytest.raises(SessionError, match="there is no session"):
            transcript.find(directory, name)


def test_a_session_goes_on_where_it_ended(directory: Path) -> None:
    session = begun(directory)
    session.close()
    again = transcript.reopen(directory, session.session)
    assert again.append(UserEntry("more")).id == "e2"
    assert again.entries[:2] == session.entries


HOLDER = """
import sys
import threading
from pathlib import Path
from assistant.session import transcript
from assistant.session.entries import UserEntry
session = transcript.create(Path(sys.argv[1]))
session.append(UserEntry("Hello"))
print(session.session, flush=True)
sys.stdin.read()
"""


def test_a_session_open_elsewhere_is_refused_until_its_holder_dies(directory: Path) -> None:
    command = [sys.executable, "-c", HOLDER, str(directory)]
    with subprocess.Popen(command, stdin=PIPE, stdout=PIPE, text=True) as holder:
        assert holder.stdout
        name = holder.stdout.readline().strip()
        with pytest.raises(SessionError, match=rf"open in another chat \(process {holder.pid}\)"):
            transcript.reopen(directory, name)
        assert len(transcript.read(directory, name)) == 2
        holder.kill()
        holder.wait()
    assert len(transcript.reopen(directory, name).entries) == 2


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_a_torn_last_line_is_cut_off_with_a_notice(directory: Path, cut: int) -> None:
    session = begun(directory, UserEntry("one"), UserEntry("two, which is long enough to tear"))
    session.close()
    data = path_of(session).read_bytes()
    path_of(session).write_bytes(data[:-cut])
    again = transcript.reopen(directory, session.session)
    assert again.entries == session.entries[:2]
    assert "was cut short by a crash" in again.notices[0]
    again.append(UserEntry("three"))
    assert transcript.read(directory, session.session)[-1].id == "e2"


def test_blank_lines_at_the_end_go_without_a_word(directory: Path) -> None:
    session = begun(directory)
    session.close()
    before = path_of(session).read_bytes()
    path_of(session).write_bytes(before + b"\n \n\r\n  ")
    assert transcript.read(directory, session.session) == tuple(session.entries)
    again = transcript.reopen(directory, session.session)
    assert not again.notices and path_of(session).read_bytes() == before


def test_reading_a_torn_transcript_mends_nothing(directory: Path) -> None:
    session = begun(directory)
    with path_of(session).open("ab") as file:
        file.write(b'{"type":"us')
    before = path_of(session).read_bytes()
    assert len(transcript.read(directory, session.session)) == 2
    assert path_of(session).read_bytes() == before


@pytest.mark.parametrize(
    "line",
    [
        b"garbage",
        b"\x00\xfe\x00garbage",
        b"",
        b"[]",
        b'{"type":"user","id":"e1"}',
        b'{"type":"user","id":"e1","time":"t"}',
        b'{"type":"user","id":"e1","time":"t","text":5}',
        b'{"type":"assistant","id":"e1","time":"t","text":"","tool_calls":[{"name":"x"}]}',
        b'{"type":"assistant","id":"e1","time":"t","text":"","usage":7}',
        b"\xff\xfe",
        b"[" * 100_000,
    ],
)
def test_a_bad_line_is_named_and_refused(directory: Path, line: bytes) -> None:
    session = begun(directory)
    session.close()
    lines = path_of(session).read_bytes().split(b"\n")
    path_of(session).write_bytes(b"\n".join([*lines[:1], line, *lines[1:]]))
    before = path_of(session).read_bytes()
    with pytest.raises(SessionError, match=rf"line 2 of .*{session.session}.jsonl") as refused:
        transcript.reopen(directory, session.session)
    assert ("not UTF-8 text from byte" in str(refused.value)) == (b"\xfe" in line)
    assert path_of(session).read_bytes() == before
    path_of(session).write_bytes(b"\n".join(lines))
    assert transcript.reopen(directory, session.session)  # the lock was let go


def test_a_later_format_is_refused_and_a_later_minor_is_read(directory: Path) -> None:
    session = begun(directory)
    session.close()
    data = path_of(session).read_bytes()
    path_of(session).write_bytes(data.replace(b'"1.9"', b'"2.0"'))
    with pytest.raises(SessionError, match=r"of format 2\.0.*Update the assistant"):
        transcript.reopen(directory, session.session)
    later = data.replace(b'"1.9"', b'"1.99"').replace(b'"text"', b'"mood":"new","text"')
    path_of(session).write_bytes(later + b'{"type":"mood","id":"e2","time":"t","level":3}\n')
    again = transcript.reopen(directory, session.session)
    assert isinstance(again.entries[2], OtherEntry)
    assert again.append(UserEntry("more")).id == "e3"
    assert b'"level":3' in path_of(session).read_bytes()


def test_a_transcript_without_a_header_is_refused(directory: Path) -> None:
    session = begun(directory)
    session.close()
    path_of(session).write_bytes(path_of(session).read_bytes().split(b"\n", 1)[1])
    with pytest.raises(SessionError, match="is not a header"):
        transcript.reopen(directory, session.session)


def test_a_call_without_a_result_gets_one_when_it_is_loaded(directory: Path) -> None:
    calls = (CALL, ToolCall("c2", "x"), ToolCall("c3", "y"))
    session = begun(
        directory,
        UserEntry("do"),
        AssistantEntry("", tool_calls=calls),
        ToolResultEntry("c1", "look", "ok"),
    )
    session.close()
    late = transcript.reopen(directory, session.session).entries[4:]
    assert [(e.call_id, e.error, e.synthetic) for e in late if isinstance(e, ToolResultEntry)] == [
        ("c2", True, True),
        ("c3", True, True),
    ]
    assert "may have taken effect" in late[0].content  # type: ignore[union-attr]
    assert "not run" in late[1].content  # type: ignore[union-attr]
    assert transcript.read(directory, session.session)[4:] == tuple(late)


def test_a_call_that_waits_for_approval_is_left_open(directory: Path) -> None:
    calls = (CALL, ToolCall("c2", "x"))
    open_call = (UserEntry("do"), AssistantEntry("", tool_calls=calls), ApprovalEntry("c1"))
    session = begun(directory, *open_call)
    session.close()
    assert len(transcript.reopen(directory, session.session).entries) == 4


def test_a_write_that_was_interrupted_is_taken_in_or_cut_off(directory: Path) -> None:
    session = begun(directory)
    other = begun(directory, UserEntry("x"), UserEntry("whole"))
    whole = path_of(other).read_bytes().split(b"\n")[2] + b"\n"
    with path_of(session).open("ab") as file:
        file.write(whole)  # written, then Ctrl-C before it was noted
    assert session.append(UserEntry("next")).id == "e3"
    with path_of(session).open("ab") as file:
        file.write(whole[:9])
    assert session.append(UserEntry("after")).id == "e4"
    texts = [e.text for e in transcript.read(directory, session.session)[1:]]  # type: ignore[union-attr]
    assert texts == ["Hello", "whole", "next", "after"]


@pytest.mark.parametrize(
    "garbage",
    [
        b"no entry\n",
        b"\x00" * 99 + b"\n",
        b'{"type": "user"}\n',
        b"[" * 100_000 + b"\n",
        b"\xff\xfe\n\n\n",
        b"one\ntwo and half a line",
    ],
)
def test_garbage_written_to_an_open_session_is_cut_off_and_told(
    directory: Path, garbage: bytes
) -> None:
    session = begun(directory)
    other = begun(directory, UserEntry("x"), UserEntry("whole"))
    whole = path_of(other).read_bytes().split(b"\n")[2] + b"\n"
    with path_of(session).open("ab") as file:
        file.write(whole + garbage)
    assert session.append(UserEntry("next")).id == "e3"
    (told,) = session.notices
    assert f"{len(garbage):,} bytes that are not entries" in told
    session.settle("over")
    session.close()
    texts = [getattr(each, "text", "") for each in transcript.read(directory, session.session)]
    assert texts == ["", "Hello", "whole", "next", "over"]
    assert transcript.reopen(directory, session.session).notices == []


def test_a_compaction_that_names_no_entry_does_not_count(directory: Path) -> None:
    session = begun(directory, UserEntry("one"), AssistantEntry("1"))
    session.append(CompactionEntry("the summary", "e2", 1, 9, 5))
    session.append(CompactionEntry("of nothing", "e99", 2, 9, 5))
    session.append(CompactionEntry("of what is to come", "e7", 2, 9, 5))
    session.append(UserEntry("two"))
    session.close()
    again = transcript.reopen(directory, session.session)
    shown = turns.history(again.entries)
    assert shown.compaction is not None and shown.compaction.summary == "the summary"
    assert [turn.request for turn in shown.turns] == ["two"]


def test_a_transcript_with_lines_gone_is_refused_or_read(directory: Path) -> None:
    session = begun(directory, UserEntry("one"), AssistantEntry("", tool_calls=(CALL,)))
    session.append(ToolResultEntry("c1", "look", "x"))
    session.append(AssistantEntry("1"))
    session.append(CaptureEntry("e4"))
    session.append(CompactionEntry("the summary", "e4", 1, 9, 5))
    session.append(UserEntry("two"))
    session.append(AssistantEntry("", tool_calls=(ToolCall("c2", "look"),)))
    session.close()
    path = path_of(session)
    lines = path.read_bytes().splitlines(keepends=True)
    for gone in range(1, len(lines)):
        for more in range(gone, len(lines)):
            path.write_bytes(b"".join(lines[:gone] + lines[gone + 1 : more] + lines[more + 1 :]))
            again = transcript.reopen(directory, session.session)
            again.append(UserEntry("and on"))
            again.close()
            shown = turns.history(again.entries)
            assert faults(fit(shown, 9_000).messages) == []
            assert again.entries[-1].text == "and on"


def test_a_file_removed_while_open_is_an_error(directory: Path) -> None:
    session = begun(directory)
    path_of(session).unlink()
    with pytest.raises(SessionError, match="changed or removed"):
        session.append(UserEntry("more"))


@pytest.mark.parametrize("stand_in", ["(forgotten)", "(forgot)", "Vermilion"])
def test_what_borrows_a_session_adds_nothing_once_it_is_written_anew(
    directory: Path, stand_in: str
) -> None:
    session = begun(directory, UserEntry("Paint it Turquoise"), AssistantEntry("I will."))
    path, name = path_of(session), session.session
    session.close()
    borrowed = transcript.borrow(directory, name)
    anew = path.read_bytes().replace(b"Turquoise", stand_in.encode())  # longer, shorter, as long
    storage.replace(path, anew)
    for _ in range(2):
        with pytest.raises(SessionError, match="purged"):
            borrowed.append(NoticeEntry("read"))
    assert path.read_bytes() == anew


def test_what_borrows_a_session_adds_to_lines_that_end_in_any_way(directory: Path) -> None:
    session = begun(directory, UserEntry("Paint it"), AssistantEntry("I will."))
    path, name = path_of(session), session.session
    session.close()
    for ending in (b"\r\n", b"\r\n\r\n", b"\n\n"):
        path.write_bytes(path.read_bytes().rstrip() + ending)
        transcript.borrow(directory, name).append(NoticeEntry("read"))
    texts = [getattr(each, "text", "") for each in transcript.read(directory, name)]
    assert texts == ["", "Paint it", "I will.", *["read"] * 3]


def test_settle_ends_a_turn_once(directory: Path) -> None:
    session = begun(directory, UserEntry("do"), AssistantEntry("", tool_calls=(CALL,)))
    session.settle("stopped")
    assert isinstance(session.entries[-1], InterruptedEntry)
    assert isinstance(session.entries[-2], ToolResultEntry)
    before = len(session.entries)
    session.settle("stopped")
    assert len(session.entries) == before


def test_settling_leaves_a_line_alone_that_another_process_is_writing(directory: Path) -> None:
    session, other = begun(directory), begun(directory, NoticeEntry("theirs"))
    line = path_of(other).read_bytes().split(b"\n")[1].replace(b'"e1"', b'"e9"') + b"\n"
    settling = threading.Thread(target=session.settle, args=("over",))
    with locking.lock(directory / APPENDING), path_of(session).open("ab", 0) as file:
        file.write(line[:20])
        settling.start()
        settling.join(0.3)
        file.write(line[20:])
    settling.join()
    texts = [getattr(each, "text", "") for each in transcript.read(directory, session.session)]
    assert texts == ["", "Hello", "theirs", "over"]


def test_a_new_session_whose_id_was_taken_meanwhile_gets_another(tmp_path: Path) -> None:
    one = transcript.create(tmp_path)
    other = Transcript(one.session, one.path)
    other.append(UserEntry("first"))
    one.append(UserEntry("second"))
    assert one.session != other.session
    assert [len(each.read_text().splitlines()) for each in tmp_path.glob("*.jsonl")] == [2, 2]
    other.close()
    third = Transcript(other.session, other.path)
    third.append(UserEntry("third"))
    assert len(list(tmp_path.glob("*.jsonl"))) == 3
