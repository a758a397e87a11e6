"""The default model's graph, made from its weights, says what sentence-transformers says."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer

from assistant.errors import EmbedderError
from assistant.memory.embedding import bert, compile
from assistant.memory.embedding.onnx import GRAPH, TOKENIZER, OnnxEmbedder
from assistant.memory.embedding.polyglot import PolyglotEmbedder
from assistant.memory.embedding.sentence_transformer import SentenceTransformerEmbedder
from assistant.settings.sections import EmbeddingSettings

TEXTS = (
    "My dentist is Dr. Alvarez, on Main Street.",
    "Prefers short answers, in plain English, without emoji",
    "What did Caroline research before the move to Lisbon?",
    "- [ ] Call the landlord about the heating on 2026-05-08",
    "def add(a: int, b: int) -> int:\n    return a + b",
    "Ich trinke morgens gern Kaffee, nie nach 15 Uhr; Grüße an Jürgen!",
    "東京で働いています。",
    "The owner's sister lives in a small town by the sea and breeds a rare kind of sheep. " * 20,
    "",
    "🙂",
    "¿Dónde está el café? Ångström naïve ﬁancé",
    "x" * 3_000,
    "a1 " * 300,
    *(f"Person {n} lives at {n} Harbour Road." for n in range(40)),
)
PLAIN = """
import sys
from importlib.machinery import PathFinder
class Without(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        gone = name.partition(".")[0] in {"torch", "transformers", "sentence_transformers"}
        return None if gone else super().find_spec(name, path, target)
sys.meta_path[sys.meta_path.index(PathFinder)] = Without
"""
EMBED = """
import sys
from assistant.memory.embedding.compile import load
from assistant.settings.sections import EmbeddingSettings
found = load(EmbeddingSettings(**({"model": sys.argv[1]} if sys.argv[1:] else {})))
sys.stdout.write(f"{found.fingerprint} {found.embed(['tea', 'coffee']).shape}")
"""


@pytest.fixture(scope="module")
def original() -> SentenceTransformerEmbedder:
    return SentenceTransformerEmbedder(
        compile.directory_of(compile.DEFAULT_MODEL), "original", EmbeddingSettings()
    )


@pytest.mark.slow
def test_the_float_graph_gives_the_originals_vectors(
    tmp_path: Path, original: SentenceTransformerEmbedder
) -> None:
    source = compile.directory_of(compile.DEFAULT_MODEL)
    bert.write(source, tmp_path / GRAPH)
    ours = OnnxEmbedder(tmp_path / GRAPH, source, "float")
    cosines = np.sum(ours.embed(TEXTS) * original.embed(TEXTS), axis=1)
    assert cosines.min() > 0.99999


@pytest.mark.slow
def test_the_models_own_tokenizer_cuts_as_the_original_does(
    embedder: PolyglotEmbedder, original: SentenceTransformerEmbedder
) -> None:
    file = compile.directory_of(compile.DEFAULT_MODEL) / TOKENIZER
    own = Tokenizer.from_str(file.read_text("utf-8"))
    own.no_padding()
    own.no_truncation()
    theirs = original._model.tokenizer
    for text in TEXTS:
        assert own.encode(text).ids == theirs(text, truncation=False)["input_ids"], text
    assert embedder.max_tokens == original._model.max_seq_length


@pytest.fixture
def plain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python as a plain installation finds it: without torch and what stands on it."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site/sitecustomize.py").write_text(PLAIN)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def embed(*model: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", EMBED, *model]
    return subprocess.run(command, capture_output=True, text=True, env=dict(os.environ))


def test_the_default_model_needs_no_torch(plain: None, embedder: PolyglotEmbedder) -> None:
    done = embed()
    assert done.stdout == f"{embedder.fingerprint} (2, {embedder.dimension})", done.stderr


def test_another_model_says_what_it_needs(plain: None, tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model/modules.json").write_text("[]")
    done = embed(str(tmp_path / "model"))
    last = done.stderr.splitlines()[-1]
    assert last.startswith(f"{EmbedderError.__module__}.EmbedderError: any embedding model except")
    assert "scripts/environment models" in last
