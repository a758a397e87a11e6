"""Numbers and identifiers, written in more ways than one."""

import pytest

from assistant.memory.text.strings import signed, variants


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("takes a CR2032.", "CR 2032"),
        ("the flight is OS 229", "OS229"),
        ("0531 220 44 71", "0531-2204471"),
        ("+49 531 2204471", "495312204471"),
        ("MAC 3c:5a:b4:11:9e:02", "3C5AB4119E02"),
        ("fails in parseInvoiceDate()", "parse_invoice_date"),
        ("parseInvoiceDate", "parse invoice date"),
        ("DE89 3704 0044 0532 0130 00", "DE89370400440532013000"),
        ("fabric 88-240-17", "8824017"),
        ("HTTPServer2", "HTTP server"),
    ],
)
def test_two_ways_of_writing_meet(one: str, other: str) -> None:
    first, second = ({*variants(text), *text.casefold().split()} for text in (one, other))
    assert first & second


@pytest.mark.parametrize(
    "text",
    [
        "",
        "word",
        "In 2026 we met at 30 Elm Street",
        "on 2026-05-08, or 8.5.2026",
        "step 12, May 2026",
        "2080SQR8YVKLA",
        "it cost 1,310 a month",
        "from 3 to 5",
    ],
)
def test_plain_text_has_one(text: str) -> None:
    assert variants(text) == []


def test_signs_that_make_a_name_are_kept() -> None:
    assert signed("C++, C# and F#; C; #tag, a+b, C ++") == (
        "Cplusplus, Csharp and Fsharp; C; #tag, a+b, C ++"
    )


def test_any_text_is_gone_through_in_time() -> None:
    for text in ("9 " * 50_000, "a1" * 50_000, "aA" * 50_000, "()" * 50_000, "😀" * 50_000):
        assert len(variants(text)) < 3
