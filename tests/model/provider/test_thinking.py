"""Reasoning at the head of a text is told from the reply, wherever the text is cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.messages import Usage
from assistant.model.provider.stream import Assembly, Delta


def read(text: str, pieces: int) -> tuple[str, str]:
    """The reasoning and the reply of a text that comes in so many pieces."""
    made = Assembly()
    size = max(1, -(-len(text) // pieces))
    for start in range(0, len(text), size):
        list(made.add(Delta(text[start : start + size])))
    list(made.finish())
    reply = made.reply("stop", Usage())
    return reply.reasoning, reply.text


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


@given(
    text=st.lists(st.sampled_from(["<think>", "</think>", "a", " ", "<", "/think>", "\n"])).map(
        "".join
    ),
    pieces=st.integers(1, 20),
)
def test_where_it_is_cut_makes_no_difference(text: str, pieces: int) -> None:
    assert read(text, pieces) == read(text, 1)
