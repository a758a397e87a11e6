"""Reasoning at the head of a text is told from the reply, wherever the text is cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.events import ReasoningDelta, TextDelta
from assistant.messages import Usage
from assistant.model.provider.stream import Assembly, Delta


def read(text: str, pieces: int, *, unopened: bool = False) -> tuple[str, str]:
    made = assembled(text, pieces, unopened=unopened)[0].reply("stop", Usage())
    return made.reasoning, made.text


def assembled(
    text: str, pieces: int, *, unopened: bool = False
) -> tuple[Assembly, list[TextDelta | ReasoningDelta]]:
    """The text as a stream of so many pieces; what came of it, and what was shown."""
    made = Assembly(unopened=unopened)
    size = max(1, -(-len(text) // pieces))
    deltas = [Delta(text[start : start + size]) for start in range(0, len(text), size)]
    shown = [piece for delta in deltas for piece in made.add(delta)]
    return made, [*shown, *made.finish()]


@pytest.mark.parametrize("pieces", [1, 2, 3, 5, 1000])
@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("<think>so it is</think>\n\nYes.\n", ("so it is", "Yes.\n")),
        ("\n<think>\nhm </thin k</think> Yes </think>", ("\nhm </thin k", "Yes </think>")),
        ("<think>never closed </th", ("never closed </th", "")),
        ("Use <think> here </think>.", ("", "Use <think> here </think>.")),
        ("so it is</think>Yes.", ("so it is", "Yes.")),
        ("so it is\n</think>\n\nYes </think>", ("so it is\n", "Yes </think>")),
        ("</think>Yes.", ("", "Yes.")),
        ("Close it with `</think>`, it says.", ("", "Close it with `</think>`, it says.")),
        ("```\n</think>\n```\nSo.", ("", "```\n</think>\n```\nSo.")),
        ("`</think>` ends it.</think>Yes.", ("`</think>` ends it.", "Yes.")),
        ("  <thin air", ("", "  <thin air")),
        ("<thi", ("", "<thi")),
        ("", ("", "")),
    ],
)
def test_reasoning_is_told_from_the_reply(text: str, meant: tuple[str, str], pieces: int) -> None:
    assert read(text, pieces) == meant


@pytest.mark.parametrize("pieces", [1, 3, 1000])
def test_a_model_that_closes_what_it_has_not_opened_is_known_by_it(pieces: int) -> None:
    made, _ = assembled("so it is</think>Yes.", pieces)
    assert made.unopened
    made, shown = assembled("well</think>No.", pieces, unopened=True)
    assert made.unopened
    thought = "".join(piece.text for piece in shown if isinstance(piece, ReasoningDelta))
    said = "".join(piece.text for piece in shown if isinstance(piece, TextDelta))
    assert (thought, said) == ("well", "No.")
    made, shown = assembled("Just so.", pieces, unopened=True)
    assert made.reply("stop", Usage()).text == "Just so."
    assert isinstance(shown[-1], TextDelta) and shown[-1].text == "Just so."
    assert not made.unopened
    assert (
        assembled("<think>a</think>b", pieces, unopened=True)[0].reply("stop", Usage()).text == "b"
    )


@given(
    text=st.lists(st.sampled_from(["<think>", "</think>", "a", " ", "<", "/think>", "\n"])).map(
        "".join
    ),
    pieces=st.integers(1, 20),
    unopened=st.booleans(),
)
def test_where_it_is_cut_makes_no_difference(text: str, pieces: int, unopened: bool) -> None:
    assert read(text, pieces, unopened=unopened) == read(text, 1, unopened=unopened)
