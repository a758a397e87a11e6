"""A fact goes to its place as one list item, and no other block is changed by it."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from assistant.memory.writing.markup import clean, escape, insertion, line_of
from tests.memory.writing.test_items import TITLE, facts, outline
from tests.support.examples import examples

BLOCKS = (
    "# Memory", "## Remembered -- 2026-11-21", "## Remembered -- 2026-11-20", " ## indented",
    "- a fact", "* star", "  nested", "  - nested", "1. one", "a paragraph", "Title\n===", "x\n---",
    "```", "~~~\ncode\n~~~", "```\n# no heading\n```", "<!-- open", "<!-- c -->", "<div>", "<pre>",
    "    code", "> quote", "> - quoted", "| a |\n|---|\n| b |", "---", "-", "- ```\n  x", "",
    "- ~~old~~ (superseded 2026-11-01: new)", "<3", "\ttab", "- a\n\n  b", "   - a",
)  # fmt: skip
documents = st.builds(
    lambda lines, end, last, front: front + end.join(lines).replace("\n", end) + last * end,
    st.lists(st.sampled_from(BLOCKS), max_size=10),
    st.sampled_from(["\n", "\n", "\r\n", "\r"]),
    st.integers(0, 2),
    st.sampled_from(["", "", "", "---\ntitle: x\n---\n", "---\n"]),
)


@given(documents, facts)
@example("```\nopen", "x")
@example("---\nx\n<!-- open", "# x")
@example("## Remembered -- 2026-11-21\n\n- a\n\nx\n---\n- b", "x")
@examples(600)
def test_an_insertion_adds_one_list_item_and_changes_no_other_block(text: str, fact: str) -> None:
    item = escape(clean(fact))
    if not item:
        return
    before = outline(text)
    splice = insertion(text, f"## {TITLE}", item)
    after = outline(splice.apply(text))
    assert splice.removed == ""
    assert splice.reverse(splice.apply(text)) == text
    same = 0
    while same < len(before) and before[same] == after[same]:
        same += 1
    added = after[same : same + len(after) - len(before)]
    assert before[same:] == after[same + len(added) :]
    kinds = [kind for kind, *_ in added]
    assert kinds.count("list_item_open") == kinds.count("paragraph_open") == 1
    assert set(kinds) <= {
        "heading_open", "heading_close", "bullet_list_open", "bullet_list_close", "inline",
        "list_item_open", "list_item_close", "paragraph_open", "paragraph_close",
    }  # fmt: skip
    assert item in [content for *_, content in added]


@given(documents)
@examples(200)
def test_a_second_fact_of_a_day_goes_under_the_heading_that_the_first_made(text: str) -> None:
    first = insertion(text, f"## {TITLE}", "first").apply(text)
    second = insertion(first, f"## {TITLE}", "second").apply(first)
    assert second.count(f"## {TITLE}") == first.count(f"## {TITLE}")
    assert line_of(second, "- second") or line_of(second, "* second") or line_of(second, "+ second")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "## T\n\n- F\n"),
        ("# M", "# M\n\n## T\n\n- F\n"),
        ("# M\r\n", "# M\r\n\r\n## T\r\n\r\n- F\r\n"),
        ("## T\n\n- a\n\n## Z\n\nz\n", "## T\n\n- a\n- F\n\n## Z\n\nz\n"),
        ("## T\n\n* a\n  more\n\nwords\n", "## T\n\n* a\n  more\n* F\n\nwords\n"),
        ("## T\n\n- a", "## T\n\n- a\n- F\n"),
        ("```\n## T\n```\n", "```\n## T\n```\n\n## T\n\n- F\n"),
        ("<!--\n## T\n-->\n- x\n", "<!--\n## T\n-->\n- x\n\n## T\n\n- F\n"),
    ],
)
def test_where_a_fact_goes(text: str, expected: str) -> None:
    assert insertion(text, "## T", "F").apply(text) == expected
