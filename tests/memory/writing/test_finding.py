"""The quick look for the same fact agrees with parsing the whole file."""

import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from assistant.memory.text.chunk import chunks_of
from assistant.memory.text.identity import fact_key
from assistant.memory.writing.finding import fact_keys, line_stating, stands_alone
from assistant.memory.writing.markup import clean, escape

FACTS = (
    "Lives in Berlin",
    "likes tea!",
    "Code 4711",
    "Code 4712",
    "x",
    "*x*",
    "Straße 9",
    "茶が好き",
    "!!",
    "İ",
)
BLOCKS = (
    "# Memory", "- Lives in Berlin", "* lives in  **Berlin**.", "- Lives in\n  Berlin",
    "- Lives in Berlin\n  - since 2019", "- Not true:\n  - Likes tea", "Likes tea", "> Likes tea",
    "1. Code 4711", "- Code 4712", "- ~~Code 4711~~", "<!-- Code 4711 -->", "- \\*x\\*", "- x",
    "- STRASSE 9", "- Straße 9", "- 茶が好き", "- !!", "", "", "- Code\n\n  4711", "Title\n===",
    "- İ",
    "- ~~Lives in Berlin~~ (superseded 2026-11-21: Lives in Lisbon)",
)  # fmt: skip


@given(
    st.lists(st.sampled_from(BLOCKS), max_size=8),
    st.sampled_from(["\n", "\r\n", "\n\n", "\r"]),
    st.sampled_from(FACTS),
)
@example(["- Lives in Berlin", "    indented"], "\n\n", "Lives in Berlin")
@settings(max_examples=800, deadline=None)
def test_the_quick_look_agrees_with_a_parse(blocks: list[str], end: str, fact: str) -> None:
    text = end.join(blocks)
    current = [each for each in chunks_of(text, "M.md") if each.status == "current"]
    lines = [each.start_line for each in current if fact_key(each.plain) == fact_key(fact)]
    found = line_stating(text, "M.md", fact)
    if found is not None:
        assert found in lines
    elif lines:  # only what no fact looks like may be overlooked: then it is written once more
        overlooked = [each.text for each in current if fact_key(each.plain) == fact_key(fact)]
        assert all(
            "\n" in each or "\r" in each or "STRASSE" in each or "Straße" in each
            for each in overlooked
        )


@given(st.text(min_size=1, max_size=30), st.lists(st.sampled_from(BLOCKS), max_size=4))
@settings(max_examples=300, deadline=None)
def test_what_the_ledger_wrote_is_always_found(fact: str, blocks: list[str]) -> None:
    said = clean(fact)
    if not said:
        return
    text = "# Memory\n\n" + "\n".join(blocks) + f"\n\n## Remembered\n\n- {escape(said)}\n- other\n"
    assert line_stating(text, "M.md", said) is not None
    assert fact_key(said) in fact_keys(text)


def test_only_a_whole_item_stands_alone() -> None:
    text = "- one\n- two\n  - nested\n- three\n\n  more\n- four\n"
    whole = [line for line in text.splitlines() if line.startswith("-")]
    alone = [line for line in whole if stands_alone(text, at := text.index(line), at + len(line))]
    assert alone == ["- one", "- four"]
    assert not stands_alone("```\n- one\n```\n", 4, 9)


@pytest.mark.parametrize("fact", ["Müller's dog is called Émile", "Đà Nẵng", "José’s café"])
def test_composed_and_decomposed_letters_are_one_spelling(fact: str) -> None:
    forms = [unicodedata.normalize(form, fact) for form in ("NFC", "NFD")]
    for written in forms:
        for asked in forms:
            assert line_stating(f"- tea\n- {written}\n", "MEMORY.md", asked) == 2
