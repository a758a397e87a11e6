"""One contract for every embedder, and what is the compiled one's own."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from assistant.errors import EmbedderError
from assistant.memory.embedding import compile, onnx
from assistant.memory.embedding.embedder import Embedder
from assistant.memory.embedding.onnx import OnnxEmbedder
from assistant.memory.embedding.polyglot import PolyglotEmbedder
from assistant.memory.embedding.sentence_transformer import SentenceTransformerEmbedder
from assistant.settings.sections import EmbeddingSettings
from tests.support.hashing import HashingEmbedder

NAMES = ["hashing", "onnx", pytest.param("sentence-transformers", marks=pytest.mark.slow)]


@pytest.fixture(scope="module")
def original() -> SentenceTransformerEmbedder:
    """The default model by sentence-transformers itself."""
    return SentenceTransformerEmbedder(
        compile.directory_of(compile.DEFAULT_MODEL), "original", EmbeddingSettings()
    )


@pytest.fixture(params=NAMES)
def each(request: pytest.FixtureRequest) -> Embedder:
    """Every embedder in turn."""
    make: dict[str, Callable[[], Embedder]] = {
        "hashing": HashingEmbedder,
        "onnx": lambda: request.getfixturevalue("embedder"),
        "sentence-transformers": lambda: request.getfixturevalue("original"),
    }
    return make[request.param]()


def test_vectors_have_length_one_and_the_dimension(each: Embedder) -> None:
    vectors = each.embed(["The door code is 4711", "", "🙂", "a" * 5000])
    assert vectors.shape == (4, each.dimension)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-3)


def test_no_texts_are_no_vectors(each: Embedder) -> None:
    assert each.embed([]).shape == (0, each.dimension)


def test_the_order_is_the_texts_own_whatever_their_length(each: Embedder) -> None:
    texts = ["short", "one that is quite a bit longer than the other " * 4, "a middling one", "b"]
    together = each.embed(texts)
    alone = np.concatenate([each.embed([text]) for text in texts])
    assert (together @ alone.T).argmax(axis=1).tolist() == [0, 1, 2, 3]


def test_what_is_alike_is_near(each: Embedder) -> None:
    query, near, far = each.embed(
        ["the dentist is on Main Street", "my dentist works on Main Street", "Rex eats fish"]
    )
    assert query @ near > query @ far


def test_tokens_are_counted_beyond_the_limit(each: Embedder) -> None:
    assert each.count_tokens("") == 2
    assert each.count_tokens("tea and cake") == 5
    assert each.count_tokens("tea " * 1000) == 1002
    assert each.max_tokens == 256


@pytest.mark.slow
def test_the_compiled_model_is_close_to_the_original(
    embedder: PolyglotEmbedder, original: SentenceTransformerEmbedder
) -> None:
    texts = [f"The owner met person number {n} in the town of Lisbon." for n in range(20)]
    cosines = np.sum(embedder.english.embed(texts) * original.embed(texts), axis=1)
    assert cosines.mean() > 0.98
    assert cosines.min() > 0.96


def test_a_batch_holds_a_bounded_number_of_tokens() -> None:
    lengths = [256, 3, 3, 100, 100, 100, 600, 3]
    batches = list(onnx.batches(lengths))
    assert sorted(row for batch in batches for row in batch) == list(range(len(lengths)))
    sizes = [max(lengths[row] for row in batch) * len(batch) for batch in batches]
    assert all(size <= onnx.BATCH_TOKENS or size == 600 for size in sizes)
    assert all(max(part) <= 2 * min(part) for part in ([lengths[r] for r in b] for b in batches))


def test_a_graph_that_is_none_names_the_cure(tmp_path: Path) -> None:
    (tmp_path / onnx.GRAPH).write_bytes(b"no graph")
    source = compile.directory_of(compile.DEFAULT_MODEL)
    with pytest.raises(EmbedderError, match="cannot be loaded") as raised:
        OnnxEmbedder(tmp_path / onnx.GRAPH, source, "x")
    assert "Delete" in raised.value.cure


def test_the_hashing_embedder_counts_what_it_embeds() -> None:
    counting = HashingEmbedder()
    counting.embed(["a", "b"])
    counting.embed(["c"])
    assert counting.embedded == 3
