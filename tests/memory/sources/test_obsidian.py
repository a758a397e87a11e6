"""A note's words, as its reader in Obsidian sees them."""

import pytest

from assistant.memory.sources.obsidian import properties, refined, without_comments, words
from assistant.memory.text.chunk import chunks_of

NOTE = """\
---
aliases: [Moonshot, "La Barca"]
tags:
  - sailing/winter
created: 2025-03-02
berth: "[[Harbour|B17]]"
---
# Boat

Painted by [[People/Henrik|Henrik L.]]. ^hull
%%secret
talk%% ends here
```
100%% done %%kept%%
```
"""


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("see [[Note]]", "see Note"),
        ("see [[Folder/Note#Part|the part]]", "see the part (Note)"),
        ("see [[Note|my note]]", "see my note"),
        ("see [[#Below]] and [[Note#^b1]]", "see Below and Note › b1"),
        ("![[Plan.png|300x200]]", "Plan.png"),
        ("[!warning]- Engine must rest", "warning: Engine must rest"),
        ("cost:: 40, std::vector ==now==", "cost: 40, std::vector now"),
        ("it is so ^block-1", "it is so"),
        ("[not a link] [[open", "[not a link] [[open"),
    ],
)
def test_markup_is_read_as_it_is_shown(written: str, read: str) -> None:
    assert words(written) == read


def test_a_notes_names_and_properties_are_its_words_too() -> None:
    text = without_comments(NOTE)
    assert len(text) == len(NOTE) and text.count("\n") == NOTE.count("\n")
    first, hull, rest, fence = refined(
        chunks_of(text, "Projects/Boat.md"), "Projects/Boat.md", text
    )
    assert first.plain == (
        "Boat (Moonshot, La Barca): also called Moonshot, La Barca. tags: sailing/winter. "
        "created: 2025-03-02. berth: B17 (Harbour)"
    )
    assert NOTE[first.start_char : first.end_char] == first.text
    assert (first.start_line, first.end_line) == (1, 7)
    assert hull.heading == ("Boat (Moonshot, La Barca)",) and hull.date == "2025-03-02"
    assert hull.plain.startswith("Painted by Henrik L.")
    assert "secret" not in hull.text + rest.text and "ends here" in rest.plain
    assert "%%kept%%" in fence.text
    assert [each.ordinal for each in (first, hull, rest, fence)] == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "front", ["---\n[broken\n---\n", "---\n- a list\n---\n", "---\nno end\n", "--- x\n", ""]
)
def test_a_note_without_properties_is_a_note(front: str) -> None:
    assert properties(f"{front}Text").words == ""
