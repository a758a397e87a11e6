"""One contract for every embedder, and what is the compiled one's own."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from assistant.disk.storage import checksum
from assistant.errors import EmbedderError
from assistant.memory.embedding import compile, onnx
from assistant.memory.embedding import manifest as manifests
from assistant.memory.embedding.embedder import Embedder, HashingEmbedder
from assistant.memory.embedding.manifest import ModelManifest
from assistant.memory.embedding.onnx import OnnxEmbedder
from assistant.memory.embedding.polyglot import PolyglotEmbedder
from assistant.memory.embedding.sentence_transformer import Prompts, SentenceTransformerEmbedder

NAMES = ["hashing", "onnx", "sentence-transformers"]


@pytest.fixture(scope="module")
def original() -> SentenceTransformerEmbedder:
    """The default model by sentence-transformers itself."""
    return SentenceTransformerEmbedder(
        compile.directory_of(compile.DEFAULT_MODEL), "original", Prompts()
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


def test_the_compiled_model_is_close_to_the_original(
    embedder: PolyglotEmbedder, original: SentenceTransformerEmbedder
) -> None:
    texts = [f"The owner met person number {n} in the town of Lisbon." for n in range(20)]
    cosines = np.sum(embedder.english.embed(texts) * original.embed(texts), axis=1)
    assert cosines.mean() > 0.98
    assert cosines.min() > 0.96


def test_more_texts_than_are_tokenized_at_once_keep_their_order(
    embedder: PolyglotEmbedder,
) -> None:
    texts = [f"fact {n}" for n in range(onnx.TEXTS_AT_ONCE + 10)]
    expected = embedder.embed(texts[-20:])
    assert (embedder.embed(texts)[-20:] @ expected.T).argmax(axis=1).tolist() == list(range(20))


def test_a_batch_holds_a_bounded_number_of_tokens() -> None:
    lengths = [256, 3, 3, 100, 100, 100, 600, 3]
    batches = list(onnx.batches(lengths))
    assert sorted(row for batch in batches for row in batch) == list(range(len(lengths)))
    sizes = [max(lengths[row] for row in batch) * len(batch) for batch in batches]
    assert all(size <= onnx.BATCH_TOKENS or size == 600 for size in sizes)
    assert all(max(part) <= 2 * min(part) for part in ([lengths[r] for r in b] for b in batches))


def test_a_graph_that_is_none_names_the_cure(tmp_path: Path) -> None:
    (tmp_path / onnx.GRAPH).write_bytes(b"no graph")
    manifest = ModelManifest("x", 384, 256, ("input_ids",), {})
    with pytest.raises(EmbedderError, match="cannot be loaded") as raised:
        OnnxEmbedder(tmp_path, manifest)
    assert "Delete" in raised.value.cure


@pytest.mark.parametrize("damage", ["flipped", "cut", "missing", "manifest", "version"])
def test_damage_to_a_cached_model_is_seen(tmp_path: Path, damage: str) -> None:
    weights = tmp_path / onnx.GRAPH
    weights.write_bytes(b"weights" * 1000)
    files = {onnx.GRAPH: checksum(weights)}
    manifest = ModelManifest("x", 384, 256, ("input_ids",), files)
    manifest.write(tmp_path)
    assert manifests.read_manifest(tmp_path) == manifest
    match damage:
        case "flipped":
            weights.write_bytes(b"weights" * 500 + b"weightr" + b"weights" * 499)
        case "cut":
            weights.write_bytes(b"weights" * 999)
        case "missing":
            weights.unlink()
        case "manifest":
            (tmp_path / manifests.MANIFEST).write_text("{")
        case _:
            text = (tmp_path / manifests.MANIFEST).read_text()
            (tmp_path / manifests.MANIFEST).write_text(text.replace('"version": ', '"version": 9'))
    assert manifests.read_manifest(tmp_path) is None


def test_the_hashing_embedder_counts_what_it_embeds() -> None:
    counting = HashingEmbedder()
    counting.embed(["a", "b"])
    counting.embed(["c"])
    assert counting.embedded == 3
