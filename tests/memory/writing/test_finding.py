"""A fact is found wherever a file states it, and only there."""

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from assistant.memory.text.chunk import chunks_of
from assistant.memory.text.identity import fact_key
from assistant.memory.writing.edits import line_stating
from assistant.memory.writing.markup import clean, escape
from assistant.memory.writing.stale_saves import fact_keys
from tests.support.examples import examples

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
@example(["- x", "```", "- Lives in Berlin", "```"], "\n", "Lives in Berlin")
@examples(800)
def test_the_first_current_passage_that_states_a_fact_is_found(
    blocks: list[str], end: str, fact: str
) -> None:
    text = end.join(blocks)
    chunks = chunks_of(text, "M.md")
    current = [c for c in chunks if c.status == "current" and not c.text.startswith("```")]
    lines = [each.start_line for each in current if fact_key(each.plain) == fact_key(fact)]
    assert line_stating(text, "M.md", fact) == (lines[0] if lines else None)


@given(st.text(min_size=1, max_size=30), st.lists(st.sampled_from(BLOCKS), max_size=4))
@examples(300)
def test_what_the_ledger_wrote_is_always_found(fact: str, blocks: list[str]) -> None:
    said = clean(fact)
    if not said:
        return
    text = "# Memory\n\n" + "\n".join(blocks) + f"\n\n## Remembered\n\n- {escape(said)}\n- other\n"
    assert line_stating(text, "M.md", said) is not None
    assert fact_key(said) in fact_keys(text)


@pytest.mark.parametrize("fact", ["Müller's dog is called Émile", "Đà Nẵng", "José’s café"])
def test_composed_and_decomposed_letters_are_one_spelling(fact: str) -> None:
    forms = [unicodedata.normalize(form, fact) for form in ("NFC", "NFD")]
    for written in forms:
        for asked in forms:
            assert line_stating(f"- tea\n- {written}\n", "MEMORY.md", asked) == 2
