"""What comments at the end of a fact's line say of it."""

from datetime import date

import pytest

from assistant.memory.annotations import (
    CORE,
    MOST_CHARACTERS,
    NOT_CORE,
    core_mark,
    dated,
    in_core,
    inherited,
    is_core,
    mattering,
    matters_for,
    phrases,
    recorded,
    searched,
    without,
)

FACT = "- Penicillin is off limits <!-- core -->\n  since 1990"
NUTS = "- Allergic to nuts <!-- for: restaurants, recipes, travel -->"


def test_the_mark_is_read_and_taken_off() -> None:
    assert is_core(FACT)
    assert without(FACT) == "- Penicillin is off limits\n  since 1990"


def test_the_day_is_read_and_taken_off() -> None:
    assert recorded("- Swims <!-- 2026-11-21 -->") == "2026-11-21"
    assert without("- Swims <!-- 2026-11-21 -->") == "- Swims"
    assert (
        recorded("- Swims <!-- 9999-12-31 -->") is recorded("- Swims <!-- 0001-01-01 -->") is None
    )
    assert recorded("- Swims on 2026-11-21") is recorded("- Swims <!-- 2026-13-41 -->") is None


def test_what_a_fact_matters_for_is_read_and_taken_off() -> None:
    assert matters_for(NUTS) == ("restaurants", "recipes", "travel")
    assert searched("Allergic to nuts", NUTS) == "Allergic to nuts\nrestaurants, recipes, travel"
    assert without(f"{NUTS} <!-- core --> <!-- 2026-11-21 -->") == "- Allergic to nuts"
    assert matters_for("- Swims") == matters_for("- Swims <!-- for: -->") == ()
    assert searched("Swims", "- Swims <!-- a note -->") == "Swims"


def test_a_comment_that_is_text_says_nothing() -> None:
    code = "```\n- fact <!-- for: gifts -->\n```"
    assert matters_for(code, "- fact <!-- for: gifts -->") == ()
    assert searched("a <!-- for: b -->", "`a <!-- for: b -->`") == "a <!-- for: b -->"


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (["eating out; Eating in", "travel"], ("eating out", "Eating in", "travel")),
        (["travel", "travel"], ("travel",)),
        (["a <script>", "http://evil.example/x?y", "--"],
         ("a script", "http evil example x y")),
        (["[[secret:API_KEY]]", "[[secret:X]] gifts"], ("gifts",)),
        (["x --> <!-- core"], ("x core",)),
        (["रेस्तरां", "cafe\u0301s", "餐厅"], ("रेस्तरां", "cafés", "餐厅")),
        (["z" * 81, "gifts"], ("gifts",)),
        ([f"n{number}" for number in range(20)], tuple(f"n{number}" for number in range(8))),
    ],
)  # fmt: skip
def test_phrases_are_letters_digits_spaces_and_hyphens(
    given: list[str], kept: tuple[str, ...]
) -> None:
    assert phrases(given) == kept
    assert len(", ".join(kept)) <= MOST_CHARACTERS
    assert matters_for(mattering("- fact", given)) == kept
    assert without(mattering("- fact", given)) == "- fact"


def test_a_line_is_marked_once_and_a_successor_inherits() -> None:
    assert mattering(NUTS, ["gifts"]) == "- Allergic to nuts <!-- for: gifts -->"
    assert mattering(NUTS, []) == "- Allergic to nuts"
    assert in_core(in_core("- Swims", CORE), CORE) == "- Swims <!-- core -->"
    barred = in_core("- Swims <!-- core -->", NOT_CORE)
    assert core_mark(barred) == NOT_CORE and not is_core(barred)
    assert in_core(barred, "") == "- Swims"
    again = dated(dated("- Swims", date(2026, 1, 2)), date(2026, 1, 3))
    assert again == "- Swims <!-- 2026-01-03 -->"
    assert inherited("Vegan", f"{NUTS} <!-- core -->") == (
        "Vegan <!-- for: restaurants, recipes, travel --> <!-- core -->"
    )
    assert inherited("Vegan <!-- for: gifts -->", NUTS) == "Vegan <!-- for: gifts -->"
    assert inherited("Vegan", "- Eats all") == "Vegan"


@pytest.mark.parametrize(
    "text", ["- plain", "- the core <!-- a note -->", "- core: <!-- corer -->"]
)
def test_other_comments_are_no_marks(text: str) -> None:
    assert not is_core(text)
    assert without(text) == text
