"""A file is cut where its pieces, each parsed alone, say what the whole says."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from assistant.memory.text.chunk import cuts
from assistant.memory.text.markdown import PARSER
from tests.support.examples import examples

LINES = st.sampled_from(
    ["# Head", "## Sub", "- item", "- another item", "* star", "words", "", "  nested", "> quote"]
)


def cut(text: str) -> list[str]:
    """The pieces of a text."""
    places = [0, *cuts(text), len(text)]
    return [text[start:end] for start, end in pairwise(places)]


def blocks(text: str) -> list[str]:
    """Every inline text that the parser finds, in order."""
    return [token.content for token in PARSER.parse(text) if token.type == "inline"]


@given(st.lists(LINES, max_size=30).map("\n".join))
@examples(150)
def test_the_pieces_are_the_text_and_say_the_same(text: str) -> None:
    pieces = cut(text)
    assert "".join(pieces) == text
    assert [each for piece in pieces for each in blocks(piece)] == blocks(text)


def test_an_edit_moves_no_cut_but_those_beside_it() -> None:
    text = "".join(f"- fact number {number} of many\n" for number in range(2_000))
    before = cut(text)
    after = cut(text.replace("number 1000 ", "number one thousand "))
    assert len(before) > 50
    assert len(set(after) - set(before)) <= 2
