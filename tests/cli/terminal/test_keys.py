"""What each key does in each mode, in a real terminal."""

import re
from pathlib import Path

from tests.cli.conftest import ASSISTANT
from tests.cli.terminal.test_chat import WORKING, chat, held, leaves, provider  # noqa: F401
from tests.cli.tty import Tty
from tests.support.provider import Provider, fails

ESCAPE, CTRL_C, CTRL_R = "\x1b", "\x03", "\x12"


def prompt(tty: Tty) -> str:
    """What stands in the prompt."""
    return next(row for row in reversed(tty.rows) if row.startswith("›")).removeprefix("›").strip()


def test_ctrl_r_shows_the_match_enter_takes_it_and_ctrl_c_and_esc_leave(
    place: Path,
    provider: Provider,  # noqa: F811
) -> None:
    provider.enqueue("Ada has it.", "Next door.")
    with chat(place, provider) as tty:
        tty.wait("›")
        tty.say("who has the spare key?")
        tty.wait("Ada has it.", gone=WORKING)
        for leave in (CTRL_C, ESCAPE):
            tty.send("a draft")
            tty.wait(lambda tty: prompt(tty) == "a draft")
            tty.send(f"{CTRL_R}spare")
            tty.wait(lambda tty: prompt(tty) == "who has the spare key?")
            tty.send(leave)
            tty.wait(lambda tty: prompt(tty) == "a draft")
            tty.send(CTRL_C)
            tty.wait(lambda tty: prompt(tty) == "")
        tty.send(f"a draft{CTRL_R}spare")
        tty.wait(lambda tty: prompt(tty) == "who has the spare key?")
        tty.send("\r")
        tty.send("\x05 Where?")
        tty.wait(lambda tty: "who has the spare" in prompt(tty) and "Where?" in prompt(tty))
        assert len(provider.requests) == 1
        tty.send(CTRL_C)
        assert leaves(tty) == 0


def test_esc_stops_a_reply_and_the_draft_stays(
    place: Path,
    provider: Provider,  # noqa: F811
) -> None:
    reply, _ = held("Counting: 1 2 3 4.", " 3")
    provider.enqueue(reply, "Here.")
    with chat(place, provider) as tty:
        tty.wait("›")
        tty.say("count to ten")
        tty.wait("Counting: 1 2")
        tty.send("one more")
        tty.send("\x1b\r")
        tty.send("thing")
        tty.wait("› one more\n  thing")
        tty.send(ESCAPE)
        tty.wait("stopped", gone=WORKING)
        tty.wait("› one more\n  thing")  # the prompt is drawn again a moment later
        tty.send("\r")
        tty.wait("Here.", gone=WORKING)
        assert leaves(tty) == 0
    assert "one more\nthing" in str(provider.requests[-1].body["messages"][-1]["content"])


def test_nothing_queued_stays_on_the_screen_after_a_stop(
    place: Path,
    provider: Provider,  # noqa: F811
) -> None:
    reply, _ = held("Counting: 1 2 3 4.", " 3")
    provider.enqueue(reply, "Heard.")
    with chat(place, provider) as tty:
        tty.wait("›")
        tty.say("count to ten")
        tty.wait("Counting: 1 2")
        tty.say("first")
        tty.say("second")
        tty.wait("queued: second")
        assert "queued: first" in tty.text
        tty.send(CTRL_C)
        tty.wait("Heard.", gone="queued:")
        assert leaves(tty) == 0


def test_a_wait_before_the_next_try_counts_down_and_enter_tries_now(
    place: Path,
    provider: Provider,  # noqa: F811
) -> None:
    provider.enqueue(fails(429, headers={"retry-after": "50"}), "Here I am.")
    with chat(place, provider) as tty:
        tty.wait("›")
        tty.say("hello")
        tty.wait(lambda tty: re.search(r"trying again in 4\d s · Enter tries now", tty.text))
        tty.send("\r")
        tty.wait("Here I am.", gone=WORKING)
        assert leaves(tty) == 0


def test_a_message_refused_for_its_file_stays_in_the_prompt(place: Path) -> None:
    with chat(place) as tty:
        tty.wait("offline")
        tty.say("read @nowhere.txt to me ")
        tty.wait("nowhere.txt")
        tty.wait(lambda tty: prompt(tty) == "read @nowhere.txt to me")
        tty.send(CTRL_C)
        assert leaves(tty) == 0


def test_a_question_at_the_first_chat_is_a_message_and_no_name(home: Path, tmp_path: Path) -> None:
    root = tmp_path / "new"
    with Tty("init", str(root)) as tty:
        assert tty.end() == 0
    with Tty("-w", str(root), "chat", command=ASSISTANT) as tty:
        tty.wait("What is your name?")
        tty.say("where is my key?")
        tty.wait("› where is my key?", gone=WORKING)
        tty.wait(lambda tty: "offline" in tty.text and WORKING not in tty.text)
        assert leaves(tty) == 0
    assert "key" not in (root / "USER.md").read_text()
