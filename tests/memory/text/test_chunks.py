"""Markdown to chunks: ranges are the file's own, ids survive edits, nothing is cut unseen."""

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.memory.text.blocks import MAX_CHARS
from assistant.memory.text.chunk import TOP, Chunk, Chunker, positioned
from tests.support.chunking import chunk
from tests.support.examples import examples

LIMIT = 64


def count_tokens(text: str) -> int:
    """A token for each started four characters, and two around the text."""
    return -(-len(text) // 4) + 2


def chunks(text: str, source: str = "MEMORY.md", max_tokens: int = LIMIT) -> list[Chunk]:
    return chunk(text, source, count_tokens=count_tokens, max_tokens=max_tokens)


def plains(text: str) -> list[str]:
    return [each.plain for each in chunks(text)]


PAGE = """\
---
title: nothing to remember
---
# Memory

<!-- a note to myself
# not a heading
-->
Anna is my sister. She
lives in *Porto*.

## Remembered -- 2026-11-21

- The **door** code is `4711` <!-- changed in May -->
- Cities I like:
  - Lisbon

    with the [river](https://example.com/tejo)
  - Oslo
- [ ] call the dentist on 8 May 2027

| name | born |
|------|------|
| Anna | 1990 |

```sh
# no heading
ls
```

> Less is
> more.

Birthdays
---------
1) Tom: 3 June
"""


def test_units_and_their_places() -> None:
    found = [(c.plain, c.start_line, c.end_line, c.heading) for c in chunks(PAGE)]
    remembered = ("Memory", "Remembered -- 2026-11-21")
    assert found == [
        ("Anna is my sister. She lives in Porto.", 9, 10, ("Memory",)),
        ("The door code is 4711", 14, 14, remembered),
        ("Cities I like:\nLisbon\nwith the river\nOslo", 15, 19, remembered),
        ("call the dentist on 8 May 2027", 20, 20, remembered),
        ("name, born\nAnna, 1990", 22, 24, remembered),
        ("# no heading\nls", 26, 29, remembered),
        ("Less is more.", 31, 32, remembered),
        ("Tom: 3 June", 36, 36, ("Memory", "Birthdays")),
    ]


def test_dates_come_from_the_nearest_dated_heading() -> None:
    text = (
        "- before\n# Log -- 1:56 pm on 8 May, 2023\n## Food\n- ate on 7 May 2023\n# Now\n- later\n"
    )
    assert [(c.date, c.mentions) for c in chunks(text)] == [
        (None, ()),
        ("2023-05-08", ("2023-05-07",)),
        (None, ()),
    ]


def test_a_daily_note_is_dated_by_its_name() -> None:
    (note,) = chunks("- walked\n", source="memory/2026-05-08.md")
    assert note.date == "2026-05-08"


def test_a_superseded_fact_says_what_it_said() -> None:
    (old,) = chunks("- ~~Lives in *Berlin*~~ (superseded 2026-11-21: Lives in Lisbon (Alfama))\n")
    assert (old.status, old.plain, old.until) == ("superseded", "Lives in Berlin", "2026-11-21")


@pytest.mark.parametrize(
    ("text", "status", "plain"),
    [
        ("- ~~drinks tea~~", "superseded", "drinks tea"),
        ("~~drinks tea~~", "superseded", "drinks tea"),
        ("- ~~drinks~~ ~~tea~~", "superseded", "drinks tea"),
        ("- ~~a `x~~ (superseded 2026-01-01: b` y)", "superseded", "a `x"),
        ("- likes ~~tea~~ coffee", "current", "likes coffee"),
        ("- now ~~tea~~ (superseded 2020-01-01: milk (oat)) coffee", "current", "now coffee"),
        ("- ~~tea~~\n  - with milk", "current", "with milk"),
        ("- ~~tea~~\n  - ~~with milk~~", "superseded", "tea\nwith milk"),
        ("- `~~tea~~`", "current", "~~tea~~"),
    ],
)
def test_struck_out_words(text: str, status: str, plain: str) -> None:
    (found,) = chunks(text)
    assert (found.status, found.plain) == (status, plain)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("[door]: 4711", "[door]: 4711"),
        ("- snake_case and 2*3*4 and List<int>", "snake_case and 2*3*4 and List<int>"),
        ("- a \\# b &amp; c<br>d <b>e</b>", "a # b & c d e"),
        ("- ![a dog](dog.png) <https://example.com>", "a dog https://example.com"),
        ("<div>\nhi <!-- not me --> there\n</div>", "hi there"),
        ("<!-- never closed", "<!-- never closed"),
        ("- 1\n  2\n\n  3", "1 2\n3"),
        ("    indented code\n", "indented code"),
        ("- likes **tea**, *really*", "likes tea, really"),
        ("4711. is the code", "4711. is the code"),
        ("1. first", "first"),
        ("- a\x00b", "a\ufffdb"),
    ],
)
def test_plain(text: str, plain: str) -> None:
    assert plains(text) == [plain]


@pytest.mark.parametrize(
    "text",
    ["", "\n\n", "---\na: b\n---\n", "# Only\n## Headings\n", "<!-- a -->\n", "-\n- [ ] \n", "***"],
)
def test_nothing_to_remember(text: str) -> None:
    assert chunks(text) == []


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("final", [True, False])
def test_newlines_marks_and_ends(newline: str, mark: str, final: bool) -> None:
    text = PAGE if final else PAGE.rstrip()
    written = text.replace("\n", newline)
    found = chunks(mark + written)
    assert [(c.plain.replace("\r\n", "\n"), c.start_line, c.end_line) for c in found] == [
        (c.plain, c.start_line, c.end_line) for c in chunks(PAGE)
    ]
    for each in found:
        assert each.text == written[each.start_char : each.end_char]


def test_a_long_item_is_parted_at_its_nested_items() -> None:
    nested = "".join(f"  - Place number {n} was a fine one to be in.\n" for n in range(8))
    assert plains(f"- My places:\n{nested}\n  All of them.\n")[::9] == [
        "My places:",
        "All of them.",
    ]


def test_a_long_paragraph_is_split_at_sentence_ends() -> None:
    sentences = [f"Sentence {n} says a little about nothing." for n in range(60)]
    found = chunks(" ".join(sentences))
    assert len(found) > 5
    assert all(count_tokens(each.plain) <= LIMIT for each in found)
    assert all(each.plain.endswith(".") for each in found)
    assert " ".join(each.plain for each in found) == " ".join(sentences)


def test_all_pieces_of_a_long_struck_fact_are_superseded() -> None:
    words = " ".join(f"word{n}" for n in range(200))
    text = f"- ~~{words}~~ (superseded 2026-11-21: one secret word)\n"
    found = chunks(text)
    assert {(each.status, each.until) for each in found} == {("superseded", "2026-11-21")}
    assert " ".join(each.plain for each in found) == words
    assert found[0].start_char == 0
    assert found[-1].end_char == len(text) - 1


def test_a_long_fence_is_split_between_lines() -> None:
    code = [f"print({n:>20})" for n in range(60)]
    text = "```py\n" + "\n".join(code) + "\n```\n"
    assert "\n".join(plains(text)).split("\n") == code


def test_no_chunk_is_longer_than_recall_can_return() -> None:
    found = chunks("x" * 9_000 + "\n\n" + "y " * 9_000, max_tokens=100_000)
    assert max(len(each.text) for each in found) <= MAX_CHARS


def test_short_texts_are_not_counted() -> None:
    counted: list[str] = []

    def counting(text: str) -> int:
        counted.append(text)
        return 1

    chunk("- a fact\n" * 100, "MEMORY.md", count_tokens=counting, max_tokens=256)
    assert counted == []


def test_texts_that_decompose_are_counted() -> None:
    """Korean is two or three letters a syllable: 60 characters may be 180 tokens."""
    counted: list[str] = []

    def counting(text: str) -> int:
        counted.append(text)
        return 180

    found = chunk("- " + "한" * 60, "MEMORY.md", count_tokens=counting, max_tokens=100)
    assert counted
    assert found


@pytest.mark.parametrize(
    "text",
    [
        ">" * 5_000 + " deep",
        "- " * 5_000 + "deep",
        "\n".join("  " * n + f"- level {n}" for n in range(300)),
        "[" * 20_000,
        "*a_ " * 5_000,
        "<!--" * 5_000,
        "~~ (superseded " * 2_000,
        "e" + "\u0301" * 20_000,
        "|a" * 5_000 + "\n" + "|-" * 5_000 + "\n",
    ],
    ids=["quotes", "lists", "levels", "brackets", "stars", "comments", "notes", "marks", "table"],
)
def test_hostile_documents(text: str) -> None:
    found = chunks(text)
    assert all(text[each.start_char : each.end_char] == each.text for each in found)
    assert all(count_tokens(each.plain) <= LIMIT for each in found)


def test_what_is_nested_too_deep_is_still_read() -> None:
    text = "\n".join("  " * n + f"- level{n}" for n in range(60))
    assert "level59" in " ".join(plains(text))


def test_a_big_file() -> None:
    text = "# Memory\n" + "".join(f"- Fact {n} is about {n % 97}.\n" for n in range(20_000))
    found = chunks(text)
    assert len({each.id for each in found}) == 20_000
    assert found[-1].start_line == found[-1].end_line == 20_001


def test_ids_tell_equal_facts_apart_and_keep_to_their_place() -> None:
    text = "## A\n- same\n- same\n## B\n- same\n"
    found = chunks(text)
    assert len({each.id for each in found}) == 3
    assert [each.id for each in chunks("# New\n\npreface\n\n" + text)][1:] != []
    assert [each.id for each in chunks("preface\n\n" + text)][1:] == [each.id for each in found]
    assert chunks(text, source="AGENTS.md")[0].id != found[0].id


BLOCKS = st.sampled_from(
    [
        "# Head", "## Two -- 2026-11-21", "- item", "  - nested", "    - deeper", "1. one",
        "> quote", "```", "~~~", "text *with* `marks`", "~~gone~~", "| a | b |", "|---|---|",
        "<!-- c", "-->", "---", "===", "    code", "\ttab", "", " ", "<div>", "&amp;", "\x00",
        "- ~~a~~ (superseded 2026-11-21: b)", "word " * 90, "Said so. " * 60, "\u2028", "é\u0301",
    ]
)  # fmt: skip
NEWLINES = st.sampled_from(["\n", "\r\n", "\r"])
DOCUMENTS = st.lists(st.tuples(BLOCKS | st.text(max_size=12), NEWLINES), max_size=24).map(
    lambda lines: "".join(line + newline for line, newline in lines)
)


@examples(300)
@given(DOCUMENTS)
def test_any_document(text: str) -> None:
    found = chunks(text)
    body = text.removeprefix("\ufeff")
    lines = body.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for each in found:
        assert each.text == body[each.start_char : each.end_char]
        assert each.text == each.text.rstrip()
        before = body[: each.start_char].replace("\r\n", "\n").replace("\r", "\n")
        assert each.start_line == before.count("\n") + 1
        assert 1 <= each.start_line <= each.end_line <= len(lines)
        assert each.plain.strip()
        assert count_tokens(each.plain) <= LIMIT
    assert all(a.end_char <= b.start_char for a, b in pairwise(found))
    assert len({each.id for each in found}) == len(found)
    assert [each.ordinal for each in found] == list(range(len(found)))


@examples(100)
@given(st.lists(st.text("ab \n", min_size=1, max_size=9), min_size=1, max_size=9), st.data())
def test_an_edit_elsewhere_keeps_ids(facts: list[str], data: st.DataObject) -> None:
    items = [f"- {' '.join(fact.split()) or 'x'}\n" for fact in facts]
    before = chunks("# M\n\n" + "".join(items))
    at = data.draw(st.integers(0, len(items)))
    after = chunks("# M\n\n" + "".join([*items[:at], "- entirely new\n", *items[at:]]))
    assert {each.id for each in before} < {each.id for each in after}


JOINTS = BLOCKS | st.sampled_from(
    [
        "---", "- a | b", "# c | d", "--- | ---", "lazy", "* star", "+ plus", "2. two", "> - q",
        "- ```", "- <!-- c", "<script>", "</script>", "<!X", "   - three", "    - four", "- [ ] t",
        "-", "- ", "#", "#hash", "key: # no", "  more", "-\ttab", "- \titem", "\ufeff# x",
    ]
)  # fmt: skip
JOINED = st.lists(st.tuples(JOINTS, NEWLINES), max_size=24).map(
    lambda lines: "".join(line + newline for line, newline in lines)
)


def uncut(text: str) -> list[Chunk]:
    """The chunks of a file that is parsed as a whole."""
    times: Counter[str] = Counter()
    found = []
    whole = Chunker(count_tokens, LIMIT)._parsed(text.removeprefix("\ufeff"), TOP, "MEMORY.md")
    for each in whole.chunks:
        found.append(positioned(each, 0, 0, 0, times[each.id]))
        times[each.id] += 1
    return found


@examples(1000)
@given(JOINED)
def test_a_file_parsed_in_pieces_says_what_it_says_as_a_whole(text: str) -> None:
    whole = uncut(text)
    chunker = Chunker(count_tokens, LIMIT, items=1)
    assert list(chunker(text, "MEMORY.md")) == whole


def test_a_comment_that_an_item_leaves_open_is_read_alike_in_pieces() -> None:
    text = "- <!-- c\n  - nested\n# Head\n-->\n"
    assert list(Chunker(count_tokens, LIMIT, items=1)(text, "MEMORY.md")) == uncut(text)


def test_a_list_s_first_item_is_no_front_matter() -> None:
    assert len(chunks("- A-- said Ben\n- B\n")) == 2


@examples(100)
@given(JOINED, JOINED, JOINED)
def test_what_is_remembered_of_one_text_changes_nothing_in_another(
    one: str, other: str, third: str
) -> None:
    chunker = Chunker(count_tokens, LIMIT, items=1)
    for text in (one, one + other, third + one, other + third, one):
        for source in ("MEMORY.md", "memory/2026-05-08.md"):
            assert list(chunker(text, source)) == chunks(text, source)


class Parsing:
    """Counts the tokens of a text, and how often it is asked: once at each parsing of a fact."""

    facts = 0

    def __call__(self, text: str) -> int:
        self.facts += 1
        return 0


def test_of_an_edited_file_only_what_is_around_the_edit_is_parsed_again() -> None:
    days = "".join(
        f"## Remembered -- 2026-{month:02}-{day:02}\n\n"
        + "".join(f"- Fact {n} of {day}.{month}.\n" for n in range(30))
        for month in range(1, 11) for day in range(1, 11)
    )  # fmt: skip
    parsed = Parsing()
    chunker = Chunker(parsed, 0)
    list(chunker(f"# Memory\n\n{days}", "MEMORY.md"))
    before = parsed.facts
    found = list(chunker(f"# Memory\n\n- New\n\n{days}- Last\n", "MEMORY.md"))
    assert len(found) == 3002
    assert before == 3000 and parsed.facts - before < 3000 / 50


def test_no_more_is_remembered_than_there_is_room_for() -> None:
    parsed = Parsing()
    chunker = Chunker(parsed, 0, cached=50)
    for number in [*range(100), 99, 0]:
        list(chunker(f"# {number}\n\n- {'long ' * 60}\n", f"{number}.md"))
    assert parsed.facts == 101  # the last is known, the first is not


def test_an_open_fence_is_read_in_linear_time() -> None:
    parsed = Parsing()
    count = len(list(Chunker(parsed, 0)("```\n" + "# comment\n- item\n" * 20_000, "MEMORY.md")))
    assert parsed.facts < 4 * count
