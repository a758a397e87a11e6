"""Texts of different languages lie near one another by what they mean."""

from pathlib import Path

import numpy as np
import pytest

from assistant.memory.embedding.embedder import Embedder
from assistant.memory.embedding.polyglot import (
    LONGEST,
    USE_LANGUAGES,
    MappedEmbedder,
    PolyglotEmbedder,
)
from assistant.memory.text.language import LANGUAGES, language_of

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


@pytest.fixture(scope="module")
def embedders(embedder: PolyglotEmbedder) -> list[Embedder]:
    """With e5, and as on a machine without it."""
    return [embedder, MappedEmbedder(embedder.english)]


def test_every_language_is_shown() -> None:
    assert set(SAID) == USE_LANGUAGES
    assert all(language_of(text) == language for language, both in SAID.items() for text in both)
    assert set(SAID) | set(ELSEWHERE) == LANGUAGES


@pytest.mark.parametrize("language", sorted(USE_LANGUAGES))
def test_a_question_finds_what_is_meant_in_another_language(
    embedders: list[Embedder], language: str
) -> None:
    for each in embedders:
        flowers, lease = each.embed(SAID[language])
        asked = each.embed_questions(["which flowers does my grandmother like", *SAID["german"]])
        assert asked[0] @ flowers > max(asked[0] @ lease, 0.25)
        assert asked[1] @ flowers > asked[1] @ lease
        assert asked[2] @ lease > asked[2] @ flowers


def test_e5_reads_what_the_sentence_encoder_does_not(embedder: PolyglotEmbedder) -> None:
    english = embedder.embed(ELSEWHERE["english"])
    others = sorted(set(ELSEWHERE) - {"english"})
    right = {"itself": 0, "english": 0}
    for language in others:
        vectors = embedder.embed(ELSEWHERE[language])
        facts, asked = vectors[:4], vectors[4:]
        right["itself"] += int(((asked @ facts.T).argmax(axis=1) == range(4)).sum())
        right["english"] += int(((english[4:] @ facts.T).argmax(axis=1) == range(4)).sum())
    assert right["itself"] >= 0.95 * 4 * len(others)
    assert right["english"] >= 0.85 * 4 * len(others)


def test_english_has_the_default_models_vector(embedder: PolyglotEmbedder) -> None:
    texts = ["My grandmother loves white flowers", "🙂"]
    alone = embedder.english.embed(texts)
    half = embedder.embed([*texts, *SAID["chinese"]])[:2, : alone.shape[1]]
    np.testing.assert_allclose(half * np.sqrt(2), alone, atol=0.02)
    mapped = MappedEmbedder(embedder.english)
    np.testing.assert_allclose(mapped.embed([*texts, *SAID["chinese"]])[:2], alone, atol=0.02)
    assert len({embedder.fingerprint, mapped.fingerprint, embedder.english.fingerprint}) == 3


def test_vectors_use_the_whole_sphere(embedder: PolyglotEmbedder) -> None:
    """e5's own cosines lie between 0.7 and 1: without its mean they tell texts apart."""
    vectors = embedder.embed([text for both in SAID.values() for text in both])
    flowers, leases = vectors[::2], vectors[1::2]
    assert (flowers @ flowers.T).mean() - (flowers @ leases.T).mean() > 0.3


def test_a_language_alone_brings_texts_hardly_nearer(embedder: PolyglotEmbedder) -> None:
    """Without half of the offsets, the difference is 0.2, and an answer's cosine less than 0.5."""
    asked = embedder.embed(["My grandmother loves white flowers", "The lease ends in March"])
    spoken = np.array([embedder.embed(both) for both in SAID.values()])
    in_one = (spoken[:, 0] * spoken[:, 1]).sum(axis=1).mean()
    across = spoken @ asked.T
    assert in_one - (across[:, 0, 1] + across[:, 1, 0]).mean() / 2 < 0.13
    assert (across[:, 0, 0] + across[:, 1, 1]).mean() / 2 > 0.5


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
def test_any_text_has_a_vector(embedders: list[Embedder], text: str) -> None:
    for each in embedders:
        vectors = each.embed([text[:LONGEST], text])
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-3)
        np.testing.assert_allclose(vectors[0] @ vectors[1], 1.0, atol=1e-2)
