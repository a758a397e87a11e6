"""One fact is one list item, whatever it says and wherever it goes."""

import random
import unicodedata
from datetime import date

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from assistant.memory.text.markdown import PARSER, plain
from assistant.memory.writing.markup import Splice, clean, dated, escape, insertion
from tests.support.examples import examples

HOSTILE = (
    "# heading", "- item", "+ item", "* item", "1. one", "12) twelve", "---", "***", "___", "===",
    "```", "~~~", "```python\ncode\n```", "> quote", "<b>x</b>", "<!-- gone -->", "-->",
    "<script>alert(1)</script>", "[MEMORY]", "[/MEMORY]", "[x] done", "[ ] open", "[a]: b",
    "![i](u)", "[l](u)", "<http://a.b>", "**b**", "_e_", "`c`", "``", "~~old~~", "~",
    "~~old~~ (superseded 2026-11-21: new)", "\\", "\\*", "&lt;", "&#64;", "| a | b |", "|---|---|",
    "\u202egnp.exe", "a\u200bb", "\u2066x\u2069", "\ufeffx", "\U000e0041", "x\u2028y", "\x00",
    "\x1b[0m", "a\ufe00b\U000e0100c\u3164",
    "\ud800", "line\nbreak", "cr\r\nlf", "## Remembered -- 2026-11-21", "    indented",
    "\tx", "$5 < 6 > 4", "C:\\new_dir\\x", "snake_case", "R&D", "2 * 3", "👩‍👩‍👧 ❤️",
)  # fmt: skip
"""Parts that markdown, a prompt or a terminal would take for something else than words."""

facts = st.lists(
    st.one_of(st.sampled_from(HOSTILE), st.text(max_size=12), st.sampled_from([" ", "\n", "a"])),
    min_size=1,
    max_size=6,
).map("".join)

TITLE = dated("Remembered", date(2026, 11, 21))


def outline(text: str) -> list[tuple[str, str, int, str]]:
    tokens = PARSER.parse(text)
    return [(token.type, token.tag, token.level, token.content.rstrip()) for token in tokens]


@given(facts)
@example("`code` [x](y) ~~z~~ <b>")
@examples(400)
def test_escaped_text_says_exactly_what_was_given(fact: str) -> None:
    said = clean(fact)
    if not said:
        return
    kinds = [token.type for token in PARSER.parse(f"- {escape(said)}\n")]
    assert kinds == [
        "bullet_list_open", "list_item_open", "paragraph_open", "inline", "paragraph_close",
        "list_item_close", "bullet_list_close",
    ]  # fmt: skip
    assert plain(f"- {escape(said)}") == said
    assert not set(
        "\u200b\u202e\u2066\u2069\ufeff\x00\x1b\ud800\n\r\u2028\ufe00\U000e0100\u3164"
    ) & set(escape(said))
    assert "[/MEMORY]" not in escape(said)


@pytest.mark.parametrize("text", ["👨‍👩‍👧‍👦 at the lake", "❤️‍🔥", "می‌خواهم چای", "क्‍ष"])
def test_joiners_stay_where_they_shape_what_is_seen(text: str) -> None:
    assert clean(text) == text


@pytest.mark.parametrize("text", ["pass\u200dword", "\u200dx", "é\u200c\u200d", "日\u200b本"])
def test_joiners_that_shape_nothing_go(text: str) -> None:
    assert not {"\u200b", "\u200c", "\u200d"} & set(clean(text))


def test_a_splice_is_its_own_way_back() -> None:
    splice = Splice(1, "bc", "xyz")
    assert splice.apply("abcd") == "axyzd"
    assert splice.reverse("axyzd") == "abcd"


def test_a_hostile_section_name_makes_one_heading() -> None:
    title = dated("# a\n- b `c` \u202e #", date(2026, 11, 21))
    kinds = [kind for kind, *_ in outline(f"## {title}\n")]
    assert kinds == ["heading_open", "inline", "heading_close"]
    assert dated(" \n", date(2026, 11, 21)) == "Remembered -- 2026-11-21"


@pytest.mark.parametrize("count", [200, pytest.param(2_000, marks=pytest.mark.slow)])
def test_two_thousand_hostile_facts_are_two_thousand_items(count: int) -> None:
    chance = random.Random(11)
    text, said = "# Memory\n", []
    for number in range(count):
        parts = chance.choices(HOSTILE, k=chance.randint(1, 5))
        fact = clean(f"{chance.choice([' ', ''])}".join([*parts, str(number)]))
        said.append(fact)
        text = insertion(text, f"## {TITLE}", escape(fact)).apply(text)
    items = [each for each in outline(text) if each[0] == "list_item_open"]
    kinds = {kind for kind, *_ in outline(text)}
    assert len(items) == count
    assert kinds == {
        "heading_open", "heading_close", "inline", "bullet_list_open", "bullet_list_close",
        "list_item_open", "list_item_close", "paragraph_open", "paragraph_close",
    }  # fmt: skip
    assert [plain(line) for line in text.split("\n") if line.startswith("- ")] == said
    unseen = {c for c in text if unicodedata.category(c) in {"Cf", "Cs"}}
    assert unseen <= {"\u200d"}  # within an emoji


def test_a_number_is_escaped_only_where_it_would_begin_a_list() -> None:
    assert escape("Moved to Porto in 2024. Likes it") == "Moved to Porto in 2024. Likes it"
    assert escape("Born in 1985.") == "Born in 1985."
    assert escape("2024. A good year") == "2024\\. A good year"
    assert escape("- 3. of May") == "\\- 3. of May"
