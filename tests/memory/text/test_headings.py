"""Where a chunk stands, in words."""

import pytest

from assistant.memory.text.headings import topic_of


@pytest.mark.parametrize(
    ("source", "heading", "expected"),
    [
        ("MEMORY.md", ("Memory", "Garden", "Tools"), "Garden › Tools"),
        ("MEMORY.md", ("Memory", "Remembered -- 2026-11-21"), ""),
        ("MEMORY.md", ("Work -- 2026-11-21",), "Work"),
        ("MEMORY.md", ("Residents' meeting, 12 May 2026",), "Residents' meeting"),
        ("MEMORY.md", (), ""),
        ("memory/2026-05-08.md", (), ""),
        ("memory/manuals/tarn-ecoflow.md", ("Topping up",), "manuals › tarn ecoflow › Topping up"),
        ("memory/boilers/tarn.md", ("Tarn boilers", "Reset"), "Tarn boilers › Reset"),
        ("memory/Küche.md", ("料理",), "Küche › 料理"),
    ],
)
def test_what_only_files_a_note_is_left_out(
    source: str, heading: tuple[str, ...], expected: str
) -> None:
    assert topic_of(source, heading) == expected
