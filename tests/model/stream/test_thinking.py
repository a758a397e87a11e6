"""Reasoning at the head of a text is told from the reply, wherever the text is cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.model.stream.thinking import ThinkingFilter


def read(text: str, pieces: int) -> tuple[str, str]:
    told = ThinkingFilter()
    size = max(1, -(-len(text) // pieces))
    parts = [told.feed(text[start : start + size]) for start in range(0, len(text), size)]
    reasoning, reply = zip(*parts, told.finish(), strict=True)
    return "".join(reasoning), "".join(reply)


@pytest.mark.parametrize("pieces", [1, 2, 3, 5, 1000])
@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("<think>so it is</think>\n\nYes.\n", ("so it is", "Yes.\n")),
        ("\n<think>\nhm </thin k</think> Yes </think>", ("\nhm </thin k", "Yes </think>")),
        ("<think>never closed </th", ("never closed </th", "")),
        ("Use <think> here </think>.", ("", "Use <think> here </think>.")),
        ("  <thin air", ("", "  <thin air")),
        ("<thi", ("", "<thi")),
        ("", ("", "")),
    ],
)
def test_reasoning_is_told_from_the_reply(text: str, meant: tuple[str, str], pieces: int) -> None:
    assert read(text, pieces) == meant


@given(
    text=st.lists(st.sampled_from(["<think>", "</think>", "a", " ", "<", "/think>", "\n"])).map(
        "".join
    ),
    pieces=st.integers(1, 20),
)
def test_where_it_is_cut_makes_no_difference(text: str, pieces: int) -> None:
    assert read(text, pieces) == read(text, 1)
