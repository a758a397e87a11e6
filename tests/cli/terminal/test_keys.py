"""What each key does in each mode, in a real terminal."""

import re
from collections.abc import Callable
from pathlib import Path
from time import sleep

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from assistant.cli.chat.completion import ChatCompleter
from assistant.messages import Reply, ToolCall
from tests.cli.conftest import ASSISTANT
from tests.cli.terminal.test_chat import WORKING, chat, held, leaves, provider  # noqa: F401
from tests.cli.tty import Tty
from tests.support.provider import Provider, fails

ESCAPE, CTRL_C, CTRL_R, UP = "\x1b", "\x03", "\x12", "\x1b[A"


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
        tty.send(f"a draft{CTRL_R}Spare")
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


@pytest.mark.parametrize("keys", [ESCAPE, ESCAPE + ESCAPE])
def test_esc_at_an_idle_prompt_swallows_no_key(place: Path, keys: str) -> None:
    with chat(place) as tty:
        tty.wait("offline")
        for _ in range(9):  # on a busy machine the chat may read both at once, as one sequence
            tty.send(keys)
            sleep(0.3)  # longer than a sequence takes, shorter than Escape waits for a second key
            tty.send("usage")
            tty.wait(lambda tty: prompt(tty) in ("usage", "sage"))
            shown = prompt(tty)
            tty.send(CTRL_C)
            tty.wait(lambda tty: prompt(tty) == "")
            if shown == "usage":
                break
        assert shown == "usage"
        assert leaves(tty) == 0


def typed(tty: Tty, draft: str) -> None:
    tty.send(draft)
    tty.wait(lambda tty: prompt(tty) == draft)


def asked(tty: Tty, _: str) -> None:
    pressed(tty, "clean up\r", "[y,n,a,?]:")


def answering(tty: Tty, draft: str) -> None:
    pressed(tty, "count to ten\r", "Counting: 1 2")
    typed(tty, draft)


def menu(tty: Tty, draft: str) -> None:
    typed(tty, draft)
    tty.wait("/resume [ID]")


def listed(tty: Tty, _: str) -> None:
    if "› hello" not in tty.whole:
        pressed(tty, "hello\r", "Yes.")
        tty.wait("›", gone=WORKING)
    pressed(tty, "/rewind\r", "Go back to before which message?")


ENTER, TAB, CTRL_D, DRAFT = "\r", "\t", "\x04", "a draft"
MATRIX: dict[str, tuple[Callable[[Tty, str], None], str, dict[str, tuple[str, str]]]] = {
    # mode: how it comes about, what is typed in it, and by key what the screen and the prompt say
    "prompt": (typed, DRAFT, {
        CTRL_C: ("", ""),
        CTRL_D: ("", DRAFT),
        ENTER: ("Yes.", ""),
        ESCAPE: ("", DRAFT),
    }),
    "menu": (menu, "/re", {
        ESCAPE: ("", "/re"),
        CTRL_C: ("", ""),
        ENTER: ("", "/remember"),
        TAB: ("", "/remember"),
    }),
    "working": (answering, DRAFT, {
        ESCAPE: ("stopped", DRAFT),
        CTRL_C: ("stopped", DRAFT),
        ENTER: (f"queued: {DRAFT}", ""),
    }),
    "question": (asked, "", {
        ENTER: ("Enter alone decides nothing", "[y,n,a,?]:"),
        ESCAPE: ("Yes.", ""),
        CTRL_D: ("Yes.", ""),
        CTRL_C: ("stopped", ""),
    }),
    "list": (listed, "", {
        ESCAPE: ("", ""),
        CTRL_C: ("", ""),
        CTRL_D: ("", ""),
        ENTER: ("What should be undone?", "files, facts and conversation"),
    }),
}  # fmt: skip


CALL = Reply(tool_calls=(ToolCall("c1", "shell", {"command": "rm -rf x", "outside": True}),))


def pressed(tty: Tty, key: str, shown: str) -> None:
    """Press a key and wait until the screen says so once more than before."""
    before = tty.whole.count(shown)
    tty.send(key)
    tty.wait(lambda tty: not shown or tty.whole.count(shown) > before)


def at_rest(tty: Tty) -> None:
    """Back at an empty prompt, whatever was going on."""
    if "[y,n,a,?]:" in tty.text:
        pressed(tty, CTRL_D, "Yes.")
    elif WORKING in tty.text:
        tty.send(CTRL_C)
    tty.wait("›", gone=WORKING)
    if prompt(tty):
        tty.send(CTRL_C)
    tty.wait(lambda tty: prompt(tty) == "")


@pytest.mark.parametrize(
    "mode",
    [mode if mode == "working" else pytest.param(mode, marks=pytest.mark.slow) for mode in MATRIX],
)
def test_what_each_key_does_in_a_mode(
    place: Path,
    provider: Provider,  # noqa: F811
    mode: str,
) -> None:
    begin, draft, keys = MATRIX[mode]
    if mode == "working":
        provider.enqueue(*(held("Counting: 1 2 3 4.", " 3")[0] for _ in keys))
    for _ in keys if mode == "question" else ():
        provider.enqueue(CALL, "Yes.")
    provider.enqueue("Yes.")
    with chat(place, provider) as tty:
        tty.wait("\ntest")
        for key, (shown, left) in keys.items():
            begin(tty, draft)
            pressed(tty, key, shown)
            if left.startswith("["):  # the question stays
                tty.wait(left)
            else:
                tty.wait(lambda tty, left=left: prompt(tty) == left)  # type: ignore[misc]
            if key != [*keys][-1]:
                at_rest(tty)


@pytest.mark.slow
def test_a_long_paste_is_a_chip_that_is_sent_whole(
    place: Path,
    provider: Provider,  # noqa: F811
) -> None:
    provider.enqueue("Read.", "Again.")
    rows = "\n".join(f"row {number}" for number in range(500))
    with chat(place, provider) as tty:
        tty.wait("›")
        tty.send(f"\x1b[200~{rows}\x1b[201~ what is it?")
        tty.wait(lambda tty: prompt(tty) == "[paste 1: 500 lines] what is it?")
        tty.send(ENTER)
        tty.wait("Read.", gone=WORKING)
        assert "… 489 more lines" in tty.text
        tty.send(f"{UP}{ENTER}")  # from the history
        tty.wait("Again.", gone=WORKING)
        assert leaves(tty) == 0
    for request in provider.requests:
        sent = str(request.body["messages"][-1]["content"])
        assert sent.endswith("row 499 what is it?") and "[paste" not in sent


@pytest.mark.slow
def test_a_long_paste_is_a_chip_at_a_question_too(
    place: Path,
    provider: Provider,  # noqa: F811
) -> None:
    provider.enqueue(CALL, "Yes.")
    rows = "\n".join(f"row {number}" for number in range(30))
    with chat(place, provider) as tty:
        tty.wait("›")
        asked(tty, "")
        tty.send(f"no \x1b[200~{rows}\x1b[201~")
        tty.wait("[y,n,a,?]: no [paste 1: 30 lines]")
        tty.send(ENTER)
        tty.wait("Yes.", gone=WORKING)
        assert leaves(tty) == 0
    assert "row 28\nrow 29" in str(provider.requests[-1].body["messages"][-1]["content"])


@pytest.mark.slow
def test_what_was_noted_is_a_list_wrapped_at_words(
    place: Path,
    provider: Provider,  # noqa: F811
) -> None:
    facts = ("Lena lives in Porto, near the river Douro", "Ben plays the violin")
    calls = [ToolCall(f"c{n}", "remember", {"fact": fact}) for n, fact in enumerate(facts)]
    provider.enqueue(Reply(tool_calls=tuple(calls)), "Kept.")
    with chat(place, provider, size=(40, 24)) as tty:
        tty.wait("›")
        tty.say("Remember that Lena lives in Porto, near the river Douro; Ben plays the violin")
        tty.wait("Kept.", gone=WORKING)
        assert leaves(tty) == 0
        noted = "- Lena lives in Porto, near the river\n  Douro\n- Ben plays the violin"
        assert noted in tty.whole, tty.whole


def test_a_file_in_a_folder_is_found_by_some_letters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plans/trips").mkdir(parents=True)
    (tmp_path / "plans/trips/lisbon-notes.md").touch()
    (tmp_path / "less-in-a-long-sentence-of-other-texts.md").touch()
    completer = ChatCompleter(tmp_path)
    completer.values = {"/model": lambda: ["openai/gpt", "local/qwen"]}

    def offered(text: str) -> list[str]:
        found = completer.get_completions(Document(text), CompleteEvent())
        return [each.text for each in found]

    assert offered("see @lisnot") == ["@plans/trips/lisbon-notes.md "]
    assert offered("see @plans/") == ["@plans/trips/"]
    assert offered("see @plans/trips/l") == ["@plans/trips/lisbon-notes.md "]
    assert offered("see @~no-such-user/") == []
    assert offered("/model q") == ["local/qwen"]
    for folder in (tmp_path, tmp_path / "plans"):
        (folder / "loop").symlink_to("loop")
    assert offered("see @loop") == []
    assert offered("see @plans/") == ["@plans/trips/"]
    assert offered("see @a\0/") == []

    def broken() -> list[str]:
        raise PermissionError

    completer.values = {"/model": broken}
    assert offered("/model q") == []


def test_enter_takes_the_first_file_for_a_mention_of_none_and_sends_all_else(
    place: Path,
    provider: Provider,  # noqa: F811
) -> None:
    (place / "deep/folder").mkdir(parents=True)
    (place / "deep/folder/budget-report.txt").write_text("900 euro\n")
    provider.enqueue("Read.", "Listed.", "Hello.")
    with chat(place, provider) as tty:
        tty.wait("\ntest")
        tty.send("/model ")
        tty.wait("\n openai/test")
        tty.send(f"{CTRL_C}see @foldbudg")
        tty.wait("\n deep/folder/budget-report.txt")
        tty.send(ENTER)
        tty.wait(lambda tty: prompt(tty) == "see @deep/folder/budget-report.txt")
        assert not provider.requests
        tty.send(f"{CTRL_C}/usa")
        tty.wait("\n /usage")
        tty.send(ENTER)
        tty.wait(lambda tty: prompt(tty) == "/usage")
        tty.send(f"{CTRL_C}see @deep/folder/budget-report.txt what{ENTER}")
        tty.wait("Read.", gone=WORKING)
        assert "attached: deep/folder/budget-report.txt · 1 line" in tty.text
        tty.send("see @deep/")
        tty.wait("\n folder/")
        tty.send(ENTER)
        tty.wait("Listed.", gone=WORKING)
        tty.say("hello")
        tty.wait("Hello.", gone=WORKING)
        assert leaves(tty) == 0


@pytest.mark.slow
def test_nothing_queued_stays_on_the_screen_after_a_stop(
    place: Path,
    provider: Provider,  # noqa: F811
) -> None:
    reply, _ = held("Counting: 1 2 3 4.", " 3")
    provider.enqueue(reply, "Heard one.", "Heard both.")
    with chat(place, provider) as tty:
        tty.wait("›")
        tty.say("count to ten")
        tty.wait("Counting: 1 2")
        tty.say("first")
        tty.say("second")
        tty.wait("queued: second")
        assert "queued: first" in tty.text
        tty.send(CTRL_C)
        tty.wait("Heard both.", gone="queued:")
        assert leaves(tty) == 0


def test_what_is_queued_as_the_owner_leaves_is_not_sent_and_shown(
    place: Path,
    provider: Provider,  # noqa: F811
) -> None:
    reply, _ = held("Counting: 1 2 3 4.", " 3")
    provider.enqueue(reply, "Heard it.")
    with chat(place, provider) as tty:
        tty.wait("›")
        tty.say("count to ten")
        tty.wait("Counting: 1 2")
        tty.say("now delete my notes")
        tty.say("/remember I park in garage 7")
        tty.wait("queued: /remember I park in garage 7")
        tty.send("\x04")
        assert tty.end() == 0
        assert "not sent: now delete my notes" in tty.whole
        assert "not sent: /remember I park in garage 7" in tty.whole
    assert len(provider.requests) == 1
    assert "garage" not in (place / "MEMORY.md").read_text()


@pytest.mark.slow
def test_a_wait_before_the_next_try_counts_down_and_enter_tries_now(
    place: Path,
    provider: Provider,  # noqa: F811
) -> None:
    provider.enqueue(fails(429, headers={"retry-after": "50"}), "Here I am.")
    with chat(place, provider) as tty:
        tty.wait("›")
        tty.say("hello")
        tty.wait(lambda tty: re.search(r"trying again in 4\d s · Enter tries now", tty.text))
        tty.say("and hurry")
        tty.wait("Enter stops the reply and sends it now", gone="Enter tries now")
        tty.send("\r")
        tty.wait("Here I am.", gone=WORKING)
        assert leaves(tty) == 0


@pytest.mark.slow
def test_a_message_refused_for_its_file_stays_in_the_prompt(place: Path) -> None:
    with chat(place) as tty:
        tty.wait("offline")
        tty.say("read @nowhere.txt to me ")
        tty.wait("nowhere.txt")
        tty.wait(lambda tty: prompt(tty) == "read @nowhere.txt to me")
        tty.send(CTRL_C)
        assert leaves(tty) == 0


@pytest.mark.slow
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


def test_every_list_opens_at_its_first_entry(
    place: Path,
    provider: Provider,  # noqa: F811
) -> None:
    provider.enqueue(*("Yes." for _ in range(5)))
    with chat(place, provider) as tty:
        tty.wait("›")
        for number in range(5):
            pressed(tty, f"message {number}\r", "Yes.")
            tty.wait("›", gone=WORKING)
        pressed(tty, "/rewind\r", "Go back to before which message?")
        tty.send("\x1b[B" * 4)
        tty.wait("› message 0")
        pressed(tty, ENTER, "What should be undone?")
        tty.wait("› files, facts and conversation")
