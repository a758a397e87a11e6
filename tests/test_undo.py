"""Every turn can be taken back: what the model wrote and remembered, and what commands deleted."""

import subprocess
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from msgspec import structs

from assistant.agent.capture import reading
from assistant.app.chat import Chat, open_chat
from assistant.app.options import ChatOptions
from assistant.app.undo import TakenBack, changed_by, take_back
from assistant.cli.chat.plain import PlainScreen
from assistant.cli.chat.screen import Choice
from assistant.cli.chat.slash import COMMANDS, UNDID
from assistant.cli.chat.slash import Host as ChatHost
from assistant.errors import UsageError
from assistant.memory.base import Fact, JournalEntry, Keeper, Origin, Query
from assistant.messages import Reply, ToolCall
from assistant.session import transcript
from assistant.session.entries import (
    AttachmentEntry,
    CapturedEntry,
    CaptureEntry,
    TitleEntry,
    UserEntry,
)
from assistant.session.history import group
from assistant.tools.policy import ApproveAll
from assistant.workspace import template, trust
from assistant.workspace.folder import Workspace
from tests.cli.conftest import ASSISTANT
from tests.support.scripted import ScriptedModel


@pytest.fixture
def chat(tmp_path: Path) -> Iterator[Chat]:
    place = template.create(tmp_path / "place").workspace
    trust.grant(place)
    (place.root / "diary").mkdir()
    (place.root / "diary/may.txt").write_text("May was warm.\n")
    (place.root / "notes.txt").write_text("written by hand\n")
    with open_chat(place, ChatOptions(), approver=ApproveAll(), no_daemon=True) as chat:
        yield chat


def turn(chat: Chat, message: str, *calls: tuple[str, dict[str, object]]) -> None:
    """A turn in which the model makes these calls."""
    asked = [ToolCall(f"c{number}", *call) for number, call in enumerate(calls)]
    replies = [Reply(tool_calls=(call,)) for call in asked]
    chat.conversation.model = ScriptedModel(*replies, "Done.")
    events = list(chat.send(message))
    assert events[-1].name == "turn_finished"
    assert not [each for each in events if each.name == "tool_finished" and each.error]  # type: ignore[union-attr]


def undone(chat: Chat) -> TakenBack:
    record = chat.conversation.transcript
    last = next(changed_by(chat.workspace, chat.memory, record.session, record.entries))
    return take_back(chat.workspace, chat.memory, last)


def test_files_commands_and_facts_of_a_turn_go_back_together(chat: Chat) -> None:
    root = chat.workspace.root
    memory = (root / "MEMORY.md").read_bytes()
    turn(
        chat,
        "The boat is blue. Tidy up",
        ("remember", {"fact": "The boat is blue"}),
        ("write_file", {"path": "notes.txt", "text": "by the model\n"}),
        ("shell", {"command": "rm -rf diary; echo x > new.txt"}),
    )
    assert not (root / "diary").exists() and b"boat is blue" in (root / "MEMORY.md").read_bytes()
    files = ("diary/may.txt", "notes.txt")
    back = undone(chat)
    assert [write.text for write in back.writes] == ["The boat is blue"]
    assert back == TakenBack(files, ("new.txt",), back.writes, (), ())
    assert (root / "notes.txt").read_text() == "written by hand\n"
    assert (root / "diary/may.txt").read_text() == "May was warm.\n"
    assert not (root / "new.txt").exists()
    assert (root / "MEMORY.md").read_bytes() == memory
    (kept,) = chat.workspace.checkpoints.iterdir()  # they might have been the only copies
    assert {each.read_text() for each in (kept / "files").iterdir()} == {"by the model\n", "x\n"}


def test_a_fact_of_another_hand_stays(chat: Chat) -> None:
    turn(chat, "The boat is blue", ("remember", {"fact": "The boat is blue"}))
    chat.memory.remember([Fact("The key is with Ada")])
    assert [write.text for write in undone(chat).writes] == ["The boat is blue"]
    text = (chat.workspace.root / "MEMORY.md").read_text()
    assert "Ada" in text and "blue" not in text


def test_a_fact_that_waits_is_dropped_with_its_turn(chat: Chat) -> None:
    elsewhere = Fact("Bo sails", origin=Origin("tool", "another session", ("e1",)))
    chat.memory.remember([elsewhere])
    read = ("read_file", {"path": "notes.txt"})
    turn(chat, "What do my notes say?", read, ("remember", {"fact": "The notes are by hand"}))
    assert len(chat.memory.waiting()) == 2
    back = undone(chat)
    assert back == TakenBack((), (), (), ("The notes are by hand",), ())
    assert [held.fact.text for held in chat.memory.waiting()] == ["Bo sails"]
    record = chat.conversation.transcript
    again = changed_by(chat.workspace, chat.memory, record.session, record.all_entries)
    assert not list(again), "what it dropped counts as no change of a turn"


def test_a_fact_that_was_reviewed_meanwhile_stops_nothing(chat: Chat) -> None:
    read = ("read_file", {"path": "notes.txt"})
    facts = [("remember", {"fact": text}) for text in ("The notes are by hand", "Bo wrote them")]
    turn(chat, "What do my notes say?", read, *facts)
    record = chat.conversation.transcript
    last = next(changed_by(chat.workspace, chat.memory, record.session, record.entries))
    by_hand, _ = chat.memory.waiting()
    chat.memory.review(by_hand.id, accept=False)  # in another shell, while `/undo` asks
    back = take_back(chat.workspace, chat.memory, last)
    assert back.dropped == ("Bo wrote them",)
    assert [line.partition(":")[0] for line in back.left] == ["“The notes are by hand”"]


def test_undo_walks_back_turn_by_turn(chat: Chat) -> None:
    root = chat.workspace.root
    for number in (1, 2):
        turn(chat, f"step {number}", ("shell", {"command": f"echo {number} > notes.txt"}))
    turn(chat, "and nothing")
    undone(chat)
    assert (root / "notes.txt").read_text() == "1\n"
    undone(chat)
    assert (root / "notes.txt").read_text() == "written by hand\n"


def test_a_turn_is_taken_back_although_the_clock_was_set_meanwhile(chat: Chat) -> None:
    for number in (1, 2):
        turn(chat, f"step {number}", ("write_file", {"path": "AGENTS.md", "text": f"{number}\n"}))
    record = chat.conversation.transcript
    first, second = group(record.entries)
    set_ahead = {first.entries[-1].id: "2099-01-01T09:00:00+00:00"}
    set_back = {second.entries[0].id: "2098-01-01T09:00:00+00:00"}
    entries = [
        structs.replace(entry, time=(set_ahead | set_back).get(entry.id, entry.time))
        for entry in record.entries
    ]
    found = list(changed_by(chat.workspace, chat.memory, record.session, entries))
    names = [(changed.name, len(changed.facts)) for changed in found]
    assert names == [("step 2", 1), ("step 1", 1)]


def test_a_command_whose_changes_cannot_be_kept_asks(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assistant.workspace.checkpoints.MOST_FILES", 1)
    box = chat.conversation.toolbox
    writing = box.review(ToolCall("1", "shell", {"command": "rm notes.txt"}))
    assert writing.action == "ask" and "/undo cannot take back" in writing.detail
    reading = box.review(ToolCall("2", "shell", {"command": "cat notes.txt | wc -l"}))
    assert "/undo" not in reading.detail


def test_what_a_tool_makes_again_is_no_reason_to_ask(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    packages = chat.workspace.root / "site/node_modules/left-pad"
    packages.mkdir(parents=True)
    for number in range(200):
        (packages / f"{number}.js").touch()
    monkeypatch.setattr("assistant.workspace.checkpoints.MOST_FILES", 100)
    call = ToolCall("1", "shell", {"command": "rm notes.txt"})
    assert "/undo" not in chat.conversation.toolbox.review(call).detail
    (chat.workspace.root / "site/node_modules").rename(chat.workspace.root / "site/pages")
    assert "/undo cannot take back" in chat.conversation.toolbox.review(call).detail


def test_finding_what_turns_changed_looks_at_each_write_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = [f"2026-05-01T10:{minute:02}:00+00:00" for minute in range(40)]
    entries = [UserEntry("go on", id=f"m{n}", time=time) for n, time in enumerate(times)]
    elsewhere = Origin("owner", "another", ("m1",))
    writes = [
        JournalEntry(f"w{n}", time, "remember", "MEMORY.md", "x", origin)
        for n, time in enumerate(times)
        for origin in (elsewhere, Origin("assistant"))
    ]
    parsed: list[str] = []

    def fromisoformat(text: str) -> datetime:
        parsed.append(text)
        return datetime.fromisoformat(text)

    monkeypatch.setattr("assistant.app.undo._time", fromisoformat)
    memory = SimpleNamespace(log=lambda limit: writes[:limit], waiting=lambda: ())
    place = template.create(tmp_path / "place").workspace
    changes = list(changed_by(place, cast(Keeper, memory), "this", entries))
    assert [(change.turn.asked.id, len(change.facts)) for change in changes] == [
        (entry.id, 1) for entry in reversed(entries)
    ]
    assert len(parsed) <= 3 * len(entries)


class Host(ChatHost):
    """The chat on a screen whose owner picks the first that matches some words."""

    screen: PlainScreen

    def __init__(self, chat: Chat, *picks: str) -> None:
        super().__init__(chat, PlainScreen(""))
        self._picks = list(picks)
        self.screen.pick = self._pick  # type: ignore[method-assign, assignment]

    def go_on(self) -> None:
        """Nothing to show."""

    def _pick(self, title: str, choices: tuple[Choice, ...]) -> Choice:
        wanted = self._picks.pop(0)
        return next(each for each in choices if each.matches(wanted))


def test_undo_takes_what_the_owner_wrote_since_and_then_the_turn(
    chat: Chat, capsys: pytest.CaptureFixture[str]
) -> None:
    host = Host(chat)
    with pytest.raises(UsageError, match="changed nothing"):
        COMMANDS["/undo"].run(host, "")
    turn(chat, "fill it in", ("write_file", {"path": "notes.txt", "text": "by the model\n"}))
    COMMANDS["/remember"].run(host, "The boat is blue")
    COMMANDS["/undo"].run(host, "")
    assert "Undone: no longer in MEMORY.md" in capsys.readouterr().out
    COMMANDS["/undo"].run(host, "")
    said = capsys.readouterr().out
    assert "“fill it in”" in said and "notes.txt is restored" in said
    assert "notes.txt" in str(host.attachments)
    with pytest.raises(UsageError, match="changed nothing"):
        COMMANDS["/undo"].run(host, "")


def test_undo_takes_back_a_refusal_of_the_owners_and_none_of_its_own(chat: Chat) -> None:
    host = Host(chat)
    turn(chat, "fill it in", ("write_file", {"path": "notes.txt", "text": "by the model\n"}))
    read = ("read_file", {"path": "notes.txt"})
    turn(chat, "What do my notes say?", read, ("remember", {"fact": "The notes are by hand"}))
    (held,) = chat.memory.waiting()
    chat.memory.review(held.id, accept=False)
    assert chat.memory.log(1)[0].origin == Origin()
    COMMANDS["/undo"].run(host, "")
    assert len(chat.memory.waiting()) == 1
    COMMANDS["/undo"].run(host, "")
    assert not chat.memory.waiting()
    COMMANDS["/undo"].run(host, "")
    assert not chat.memory.waiting()
    assert (chat.workspace.root / "notes.txt").read_text() == "written by hand\n"


@pytest.mark.parametrize("outside", [False, True])
def test_what_was_undone_goes_with_the_next_message(chat: Chat, outside: bool) -> None:
    shell = ("shell", {"command": "echo 1 > notes.txt"})
    turn(chat, "The boat is blue", ("remember", {"fact": "The boat is blue"}), *[shell] * outside)
    host = Host(chat)
    COMMANDS["/undo"].run(host, "")
    chat.conversation.model = ScriptedModel("Fine.")
    *_, end = chat.send("Anna is from Graz", host.attachments)
    assert end.name == "turn_finished"
    kept = transcript.read(chat.workspace.sessions, chat.conversation.transcript.session)
    (entry,) = (entry for entry in kept if isinstance(entry, AttachmentEntry))
    assert "no longer in MEMORY.md: The boat is blue" in entry.text
    assert entry.inward is not outside


@pytest.mark.parametrize("what", ["everything", "messages stay", "talk"])
def test_rewind_goes_back_to_before_a_message(chat: Chat, what: str) -> None:
    root, record = chat.workspace.root, chat.conversation.transcript
    turn(chat, "the first", ("note", {"text": "began"}))
    turn(chat, "the second", ("shell", {"command": "rm -rf diary"}))
    turn(chat, "the third", ("write_file", {"path": "notes.txt", "text": "3\n"}))
    host = Host(chat, "the second", what)
    COMMANDS["/rewind"].run(host, "")
    files = what != "talk"
    assert (root / "diary/may.txt").exists() is files
    assert (root / "notes.txt").read_text() == ("written by hand\n" if files else "3\n")
    said = str(record.entries)
    kept = transcript.read(chat.workspace.sessions, record.session)
    assert ("the second" in said) is ("the third" in str(kept)) is (what == "messages stay")
    assert "the first" in said and chat.conversation.scratch.notes == "began"
    assert host.screen.kept == ("" if what == "messages stay" else "the second")
    turn(chat, "the fourth")
    assert len({entry.id for entry in record.entries}) == len(record.entries)


def test_rewind_takes_back_only_what_was_captured_from_what_it_discards(chat: Chat) -> None:
    record = chat.conversation.transcript
    for said in ("My boat is blue", "The mast is red", "Bo sails it"):
        turn(chat, said)
    first, second, third = (each.asked.id for each in group(record.entries))
    entries = {"blue": (first,), "blue and red": (second, first), "red": (second, third)}
    facts = [Fact(f"It is {it}", origin=Origin("owner", record.session, ids))
             for it, ids in entries.items()]  # fmt: skip
    waiting = Fact("Bo sails", origin=Origin("tool", record.session, (third,)))
    chat.memory.remember([*facts, waiting])
    capture = record.append(CaptureEntry(record.entries[-1].id))
    record.append(CapturedEntry((capture.id,)))
    COMMANDS["/rewind"].run(Host(chat, "mast", "everything"), "")
    text = (chat.workspace.root / "MEMORY.md").read_text()
    assert "- It is blue\n" in text and "- It is blue and red\n" in text
    assert "- It is red\n" not in text and not chat.memory.waiting()
    assert not reading.is_left(group(record.entries), record.entries)
    turn(chat, "The mast is white")
    assert [each.request for each in reading.unread(group(record.entries), record.entries)] == [
        "The mast is white"
    ]


def test_a_purge_reaches_what_is_kept_of_a_turn(chat: Chat) -> None:
    chat.memory.remember([Fact("The safe opens with 4711")])
    (chat.workspace.root / "notes.txt").write_text("top\nThe safe opens with 4711\n")
    turn(chat, "empty it", ("write_file", {"path": "notes.txt", "text": "\n"}))
    (fact,) = chat.memory.recall(Query("The safe opens with 4711", 1)).passages
    chat.memory.purge([fact])
    kept = [path.read_bytes() for path in chat.workspace.checkpoints.rglob("files/*")]
    assert kept == [b"top\n"] or (kept and not any(b"4711" in each for each in kept))


def test_a_workspace_keeps_no_checkpoint_off_the_record(tmp_path: Path) -> None:
    place = template.create(tmp_path / "place").workspace
    trust.grant(place)
    wish = ChatOptions(off_the_record=True)
    with open_chat(place, wish, approver=ApproveAll(), no_daemon=True) as chat:
        turn(chat, "hello")
    assert not Workspace(place.root).checkpoints.exists()


def test_undo_stops_at_the_last_turn_and_rewind_goes_back_further(
    chat: Chat, capsys: pytest.CaptureFixture[str]
) -> None:
    root = chat.workspace.root
    turn(chat, "first thing", ("write_file", {"path": "p.txt", "text": "p\n"}))
    turn(chat, "second thing", ("write_file", {"path": "q.txt", "text": "q\n"}))
    (root / "q.txt").write_text("mine\n")
    host = Host(chat, "first thing", "messages stay")
    for _ in range(2):
        with pytest.raises(UsageError, match=r"“second thing”: q\.txt: changed .*`/rewind`"):
            COMMANDS["/undo"].run(host, "")
    assert (root / "p.txt").exists() and not host.attachments
    COMMANDS["/rewind"].run(host, "")
    assert not (root / "p.txt").exists() and (root / "q.txt").read_text() == "mine\n"
    assert "Nothing was undone of: “second thing”" in str(host.attachments[UNDID])
    COMMANDS["/new"].run(host, "")
    assert not host.attachments


@pytest.mark.parametrize("way", ["/undo", "shell", "/rewind"])
def test_what_turns_changed_stays_undoable_without_their_conversation(chat: Chat, way: str) -> None:
    root, record = chat.workspace.root, chat.conversation.transcript
    turn(chat, "begin", ("write_file", {"path": "novel.md", "text": "1\n"}))
    turn(chat, "rewrite", ("write_file", {"path": "novel.md", "text": "2\n"}))
    turn(chat, "The boat is blue", ("remember", {"fact": "The boat is blue"}))
    host = Host(chat, "rewrite", "talk", "begin", "messages stay")
    COMMANDS["/rewind"].run(host, "")
    turn(chat, "add a list", ("write_file", {"path": "list.txt", "text": "milk\n"}))

    def undo() -> str:
        """What it says that it undid."""
        if way == "/undo":
            COMMANDS["/undo"].run(host, "")
            return str(host.attachments[UNDID])
        command = [ASSISTANT, "-w", root, "--no-daemon", "undo", "--yes"]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stderr
        return result.stdout

    if way == "/rewind":
        COMMANDS["/rewind"].run(host, "")
    else:
        if way == "shell":
            chat.close()
        assert "“add a list”" in undo() and not (root / "list.txt").exists()
        assert "“The boat is blue”" in undo() and (root / "novel.md").read_text() == "2\n"
        assert "“rewrite”" in undo() and (root / "novel.md").read_text() == "1\n"
        assert "“begin”" in undo()
    assert not (root / "novel.md").exists() and not (root / "list.txt").exists()
    assert "boat" not in (root / "MEMORY.md").read_text()
    assert "rewrite" not in str(record.entries)


def test_a_shell_undoes_the_latest_turn_or_says_why_not(chat: Chat) -> None:
    root = chat.workspace.root
    turn(chat, "first thing", ("write_file", {"path": "p.txt", "text": "p\n"}))
    chat.switch(None)
    turn(chat, "second thing", ("write_file", {"path": "q.txt", "text": "q\n"}))
    chat.close()
    (root / "q.txt").write_text("mine\n")
    command = [ASSISTANT, "-w", root, "--no-daemon", "undo", "--yes"]
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    assert said.returncode == 2 and "“second thing”: q.txt: changed since" in said.stderr
    assert (root / "p.txt").exists() and (root / "q.txt").read_text() == "mine\n"


def test_a_shell_undoes_the_last_turn_of_the_latest_chat_or_of_another(tmp_path: Path) -> None:
    place = template.create(tmp_path / "place").workspace
    trust.grant(place)
    sessions = []
    for colour in ("blue", "red"):
        with open_chat(place, ChatOptions(), approver=ApproveAll(), no_daemon=True) as chat:
            fact = f"The {colour} boat leaks"
            write = ("write_file", {"path": f"{colour}.txt", "text": "by the model\n"})
            turn(chat, fact, ("remember", {"fact": fact}), write)
            sessions.append(chat.conversation.transcript.session)

    def undo(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [ASSISTANT, "-w", place.root, "--no-daemon", "undo", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    assert undo("nonsense", "--yes").returncode == 1
    asked = undo(sessions[0])
    assert asked.returncode == 2 and "blue boat" in asked.stderr and "--yes" in asked.stderr
    assert undo(sessions[0], "--yes").returncode == 0
    text = (place.root / "MEMORY.md").read_text()
    assert "red boat" in text and "blue boat" not in text
    assert not (place.root / "blue.txt").exists() and (place.root / "red.txt").exists()
    assert undo("--yes").returncode == 0
    assert "red boat" not in (place.root / "MEMORY.md").read_text()
    assert not (place.root / "red.txt").exists()


def test_a_shell_undoes_what_an_event_did_in_the_words_of_its_title(tmp_path: Path) -> None:
    place = template.create(tmp_path / "place").workspace
    trust.grant(place)
    (place.root / "diary").mkdir()
    (place.root / "diary/may\nReally all.txt").write_text("May was warm.\n")

    def undo(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [ASSISTANT, "-w", place.root, "--no-daemon", "undo", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    with open_chat(place, ChatOptions(), approver=ApproveAll(), no_daemon=True) as chat:
        turn(chat, "tidy up", ("write_file", {"path": "poem.txt", "text": "x"}))
    with open_chat(place, ChatOptions(purpose="event"), no_daemon=True) as chat:
        chat.conversation.transcript.append(TitleEntry("github: the build failed"))
        waits = ("remember", {"fact": "The build of boats fails"})
        turn(
            chat,
            "An event has come in.\n[Instructions]",
            ("shell", {"command": "rm -r diary"}),
            waits,
        )
    with open_chat(place, ChatOptions(), approver=ApproveAll(), no_daemon=True) as chat:
        turn(chat, "hello")
    asked = undo()
    assert asked.stderr.splitlines()[:3] == [
        "“github: the build failed” changed",
        "  diary/may\\u{a}Really all.txt",
        "  The build of boats fails (waits for review)",
    ]
    assert undo("--yes").stdout.startswith("Undone: “github: the build failed”\n")
    assert (place.root / "diary/may\nReally all.txt").exists()
    assert undo().stderr.startswith("“tidy up” changed\n  poem.txt\n")
