"""The words of a piece of markdown, as its reader sees them."""

import pytest

from assistant.memory.text.markdown import is_struck, plain


@pytest.mark.parametrize(
    ("markdown", "words"),
    [
        ("- **Ana** lives in _Porto_", "Ana lives in Porto"),
        ("1. the `door` [code](https://x.y/z)", "the door code"),
        ("4711. is the code", "4711. is the code"),
        ("- [x] call Ben", "call Ben"),
        ("2*3*4 is no emphasis", "2*3*4 is no emphasis"),
        ("a <b>bold</b><br>word, and List<int>", "a bold word, and List<int>"),
        ("seen <!-- hidden --> words", "seen words"),
        ("<!-- never closed", "<!-- never closed"),
        ("| a | b |\n|---|---|\n| 1 | 2 |", "a, b\n1, 2"),
        ("```sh\nmake all\n```", "make all"),
        ("AT&amp;T \\* 5", "AT&T * 5"),
        ("lives in ~~Porto~~ Graz", "lives in Graz"),
        ("> " * 60 + "deep", "deep"),
    ],
)
def test_markup_is_left_out_of_the_words(markdown: str, words: str) -> None:
    assert plain(markdown) == words


@pytest.mark.parametrize(
    ("markdown", "struck", "words"),
    [
        ("- ~~Ana lives in Porto~~", True, "Ana lives in Porto"),
        ("- ~~Porto~~ (superseded 2026-11-22: Graz)", True, "Porto"),
        ("- Ana lives in ~~Porto~~", False, "Ana lives in"),
    ],
)
def test_a_fact_that_is_struck_out_still_says_what_it_said(
    markdown: str, struck: bool, words: str
) -> None:
    assert is_struck(markdown) is struck
    assert plain(markdown) == words
