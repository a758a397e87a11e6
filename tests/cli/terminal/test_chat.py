"""The chat on a real terminal: what stands on the screen while it answers and afterwards."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from assistant.messages import Reply, ToolCall, Usage
from tests.cli.conftest import ASSISTANT, Run
from tests.cli.tty import Tty
from tests.support.provider import Pause, Provider, Raw, chunk, openai, sse

SLOW = pytest.mark.slow
SIZES = [pytest.param((80, 24), marks=SLOW), pytest.param((100, 30), marks=SLOW), (40, 24)]
LIST = (
    "Sixty things:\n\n" + "".join(f"- thing {number}\n" for number in range(60)) + "\nThat is all."
)
WORKING = "Esc stops"


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider() as server:
        yield server


def chat(place: Path, provider: Provider | None = None, *arguments: str, **options: object) -> Tty:
    model = {"ASSISTANT_MODEL": "openai/test"} if provider else {}
    model |= {"ASSISTANT_API_BASE": provider.url} if provider else {}
    return Tty("-w", str(place), "chat", *arguments, variables=model, **options)  # type: ignore[arg-type]


def held(text: str, at: str) -> tuple[Raw, Pause]:
    """The reply as it is streamed, held before the piece that begins with `at`."""
    pause = Pause()
    parts = list(openai(Reply(text, usage=Usage(1200, 30))))
    place = next(n for n, part in enumerate(parts) if at.encode() in part)
    return Raw((*parts[:place], pause, *parts[place:])), pause


def leaves(tty: Tty) -> int:
    """Ctrl-D at an empty prompt; the exit code."""
    tty.wait("›", gone=WORKING)
    tty.send("\x04")
    return tty.end()


def test_a_conversation_from_prompt_to_quit(place: Path, provider: Provider) -> None:
    provider.enqueue("The spare key is with **Ada**.")
    with chat(place, provider) as tty:
        tty.wait("›")
        tty.say("who has the spare key?")
        tty.wait("The spare key is with Ada.", gone=WORKING)
        assert "› who has the spare key?" in tty.rows
        assert any(row.startswith("recalled The spare key is with Ada") for row in tty.rows)
        tty.say("/remember The door code is 4711")
        tty.wait("Remembered: MEMORY.md:")
        tty.say("/nonsense")
        tty.wait("there is no command /nonsense")
        tty.say("/quit")
        assert tty.end() == 0
    assert "The door code is 4711" in (place / "MEMORY.md").read_text()
    system = provider.requests[0].body["messages"][0]["content"]
    assert "# Your Identity" in str(system)


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
def test_a_block_taller_than_the_screen_shows_its_newest_lines_and_then_stands_whole(
    place: Path, provider: Provider, size: tuple[int, int]
) -> None:
    reply, pause = held(LIST, " 50")
    provider.enqueue(reply)
    with chat(place, provider, size=size) as tty:
        tty.wait("›")
        tty.say("sixty things, please")
        tty.wait(lambda tty: "thing 49" in tty.text and WORKING in tty.text)
        assert "thing 0\n" not in tty.text
        pause.until.set()
        tty.wait("That is all.", gone=WORKING)
        stands = tty.whole.splitlines()
        things = [row.strip() for row in stands if "• thing " in row]
        assert things == [f"• thing {number}" for number in range(60)]
        assert (
            "" not in stands[stands.index("Sixty things:") + 2 : stands.index("That is all.") - 1]
        )
        assert tty.rows[[row.startswith("›") for row in tty.rows].index(True) - 1] == ""
        assert leaves(tty) == 0


@pytest.mark.slow
def test_one_blank_line_stands_around_each_block(place: Path, provider: Provider) -> None:
    call = ToolCall("c1", "note", {"text": "x"})
    provider.enqueue("# One\n\ntwo\n\n\n\n- three\n- four\n\n\n```\nfive\n\nsix\n```\n\nseven\n")
    provider.enqueue(Reply("Noting.", tool_calls=(call,)), "Noted.")
    with chat(place, provider) as tty:
        tty.wait("›")
        tty.say("count")
        tty.wait("seven", gone=WORKING)
        tty.say("note it")
        tty.wait("Noted.", gone=WORKING)
        stands = tty.whole
    told = [line for line in stands.splitlines() if not line.startswith("recalled")]
    assert "\n\n\n" not in stands
    assert told[told.index("One") :][:11] == [
        *("One", "", "two", "", " • three", " • four", "", "  five", "", "  six", "")
    ]
    noting = told.index("Noting.")
    assert told[noting:][:5] == ["Noting.", "", "· note: x → 1 characters of notes", "", "Noted."]


@pytest.mark.slow
def test_ctrl_c_in_the_middle_of_a_stream_stops_the_turn_and_not_the_chat(
    place: Path, provider: Provider
) -> None:
    stalled = Raw((*sse(chunk({"role": "assistant", "content": "Once upon a time\n\n"})), Pause()))
    provider.enqueue(stalled, "Still here.")
    with chat(place, provider) as tty:
        tty.wait("›")
        tty.say("tell me a story")
        tty.wait("Once upon a time")
        tty.send("\x03")
        tty.wait("stopped", gone=WORKING)
        tty.say("are you there?")
        tty.wait("Still here.")
        assert leaves(tty) == 0
    assert provider.requests[-1].roles[-3:] == ["user", "assistant", "user"]


def test_ctrl_c_at_the_prompt_clears_it_and_says_how_to_leave(place: Path) -> None:
    with chat(place) as tty:
        tty.wait("›")
        tty.send("half a thought")
        tty.wait("› half a thought")
        tty.send("\x03")
        tty.wait("›", gone="half a thought")
        tty.send("\x03")
        tty.wait("Ctrl-D leaves")
        assert leaves(tty) == 0


@pytest.mark.slow
def test_what_is_said_meanwhile_is_edited_queued_and_heard_at_the_next_gap(
    place: Path, provider: Provider
) -> None:
    reply, pause = held("Counting: 1 2 3 4.", " 3")
    provider.enqueue(reply, "Seven, then.")
    with chat(place, provider) as tty:
        tty.wait("›")
        tty.say("count to ten")
        tty.wait("Counting: 1 2")
        tty.send("onlx\x7fy to seven\x1b[200~ and\nnot more\x1b[201~")
        tty.wait("› only to seven and\n  not more")
        assert "Counting: 1 2" in tty.text and len(provider.requests) == 1
        tty.send("\x1b[A\x01no, \r")
        tty.wait("queued: no, only to seven and")
        assert len(provider.requests) == 1
        pause.until.set()
        tty.wait("Seven, then.", gone=WORKING)
        order = ["Counting: 1 2 3 4.", "› no, only to seven and", "  not more", "Seven, then."]
        assert [row for row in tty.whole.splitlines() if row in order] == order
        assert "queued" not in tty.text and leaves(tty) == 0
    assert "only to seven and\nnot more" in str(
        provider.requests[-1].body["messages"][-1]["content"]
    )


@pytest.mark.slow
def test_enter_again_stops_the_reply_for_what_is_queued_and_says_so(
    place: Path, provider: Provider
) -> None:
    reply, _ = held("Counting: 1 2 3 4.", " 3")
    provider.enqueue(reply, "Seven, then.")
    with chat(place, provider) as tty:
        tty.wait("›")
        tty.say("count to ten")
        tty.wait("Counting: 1 2")
        tty.say("only to seven")
        tty.wait("queued: only to seven")
        tty.say("")
        tty.wait("Seven, then.", gone=WORKING)
        order = ["Counting: 1 2", "(stopped for your message)", "› only to seven", "Seven, then."]
        assert [row for row in tty.whole.splitlines() if row in order] == order
        assert leaves(tty) == 0
    assert provider.hang_ups == 1


def test_the_tools_lines_say_what_was_done_and_the_status_what_it_took(
    place: Path, provider: Provider
) -> None:
    tasks = [{"text": "look", "status": "done"}, {"text": "think", "status": "doing"}]
    calls = (
        ToolCall("c1", "remember", {"fact": "Mia plays chess"}),
        ToolCall("c2", "plan", {"tasks": tasks}),
        ToolCall("c3", "read_file", {"path": "nowhere.md"}),
        ToolCall("c0", "write_file", {"path": "tea.txt", "text": "rooibos"}),
        ToolCall("c4", "shell", {"command": "seq 13"}),
        ToolCall("c5", "read_file", {"path": "tea.txt"}),
    )
    reply = Reply("Done.", usage=Usage(3000, 100))
    provider.enqueue(Reply(tool_calls=calls), reply)
    with chat(place, provider) as tty:
        tty.wait("›")
        tty.say("Mia plays chess")
        tty.wait("Done.", gone=WORKING)
        rows = re.sub(r" · \d+ s$", "", tty.whole, flags=re.MULTILINE).splitlines()
        told = [row for row in rows if row[:1] in "·✗ " and row.strip()]
        assert told[0].startswith('· remembered "Mia plays chess" MEMORY.md:')
        assert told[1:4] == ["· plan: 1/2 done", "  [x] look", "  [>] think"]
        assert told[4].startswith("✗ read_file: nowhere.md → there is no file nowhere.md")
        assert told[6:8] == ["  +rooibos", "  \\ No newline at end of file"]
        assert told[8:13] == [
            "· shell: seq 13 → 13 lines",
            *("  1", "  2", "  3"),
            "  … 10 more lines · Ctrl-O shows all",
        ]
        tty.send("\x0f")
        tty.wait("\n11\n12\n13\n")
        tty.wait("test · 3.1k of 32.0k tokens (10%)")
        assert leaves(tty) == 0


@pytest.mark.slow
def test_ctrl_z_suspends_the_chat_and_fg_brings_it_back(place: Path) -> None:
    shell = Tty("--norc", "--noediting", "-i", command=Path("/bin/bash"), variables={"PS1": "$ "})
    with shell as tty:
        tty.wait("$")
        tty.say(f"{ASSISTANT} -w {place} chat")
        tty.wait("›")
        tty.send("half a thought")
        tty.wait("› half a thought")
        tty.send("\x1a")
        tty.wait("Stopped", gone="› half")
        tty.say("fg")
        tty.wait("› half a thought")
        tty.send("\x03\x04")
        tty.wait(lambda tty: tty.text.endswith("$"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "size", [pytest.param((60, 24), marks=SLOW), pytest.param((100, 30), marks=SLOW), (80, 12)]
)
def test_a_resize_leaves_no_line_doubled(
    place: Path, provider: Provider, size: tuple[int, int]
) -> None:
    reply, pause = held(LIST, " 30")
    provider.enqueue(reply)
    with chat(place, provider, term="linux") as tty:
        tty.wait("›")
        tty.say("sixty things, please")
        tty.wait("thing 29")
        tty.resize(*size)
        tty.send("and")
        tty.wait("› and")
        shown = [row for row in tty.rows if row]
        assert len(set(shown)) == len(shown), tty.text
        pause.until.set()
        tty.wait("That is all.", gone=WORKING)
        things = [row.strip() for row in tty.whole.splitlines() if "• thing" in row]
        assert things[-60:] == [f"• thing {number}" for number in range(60)]


@pytest.mark.slow
def test_a_dumb_terminal_gets_text_and_nothing_else(place: Path, provider: Provider) -> None:
    provider.enqueue("One **two**.\n\nThree.")
    with chat(place, provider, term="dumb") as tty:
        tty.wait("›")
        tty.say("count")
        tty.wait("Three.")
        tty.wait(lambda tty: tty.text.endswith("›"))
        assert "One **two**." in tty.rows
        assert not any("\x1b" in row for row in tty.raw.replace("\x1b[?2004", "").splitlines())
        tty.send("\x04")
        assert tty.end() == 0


@pytest.mark.slow
def test_without_a_model_the_offline_responder_answers_and_says_what_it_is(place: Path) -> None:
    with chat(place) as tty:
        tty.wait("›")
        tty.say("remember that my sister Mia lives in Porto")
        tty.wait("Remembered at MEMORY.md:", gone=WORKING)
        tty.say("where does Mia live?")
        tty.wait("Porto (MEMORY.md:", gone=WORKING)
        assert leaves(tty) == 0
    assert "Mia lives in Porto" in (place / "MEMORY.md").read_text()


def test_off_the_record_writes_nothing(place: Path, home: Path) -> None:
    before = {path: path.read_bytes() for path in place.glob("*.md")}
    with chat(place, None, "--otr") as tty:
        tty.wait("›")
        tty.say("remember that the secret word is xyzzy")
        tty.wait("Nothing was kept")
        assert leaves(tty) == 0
    assert {path: path.read_bytes() for path in place.glob("*.md")} == before
    for root in (place, home):
        for path in root.rglob("*"):
            if path.is_file():
                assert b"xyzzy" not in path.read_bytes(), path


@pytest.mark.slow
def test_plain_writes_text_and_draws_nothing(place: Path, run: Run) -> None:
    fault = run("chat", stdin="who has the spare key?\n/rewind\n").stderr
    assert "choosing from a list needs a terminal. Run it in a chat at a terminal" in fault
    with chat(place, None, "--plain") as tty:
        tty.wait("›")
        tty.say("who has the spare key?")
        tty.wait("Ada, next door")
        tty.say("!echo forty $((1 + 1))")
        tty.wait("forty 2")
        tty.say("/sessions")
        tty.wait(lambda tty: "1 turn" in tty.text and tty.text.endswith("\n›"))
        tty.say("/rewind")
        tty.wait("or Enter:")
        for answer in ("99", "nothing like it"):
            before = tty.text.count("or Enter:")
            tty.say(answer)
            tty.wait(lambda tty, before=before: tty.text.count("or Enter:") > before)  # type: ignore[misc]
        tty.wait("no match")
        tty.say("1")
        tty.wait("conversation only")
        tty.send("\x04")  # closes the list, not the chat
        tty.wait(lambda tty: tty.text.endswith("\n›"))
        assert "Esc stops" not in tty.raw and "\x1b[38" not in tty.raw
        assert leaves(tty) == 0


@pytest.mark.slow
def test_ctrl_x_ctrl_e_opens_what_is_typed_in_the_owners_editor(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", "sed -i s/lock/key/")
    with chat(place) as tty:
        tty.wait("offline")
        tty.send("who has the lock?\x18\x05")
        tty.wait("› who has the key?")
        tty.send("\r")
        tty.wait("Ada, next door", gone=WORKING)
        assert leaves(tty) == 0


@pytest.mark.slow
def test_keys_of_vi_edit_where_they_are_wanted(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSISTANT_CHAT__KEYS", "vi")
    with chat(place) as tty:
        tty.wait("offline")
        tty.send("who has the lock?\x1b")
        tty.send("bcw")
        tty.send("key?\r")
        tty.wait("Ada, next door", gone=WORKING)
        assert "› who has the key?" in tty.whole
        assert leaves(tty) == 0
