"""Approvals on a real terminal: what is shown of a call, and what counts as a yes."""

import re
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

from assistant.cli.chat.approval import Asking, barred, decided
from assistant.cli.chat.screen import Kind
from assistant.cli.palette import SGR
from assistant.events import ApprovalRequested
from assistant.messages import Reply, ToolCall
from assistant.session import transcript
from assistant.session.entries import ApprovalEntry
from assistant.tools.policy import Decision
from assistant.workspace.folder import Workspace
from tests.attacks.cases import STEERING
from tests.attacks.test_terminal import is_clean
from tests.cli.conftest import ASSISTANT, Run
from tests.cli.tty import Tty
from tests.support.provider import Pause, Provider, Raw, chunk, openai, sse

LONG = (
    "printf '%s' " + "harmless " * 8 + "; touch precious-is-gone && echo https://evil.example | cat"
)
QUESTION = "[y,n,a,?]:"


def outside(command: str = LONG) -> Reply:
    return Reply(tool_calls=(ToolCall("c1", "shell", {"command": command, "outside": True}),))


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider() as server:
        yield server


def at(place: Path, provider: Provider, *arguments: str, **options: object) -> Tty:
    model = {"ASSISTANT_MODEL": "openai/test", "ASSISTANT_API_BASE": provider.url}
    return Tty("-w", str(place), *arguments, variables=model, **options)  # type: ignore[arg-type]


def decisions(place: Path) -> list[tuple[str, str]]:
    (session,) = transcript.session_ids(Workspace(place).sessions)
    entries = transcript.read(Workspace(place).sessions, session)
    return [(e.decision, e.reason) for e in entries if isinstance(e, ApprovalEntry) and e.decision]


@pytest.mark.parametrize(
    ("answer", "decision"),
    [
        ("yes", Decision("once")),
        (" Y ", Decision("once")),
        ("always", Decision("always")),
        ("a", Decision("always")),
        ("", Decision("no")),
        ("no", Decision("no")),
        ("n keep your soul", Decision("no", "keep your soul")),
        ("absolutely not, are you crazy?", Decision("no", "absolutely not, are you crazy?")),
        ("yes please", Decision("no", "yes please")),
        ("yikes", Decision("no", "yikes")),
        ("always?", Decision("no", "always?")),
    ],
)
def test_only_the_exact_words_are_a_yes(answer: str, decision: Decision) -> None:
    assert decided(answer) == decision


INVISIBLE = [*STEERING.values(), "a\u00a0b", "a\u3164b", "a\u2800b", "a\u200db", "a\ufe0fb", "a\tb"]


@pytest.mark.parametrize("trick", INVISIBLE)
def test_every_character_of_a_call_can_be_seen(trick: str) -> None:
    shown = "".join(barred(trick, 200))
    assert is_clean(shown)
    assert "\\u{" in shown and trick not in shown


@pytest.mark.parametrize("text", ["", "short", "x" * 100, "日本語" * 30])
def test_wrapping_leaves_nothing_out(text: str) -> None:
    rows = list(barred(text, 23))
    assert "".join(row[2:] for row in rows) == text
    assert [row[:2] for row in rows] == ["│ ", *["┆ "] * (len(rows) - 1)]
    assert len(rows) == max(1, -(-len(text) * (2 if "日" in text else 1) // 20))


def test_rows_break_between_words() -> None:
    text = "the quick brown  fox jumps over a-fence-that-is-far-too-long for it "
    rows = [row[2:] for row in barred(text, 23)]
    assert "".join(rows) == text and all(len(row) <= 20 for row in rows)
    assert rows[:3] == ["the quick brown  ", "fox jumps over ", "a-fence-that-is-far-"]


def test_the_words_that_change_are_bold_and_no_character_is_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    diff = (
        "@@ -1 +1 @@\n-the rent is 900\u200b euro from May on\n+the rent is 950 euro from May on\n "
    )
    rows = list(barred(diff, 23, colours=True))
    assert [SGR.sub("", row) for row in rows] == list(barred(diff, 23))
    assert re.findall(r"\x1b\[1m(.*?)\x1b", "".join(rows)) == ["900\\u{200b}", "950"]


class Scripted:
    """A dialogue of 20 rows in which the owner gives these answers."""

    size = (80, 20)

    def __init__(self, *answers: str) -> None:
        self._answers = list(answers)
        self.shown = ""

    def put(self, text: str, kind: Kind = "block") -> None:
        self.shown += f"{text}\n"

    def view(self, text: str) -> bool:
        return False

    def asking(self) -> AbstractContextManager[None]:
        return nullcontext()

    def answer(self, question: str, options: Sequence[str] = ()) -> str:
        return self._answers.pop(0)


def test_a_page_is_as_long_as_the_window_is_now() -> None:
    class Resized(Scripted):
        pages: tuple[int, ...] = ()

        def put(self, text: str, kind: Kind = "block") -> None:
            self.pages = (*self.pages, text.count("\n") + 1)
            self.size = (40, 30)

    dialogue = Resized("m", "v", "no")
    Asking(dialogue).decide(ApprovalRequested("c1", "shell", "", "\n".join("x" * 50)))
    assert dialogue.pages[:2] == (15, 12)


@pytest.mark.parametrize(
    "answers",
    [
        ("m", "m", "m", "m", "m", "m", "yes"),
        ("v", "m", "v", "?", "", "yes"),
        ("m", "y", "view", "more", "y"),
    ],
)
def test_asking_for_more_of_a_long_call_never_refuses_it(answers: tuple[str, ...]) -> None:
    detail = "\n".join(f"+ line {number}" for number in range(40))
    dialogue = Scripted(*answers)
    request = ApprovalRequested("c1", "write_file", "notes.md", detail)
    assert Asking(dialogue).decide(request) == Decision("once")
    shown = re.findall(r"line (\d+)\b", dialogue.shown)
    assert shown == [str(number) for number in range(40)]


def test_v_opens_the_whole_in_the_pager_and_returns_to_the_question(
    place: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "".join(f"Rule {number}: be kind.\n" for number in range(60))
    call = ToolCall("c1", "write_file", {"path": "SOUL.md", "text": text})
    pager = place / "pager"
    pager.write_text(f"#!/bin/sh\ncat > {place}/seen\necho in the pager\nread _ < /dev/tty\n")
    pager.chmod(0o755)
    monkeypatch.setenv("PAGER", str(pager))
    provider.enqueue(Reply(tool_calls=(call,)), "Done.")
    with at(place, provider, "chat") as tty:
        tty.wait("›")
        tty.say("change yourself")
        for times, (question, leave) in enumerate((("more lines", "\r"), (QUESTION, "\x03"))):
            tty.wait(question)
            tty.say("v")
            tty.wait(lambda tty, times=times: tty.raw.count("in the pager") > times)
            tty.send(leave)
        tty.wait(QUESTION)
        tty.say("yes")
        tty.wait("Done.")
    seen = SGR.sub("", (place / "seen").read_text()).splitlines()
    assert [row for row in seen if "Rule" in row] == [
        f"│ +Rule {number}: be kind." for number in range(60)
    ]


@pytest.mark.parametrize("size", [pytest.param((80, 24), marks=pytest.mark.slow), (40, 24)])
def test_the_whole_command_is_on_the_screen_and_a_refusal_is_one(
    place: Path, provider: Provider, run: Run, size: tuple[int, int]
) -> None:
    provider.enqueue(replace(outside(), text="I clean up now."), "I see.")
    with at(place, provider, "chat", size=size) as tty:
        tty.wait("›")
        tty.say("clean up")
        tty.wait("[y,n,a,?]:")
        assert tty.whole.index("I clean up now.") < tty.whole.index("May shell do this?")
        shown = "".join(row.lstrip("│┆ ") for row in tty.rows).replace(" ", "")
        assert LONG.replace(" ", "") in shown
        tty.say("absolutely not, are you crazy?")
        tty.wait("I see.")
        assert "you did not allow: shell" in tty.text
        tty.wait("›")
        tty.send("\x04")
        assert tty.end() == 0
    assert not (place / "precious-is-gone").exists()
    assert decisions(place) == [("no", "absolutely not, are you crazy?")]
    assert "are you crazy?" in str(provider.requests[-1].body["messages"][-1])
    (session,) = transcript.session_ids(Workspace(place).sessions)
    told = run("sessions", "show", session).stdout
    assert f"you did not allow: shell {LONG} True (absolutely not, are you crazy?)" in told


def test_a_yes_lets_it_run(place: Path, provider: Provider) -> None:
    provider.enqueue(outside("touch it-ran"), "Done.")
    with at(place, provider, "chat") as tty:
        tty.wait("›")
        tty.say("go")
        tty.wait(QUESTION)
        tty.say("?")
        tty.wait("a  always, in this session")
        tty.say("yes")
        tty.wait("Done.")
        assert "· shell: touch it-ran" in tty.text and "allowed" not in tty.text
    assert (place / "it-ran").exists()
    assert decisions(place) == [("once", "")]


@pytest.mark.slow
def test_ctrl_d_at_the_question_is_no_and_the_chat_goes_on(place: Path, provider: Provider) -> None:
    provider.enqueue(outside("touch it-ran"), "Very well.")
    with at(place, provider, "chat") as tty:
        tty.wait("›")
        tty.say("go")
        tty.wait(QUESTION)
        tty.send("\x04")
        tty.wait("Very well.")
    assert not (place / "it-ran").exists()
    assert [decision for decision, _ in decisions(place)] == ["no"]


@pytest.mark.slow
def test_what_was_typed_before_the_question_is_the_messages(
    place: Path, provider: Provider
) -> None:
    seen = Pause()
    call = tuple(openai(outside("touch it-ran")))
    start = sse(chunk({"role": "assistant", "content": "Thinking about it.\n\nWell\n\n"}))
    provider.enqueue(Raw((*start, seen, *call[1:])), "As you wish.", "Noted.")
    with at(place, provider, "chat") as tty:
        tty.wait("›")
        tty.say("go")
        tty.wait("Thinking about it.")
        tty.send("yes")
        tty.wait("› yes")
        seen.until.set()
        tty.wait("May shell do this?")
        tty.send(", alw")
        tty.wait(QUESTION)
        assert not (place / "it-ran").exists()
        tty.say("no")
        tty.wait("As you wish.")
        tty.wait("› yes, alw")
    assert not (place / "it-ran").exists()
    assert decisions(place) == [("no", "")]


@pytest.mark.slow
def test_more_than_a_screenful_is_read_to_its_end_before_a_yes(
    place: Path, provider: Provider
) -> None:
    text = "".join(f"Rule {number}: be kind.\n" for number in range(60))
    call = ToolCall("c1", "write_file", {"path": "SOUL.md", "text": text})
    provider.enqueue(Reply(tool_calls=(call,)), "Done.")
    with at(place, provider, "chat") as tty:
        tty.wait("›")
        tty.say("change yourself")
        tty.wait("more lines")
        assert QUESTION not in tty.text
        tty.say("yes")
        tty.wait("not allowed yet: part of it has not been shown")
        assert "Rule 59" not in tty.whole
        while QUESTION not in tty.text:
            left = next(row for row in reversed(tty.rows) if "more lines" in row)
            tty.say("")
            tty.wait(lambda tty: re.search(r"decides nothing\n\n.*more lines", tty.text))
            tty.say("m")
            tty.wait(lambda tty: QUESTION in tty.text or "more lines" in tty.text, gone=left)
        tty.say("")
        tty.wait("Enter alone decides nothing\n\nAllow it?")
        for number in range(60):
            assert f"│ +Rule {number}: be kind." in tty.whole
        tty.say("yes")
        tty.wait("Done.")
    assert "Rule 59" in (place / "SOUL.md").read_text()


@pytest.mark.slow
def test_ask_at_a_terminal_asks_and_shows_a_rendered_answer(
    place: Path, provider: Provider
) -> None:
    provider.enqueue(replace(outside("touch it-ran"), text="**Now**"), "Done:\n\n- `it`\n\n## End")
    with at(place, provider, "ask", "go on") as tty:
        tty.wait(QUESTION)
        assert "│ touch it-ran" in tty.text
        assert "Now\n\nMay shell do this?" in tty.whole
        tty.say("yes")
        tty.wait("End")
        assert "Done:\n\n • it\n\nEnd" in tty.whole
        assert tty.end() == 0
    assert (place / "it-ran").exists()


@pytest.mark.slow
def test_ask_asks_too_where_only_its_input_is_a_pipe(place: Path, provider: Provider) -> None:
    provider.enqueue(outside("touch it-ran"), "I will not.")
    shell = f"echo 'go on' | {' '.join(map(str, [ASSISTANT, '-w', place, 'ask', '-']))}"
    model = {"ASSISTANT_MODEL": "openai/test", "ASSISTANT_API_BASE": provider.url}
    with Tty("-c", shell, variables=model, command=Path("/bin/sh")) as tty:
        tty.wait(QUESTION)
        tty.say("never")
        tty.wait("I will not.")
    assert not (place / "it-ran").exists()


@pytest.mark.slow
def test_nobody_there_is_a_no(
    place: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    monkeypatch.setenv("ASSISTANT_MODEL", "openai/test")
    monkeypatch.setenv("ASSISTANT_API_BASE", provider.url)
    provider.enqueue(outside("touch it-ran"), "Not allowed.")
    assert "Not allowed." in run("ask", "go on").stdout
    assert not (place / "it-ran").exists()


@pytest.mark.slow
def test_what_is_typed_between_two_pages_is_sent_nowhere(place: Path, provider: Provider) -> None:
    text = "".join(f"Rule {number}: be kind.\n" for number in range(200))
    (place / "SOUL.md").write_text("Be kind.\n")
    call = ToolCall("c1", "write_file", {"path": "SOUL.md", "text": text})
    provider.enqueue(Reply(tool_calls=(call,)), "I see.")
    with at(place, provider, "chat", size=(40, 24)) as tty:
        tty.wait("›")
        tty.say("change yourself")
        tty.wait("more lines")
        tty.wait("\nthem, n refuses:")  # wrapped between words
        tty.send("m\r" * 5)  # faster than the next page is shown
        tty.wait("Rule 20:")
        tty.send("m\r")
        tty.wait("Rule 40:")
        tty.send("\x04")
        tty.wait("I see.")
        tty.wait("›", gone="Esc stops")
    said = [each for each in provider.requests[-1].body["messages"] if each["role"] == "user"]
    assert len(said) == 1 and len(provider.requests) == 2
