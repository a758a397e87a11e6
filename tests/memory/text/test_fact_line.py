"""A line that is a fact, whoever gives it."""

import pytest

from assistant.memory.text.fact_line import fact_of_line


@pytest.mark.parametrize(
    ("line", "fact"),
    [
        ("- Lives in Ghent", "Lives in Ghent"),
        ("* [x] Bought milk", "Bought milk"),
        ("• Mia paints", "Mia paints"),
        ("-5 degrees is too cold", "-5 degrees is too cold"),
        ("2024. was good", "2024. was good"),
        ("#1 priority: sleep", "#1 priority: sleep"),
        ("Rex is ~~a cat~~ a dog", "Rex is ~~a cat~~ a dog"),
        ("~~Lives~~ in ~~Lisbon~~", "~~Lives~~ in ~~Lisbon~~"),
    ],
)
def test_a_fact_is_what_stands_behind_its_bullet(line: str, fact: str) -> None:
    assert fact_of_line(line) == fact


@pytest.mark.parametrize(
    "line",
    [
        "- ~~Lives in Lisbon~~ (superseded 2026-03-01: Lives in Ghent)",
        "- [ ] ~~Lives in Lisbon~~",
        "~~Had a tram pass (of ~~old~~)~~ (superseded 2026-03-01: Walks (to work))",
        "## Remembered -- 2026-03-01",
        "---",
        "```python",
        "- ",
        "",
    ],
)
def test_what_holds_no_longer_or_says_nothing_is_no_fact(line: str) -> None:
    assert fact_of_line(line) is None
