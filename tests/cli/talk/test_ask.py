"""`ask` and piped chats: what is sent, what is printed, how it ends."""

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from assistant import events
from assistant.cli.chat import headless
from assistant.messages import Reply, ToolCall
from tests.cli.conftest import ASSISTANT
from tests.support.provider import Answer, Pause, Provider, Raw, Received, chunk, fails, sse


def command(place: Path, url: str, *arguments: str) -> "subprocess.Popen[str]":
    model = {"ASSISTANT_MODEL": "openai/test", "ASSISTANT_API_BASE": url}
    return subprocess.Popen(
        [ASSISTANT, "-w", place, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | model,
    )


def done(process: "subprocess.Popen[str]", stdin: str = "") -> tuple[int, str, str]:
    shown, beside = process.communicate(stdin, timeout=600)
    return process.returncode, shown, beside


@pytest.mark.slow
def test_unquoted_words_and_standard_input_are_both_sent(place: Path) -> None:
    with Provider("A short list.") as provider:
        asked = command(place, provider.url, "ask", "summarise", "this")
        assert done(asked, "tea\ncoffee\n") == (0, "A short list.\n", "")
    sent = provider.requests[0].body["messages"][-1]["content"]
    assert "[/BRIEFING]\n\nsummarise this\n\n[Standard input, " in sent
    assert sent.endswith("]\ntea\ncoffee\n")


def test_without_a_model_a_reminder_is_set_or_its_command_named(place: Path) -> None:
    def told(*words: str, beside: str = "") -> str:
        asked = [ASSISTANT, "-w", place, "ask", *words]
        return subprocess.run(asked, input=beside, capture_output=True, text=True).stdout

    assert "09:00: call Bo (HEARTBEAT.md:" in told("remind me tomorrow at 9 to call Bo")
    letter = "Dear Sir,\npay 900 EUR\n"
    assert "09:00: read this (" in told("remind me tomorrow at 9 to read this", beside=letter)
    reminders = (place / "HEARTBEAT.md").read_text("utf-8")
    assert "at 09:00 remind me: call Bo\n" in reminders
    assert reminders.endswith("at 09:00 remind me: read this\n")
    assert "`assistant remind tomorrow" in told("Remind me to call Ana")
    assert "assistant remind" not in told("Can you remind me about Anna's birthday?")
    assert "`assistant remind tomorrow" in told("--otr", "remind me tomorrow at 9 to call Ana")
    assert (place / "HEARTBEAT.md").read_text("utf-8") == reminders


def test_a_run_may_be_somebody_else_and_is_told_what_remains_off_the_record(place: Path) -> None:
    (place / "reviewer.md").write_text("You are Rex, who reviews code.\n")
    (place / "SOUL.md").write_text("Never be rude.\n")
    with Provider("It has a bug.") as provider:
        asked = command(
            place, provider.url, "ask", "--otr", "--system", f"{place}/reviewer.md", "look at this"
        )
        code, shown, beside = done(asked)
    assert (code, shown) == (0, "It has a bug.\n")
    assert "Off the record: this conversation is not stored here. What remains" in beside
    system = provider.requests[0].body["messages"][0]["content"]
    framing = "This is who you are and how you speak."
    assert system.startswith(
        f"# Your Identity\n\n{framing}\n\nYou are Rex, who reviews code.\n\n# Core Guard"
    )
    assert "You are Ada" not in system and "Never be rude." in system


def test_nothing_is_run_that_a_tool_has_planted_on_the_path(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted, ran = place / ".venv/bin", tmp_path / "ran"
    planted.mkdir(parents=True)
    for folder in os.get_exec_path():
        for program in Path(folder).glob("*"):
            (planted / program.name).write_text(f'#!/bin/sh\necho "$0" >> {ran}\n')
            (planted / program.name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{planted}:{os.environ['PATH']}")
    monkeypatch.setenv("VIRTUAL_ENV", str(planted.parent))
    with Provider("Good day.") as provider:
        assert done(command(place, provider.url, "ask", "hello"))[:2] == (0, "Good day.\n")
    assert not ran.exists()


def test_a_run_cannot_be_what_no_file_says(place: Path) -> None:
    (place / "empty.md").write_text("<!-- to do -->\n")
    (place / "binary.md").write_bytes(b"\xff\xfe")
    for name, code in {"empty.md": 2, "missing.md": 2, "binary.md": 1}.items():
        asked = subprocess.run(
            [ASSISTANT, "-w", place, "ask", "--system", f"{place}/{name}", "hello"],
            capture_output=True,
            text=True,
        )
        assert asked.returncode == code
        assert name in asked.stderr and "Traceback" not in asked.stderr
        assert "workspace" not in asked.stderr


def test_input_that_is_no_text_is_named(place: Path) -> None:
    asked = subprocess.run(
        [ASSISTANT, "-w", place, "ask", "summarise"], input=b"\xff\xfe\0", capture_output=True
    )
    assert asked.returncode == 2
    assert asked.stderr == (
        b"assistant: standard input is not UTF-8 text: byte 0. Convert it first\n"
    )


def turn(*shown: events.Event) -> Iterator[events.Event]:
    return iter(shown)


def test_texts_around_a_call_are_set_apart(capsys: pytest.CaptureFixture[str]) -> None:
    shown = turn(
        events.TextDelta("Let me "),
        events.TextDelta("look."),
        events.ToolStarted("c1", "look", {}, "look"),
        events.ToolFinished("c1", "look", "x", error=False, compact="look"),
        events.TextDelta("Done."),
        events.TurnFinished("Done."),
    )
    assert headless.print_turns([shown, turn(events.TurnFinished(""))]) == 0
    assert capsys.readouterr().out == "Let me look.\n\nDone.\n"


@pytest.mark.parametrize("ends", ["", "\n"])
@pytest.mark.parametrize("renders", [True, False])
def test_a_note_begins_a_line_of_its_own(
    ends: str, renders: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []

    def written(text: str = "", nl: bool = True, err: bool = False) -> None:
        order.append(text + "\n" * nl)

    monkeypatch.setattr(headless.typer, "echo", written)
    monkeypatch.setattr(headless, "echo", written)
    monkeypatch.setattr(headless.sys.stdout, "isatty", lambda: renders)
    monkeypatch.setenv("TERM", "xterm")
    notes = events.Notice("cut off"), events.Retrying("openai/x", "busy", 1.0, 1)
    answer = events.TextDelta(f"cut by length{ends}")
    headless.print_turns([turn(answer, *notes, events.TurnFinished("cut by length"))])
    lines = "".join(order).splitlines()
    assert lines[0].rstrip() == "cut by length" and "note: cut off" in lines[1]


@pytest.mark.parametrize("as_json", [True, False])
def test_the_exit_code_tells_how_turns_ended(as_json: bool) -> None:
    well, failed = events.TurnFinished("x"), events.TurnFailed("no", "Try again")
    stopped = events.TurnFinished("x", interrupted=True)
    assert headless.print_turns([turn(failed), turn(well)], as_json=as_json) == 1
    asked = [turn(failed), turn(stopped), turn(well)]
    assert headless.print_turns(asked, as_json=as_json) == 130
    assert next(asked[2]) is well


@pytest.mark.slow
def test_a_pipe_with_a_failed_turn_goes_on_and_exits_1(place: Path) -> None:
    with Provider(fails(401), "Here.") as provider:
        code, shown, beside = done(command(place, provider.url, "chat"), "hello\n\nthere?\n")
    assert (code, shown) == (1, "Here.\n")
    assert beside.startswith("assistant: ")


SECRET = "sk-proj-" + "aB3dE5gH7jK9mN1pQ3sT5vW7" * 2


@pytest.mark.slow
def test_a_pipe_takes_commands_files_and_the_shell(place: Path) -> None:
    (place / "notes.txt").write_text("Mia likes rooibos\n")
    said = "!echo forty-two\nsee @notes.txt\n/usage\nsee @nowhere.txt\n/nonsense\n/recall\n"
    said += f"/remember the key is {SECRET}\n/forget the spare key\n/quit\nmore\n"
    with Provider("Tea.") as provider:
        code, shown, beside = done(command(place, provider.url, "chat"), said)
    assert code == 1 and shown.startswith("forty-two\n") and "\nTea.\n" in shown
    assert " tokens in " in shown
    assert "there is no file nowhere.txt" in beside and "no command /nonsense" in beside
    assert "/recall needs QUERY. Write " in beside
    assert "/remember asks a question." in beside and SECRET not in beside
    assert "/forget asks a question." in beside and "--yes" not in beside
    (request,) = provider.requests
    sent = str(request.body["messages"][-1]["content"])
    assert "rooibos" in sent and "Output of echo forty-two, " in sent


CALL = Reply(tool_calls=(ToolCall("c", "recall", {"query": "boat"}),), finish_reason="tool_calls")


@pytest.mark.parametrize(
    ("answer", "words", "requests"),
    [
        ("", "gave an empty answer", 2),
        pytest.param(Reply("", "hm"), "gave an empty answer", 2, marks=pytest.mark.slow),
        (Raw(sse(chunk({}, "content_filter"))), "withheld the answer", 1),
        pytest.param(CALL, "repeating the same call", 7, marks=pytest.mark.slow),
    ],
)
def test_no_answer_is_no_success(
    place: Path,
    answer: Reply | Raw | str,
    words: str,
    requests: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ASSISTANT_MEMORY__CAPTURE", "never")
    with Provider(respond=lambda _: answer) as provider:
        code, shown, beside = done(command(place, provider.url, "ask", "hello"))
        assert len(provider.requests) == requests
    assert (code, shown.strip()) == (1, "")
    assert words in beside
    (session,) = (place / ".assistant" / "sessions").glob("*.jsonl")
    assert words in session.read_text(encoding="utf-8").splitlines()[-1]


@pytest.mark.slow
def test_the_limit_of_rounds_is_a_setting(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSISTANT_MEMORY__CAPTURE", "never")
    monkeypatch.setenv("ASSISTANT_MODEL__MAX_ROUNDS", "3")
    with Provider(respond=lambda _: CALL) as provider:
        code, _, beside = done(command(place, provider.url, "ask", "hello"))
        assert len(provider.requests) == 3
    assert code == 1 and "within the requests allowed for one turn" in beside


@pytest.mark.slow
def test_an_interrupted_turn_exits_130(place: Path) -> None:
    stalled = Raw((*sse(chunk({"role": "assistant", "content": "Once upon"})), Pause()))
    with Provider(stalled) as provider:
        asked = command(place, provider.url, "ask", "hello")
        assert asked.stdin is not None and asked.stdout is not None
        asked.stdin.close()
        assert asked.stdout.read(9) == "Once upon"
        asked.send_signal(signal.SIGINT)
        assert asked.wait(90) == 130
        asked.stdout.close()
        assert asked.stderr is not None
        asked.stderr.close()


@pytest.mark.slow
def test_a_signal_ends_a_piped_chat_while_it_compacts(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSISTANT_MODEL__CONTEXT_WINDOW", "6000")

    def respond(received: Received) -> Answer:
        if "tools" in received.body:
            return "It is with Ada. " * 80
        return Raw((Pause(),)) if "You summarise" in str(received.body) else '{"operations": []}'

    with Provider(respond=respond) as provider:
        chat = command(place, provider.url, "chat")
        assert chat.stdin is not None
        chat.stdin.write(f"Where is the spare key? {'Tell me more. ' * 80}\n" * 20)
        chat.stdin.flush()
        assert provider.wait_for(lambda it: "You summarise" in str(it.requests[-1:]), 300)
        requests = len(provider.requests)
        chat.send_signal(signal.SIGTERM)
        code, _, beside = done(chat)
        assert (code, len(provider.requests)) == (130, requests)
    assert "Compaction was postponed: interrupted" in beside


@pytest.mark.parametrize(
    ("window", "is_set"),
    [
        (2_048, True),
        pytest.param(3_072, True, marks=pytest.mark.slow),
        pytest.param(4_096, True, marks=pytest.mark.slow),
        pytest.param(4_096, False, marks=pytest.mark.slow),
    ],
)
def test_a_model_with_a_small_window_answers_every_turn(
    place: Path, window: int, is_set: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The provider refuses what is longer, by its own count."""
    if is_set:
        monkeypatch.setenv("ASSISTANT_MODEL__CONTEXT_WINDOW", str(window))
    asked = [f"Where is the spare key, number {n}? {'Tell me more. ' * 20}" for n in range(8)]
    with Provider(respond=lambda _: "It is with Ada. " * 12, window=window) as provider:
        code, shown, beside = done(command(place, provider.url, "chat"), "\n".join(asked) + "\n")
    assert code == 0, beside
    assert shown.count("It is with Ada. " * 11) == len(asked), beside
    first = next(each.body for each in provider.requests if each.roles[-1] == "user")
    names = [each["function"]["name"] for each in first["tools"]]
    assert {"recall", "remember", "load_tools"} <= set(names)
    assert "with Ada, next door" in str(
        first["messages"]
    )  # in the briefing, or in memory that stands
