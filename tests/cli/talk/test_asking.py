"""Questions of the model's: on a terminal, across a restart, and where nobody is there."""

import json
from pathlib import Path

import pytest

from assistant.agent.capture.extraction import origin_in_turn
from assistant.events import QuestionAsked
from assistant.messages import Reply, ToolCall
from assistant.session.entries import QuestionEntry, ToolResultEntry, UserEntry
from assistant.session.history import Turn
from tests.cli.talk.test_ask import command, done
from tests.cli.terminal.test_approvals import at
from tests.support.provider import Provider

ASKS = Reply(
    tool_calls=(
        ToolCall("q1", "ask", {"question": "Which door?", "options": ["the red", "the blue"]}),
        ToolCall("n1", "note", {"text": "a door"}),
    )
)


def heard(provider: Provider) -> list[str]:
    """The results that the latest request carries."""
    said = provider.requests[-1].body["messages"]
    return [each["content"] for each in said if each["role"] == "tool"]


@pytest.mark.slow
def test_without_a_terminal_the_turn_ends_with_the_question_and_the_next_message_answers_it(
    place: Path,
) -> None:
    with Provider(ASKS, "Blue it is.") as provider:
        code, shown, beside = done(command(place, provider.url, "ask", "paint it"))
        assert (code, shown, beside) == (3, "Which door?\n1. the red\n2. the blue\n", "")
        listed = done(command(place, provider.url, "sessions", "list"))[1]
        assert "waits for your answer" in listed
        again = done(command(place, provider.url, "ask", "--continue", "--json", "2"))
        assert again[0] == 0
        assert json.loads(again[1].splitlines()[-1])["reply"] == "Blue it is."
        assert heard(provider) == ["the blue", "Noted."]
        assert len(provider.requests) == 2


@pytest.mark.slow
def test_a_question_is_put_again_after_the_chat_was_killed(place: Path) -> None:
    with Provider(ASKS, "Blue it is.") as provider:
        with at(place, provider, "chat") as tty:
            tty.wait("›")
            tty.say("paint it")
            tty.wait("a number, or your own words:")
            tty.child.kill(9)
            tty.child.wait()
        with at(place, provider, "chat", "--continue") as tty:
            tty.wait("│ 2. the blue")
            tty.wait("a number, or your own words:")
            tty.send("\x1b[B\x1b[B")  # two arrows down
            tty.wait("own words: the blue")
            tty.send("\r")
            tty.wait("Blue it is.", gone="Esc stops")
            assert "· you answered: the blue" in tty.text
        assert heard(provider) == ["the blue", "Noted."]


@pytest.mark.parametrize(
    ("several", "said", "meant"),
    [
        (False, " 2 ", "b"),
        (False, "3", "3"),
        (False, "1, 2", "1, 2"),
        (True, "1, 2", "a; b"),
        (True, "2 of them", "2 of them"),
        (False, "B.", "b"),
        (True, "b; A", "b; a"),
        (True, "2 1", "b; a"),
        (True, "b and a bit", "b and a bit"),
        (False, "neither", "neither"),
    ],
)
def test_an_answer_is_an_option_by_its_number_its_text_or_own_words(
    several: bool, said: str, meant: str
) -> None:
    assert QuestionAsked("", "?", ("a", "b"), several).meant(said) == meant


def test_what_the_owner_types_is_their_word_and_what_they_choose_is_not() -> None:
    def behind(answer: str) -> str:
        asked = QuestionEntry("q", "Which IBAN?", ("DE00 1111", "DE00 2222"), id="e3")
        web = ToolResultEntry("w", "fetch_url", "IBAN DE00 1111", id="e2")
        said = ToolResultEntry("q", "ask", answer, id="e4")
        turn = Turn((UserEntry("Pay Ada", id="e1"), web, asked, said))
        return origin_in_turn("The IBAN is DE00 1111", "s", [turn]).kind

    assert behind("DE00 1111") == "tool"
    typed = Turn(
        (
            UserEntry("Pay Ada", id="e1"),
            QuestionEntry("q", "Which IBAN?", id="e2"),
            ToolResultEntry("q", "ask", "DE00 3333", id="e3"),
        )
    )
    assert origin_in_turn("The IBAN is DE00 3333", "s", [typed]).kind == "assistant"
