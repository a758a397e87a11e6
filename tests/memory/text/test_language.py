"""The language of a text, and its words as they are compared."""

import unicodedata

import pytest

from assistant.memory.text.language import (
    comparable,
    language_of,
    spell_signs,
    variants,
    without_function_words,
)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Wie hoch ist unsere Miete?", "german"),
        ("¿Dónde está el contador de gas?", "spanish"),
        ("qui a un jeu de nos clés", "french"),
        ("какой код у подъезда", "russian"),
        ("من يصلح الحنفية عندنا؟", "arabic"),
        ("घर में घुसने का कोड क्या है", "hindi"),
        ("合鍵は誰に預けた?", "japanese"),
        ("월세는 며칠에 나가?", "korean"),
        ("备用钥匙在哪里", "chinese"),
        ("What is the rent of the flat in Köln?", "english"),
        ("Mum's hearing aids take size 312 batteries.", "english"),
        ("Tomasz wants no surprise parties ever again.", "english"),
        ("Zoë Haddad works as a sous-chef in Malmö.", "english"),
        ("Uma MacLeod job", "english"),
        ("meet Mei Lindqvist", "english"),
        ("Björn Müller +47 123", "english"),
        ("zoë's bike", "english"),
        ("Zahnarzt: Dr. Müller, Montag 15 Uhr", "german"),
        ("Kühlschrank kaputt", "german"),
        ("Uma casa nova", "portuguese"),
        ("Cumpleaños de Ana", "spanish"),
        ("L'ophtalmologue, jeudi", "french"),
        ("BDU374Y", "english"),
        ("", "english"),
    ],
)
def test_the_language_of_a_text(text: str, language: str) -> None:
    assert language_of(text) == language


@pytest.mark.parametrize(
    ("one", "other", "language"),
    [
        ("Schlüssel", "schluessel", "german"),
        ("die Straße", "die Strasse", "german"),
        ("Wohnungen", "Wohnung", "german"),
        ("llaves", "llave", "spanish"),
        ("соседки", "соседка", "russian"),
        ("مُحَمَّد", "محمد", "arabic"),
        ("كتـــاب", "كتاب", "arabic"),
        ("फ़ोन", "फोन", "hindi"),
        ("８８３６号", "8836号", "chinese"),
    ],
)
def test_two_ways_to_write_a_word_are_one(one: str, other: str, language: str) -> None:
    assert comparable(one, language) == comparable(other, language)


def test_a_vowel_sign_does_not_part_a_word() -> None:
    kept = comparable("किराया", "hindi")
    assert not any(unicodedata.category(letter).startswith("M") for letter in kept)


def test_what_is_written_without_spaces_is_parted_by_character() -> None:
    assert comparable("备用钥匙", "chinese").split() == ["备", "用", "钥", "匙"]


def test_a_question_keeps_the_words_that_tell() -> None:
    assert without_function_words("wo ist der Türcode", "german") == "Türcode"
    assert without_function_words("备用钥匙在哪里", "chinese").split() == ["备用钥匙"]


def test_english_is_left_as_it_is() -> None:
    assert comparable("The keys of C3PO", "english") == "The keys of C3PO"


@pytest.mark.parametrize(
    "text",
    ["😀" * 25_000, "der Schlüssel 钥匙 ключ चाबी مفتاح", "ᚠᛇᚻ᛫ᛒᛦᚦ", "\u0301" * 99, "ß" * 100_000],
)
def test_no_text_is_refused(text: str) -> None:
    language = language_of(text)
    assert comparable(text, language) == comparable(text, language)
    without_function_words(text, language)


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
    assert spell_signs("C++, C# and F#; C; #tag, a+b, C ++") == (
        "Cplusplus, Csharp and Fsharp; C; #tag, a+b, C ++"
    )


def test_any_text_is_gone_through_in_time() -> None:
    for text in ("9 " * 50_000, "a1" * 50_000, "aA" * 50_000, "()" * 50_000, "😀" * 50_000):
        assert len(variants(text)) < 3
