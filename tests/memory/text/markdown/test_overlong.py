"""A text that is too long is cut at its best places, and nothing of it is lost."""

from hypothesis import given
from hypothesis import strategies as st

from assistant.memory.text.blocks import MAX_CHARS, SENTENCES, pieces
from tests.support.examples import examples


def cut(text: str, longest: int = MAX_CHARS) -> list[str]:
    ranges = pieces(text, 0, len(text), lambda each: len(each) <= longest, SENTENCES)
    return [text[start:stop] for start, stop in ranges]


def test_sentences_are_kept_whole_then_words_then_characters() -> None:
    assert cut("One is here. Two is. Three!", 15) == ["One is here.", "Two is. Three!"]
    assert cut("a long run without an end", 12) == ["a long run", "without", "an end"]
    assert "".join(cut("x" * 25, 10)) == "x" * 25
    assert cut("雨が降る。風が吹く。", 5) == ["雨が降る。", "風が吹く。"]


def test_a_visible_character_is_not_parted() -> None:
    family = "👩\u200d👩\u200d👧"
    assert all(not piece.startswith("\u200d") for piece in cut(family * 20, 7))


@given(st.text(alphabet="ab .!\n\r\té漢", max_size=400), st.integers(3, 60))
@examples(150)
def test_nothing_but_white_space_is_lost(text: str, longest: int) -> None:
    found = cut(text, longest)
    assert "".join("".join(found).split()) == "".join(text.split())
    assert all(each == each.strip() and 0 < len(each) <= longest for each in found)
