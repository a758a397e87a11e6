"""The process that compiles one model: a float graph, made int8, and checked.

The graph of the default model is made from its weights alone (`bert.py`), and so is that of the one
for all other languages (`e5.py`). Any other is exported through torch as sentence-transformers
defines it, pooling and normalisation included, so that nothing here knows its kinds. A model that
cannot be exported, or whose int8 graph is not close enough to the original, runs through
sentence-transformers.
"""

import json
import shutil
import sys
import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from assistant.disk import storage
from assistant.errors import EmbedderError
from assistant.memory.embedding import onnx
from assistant.memory.embedding.e5 import FILE, Packed, WideEncoder
from assistant.memory.embedding.embedder import Vectors
from assistant.memory.embedding.manifest import ModelManifest
from assistant.memory.embedding.onnx import OnnxEmbedder
from assistant.memory.embedding.original import open_original

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

STEPS = ("loading the model", "exporting it", "quantizing it", "checking it")
FLOAT = "float.onnx"
"""The graph before it is quantized."""
TABLE_BYTES = 4 << 20
"""More than any of the layers' own weights, which are kept in memory anyway, packed."""
MEAN_COSINE, LEAST_COSINE = 0.985, 0.96
"""How close int8 must be to the original; for the default model it is 0.993 and 0.976."""
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


def main(source: str, target: str, fingerprint: str, way: str) -> None:
    """Compile `source` into the directory `target`; steps go to standard output.

    By `way` "weights" torch is imported only if what comes of them is not close enough; by
    "packed" `source` holds the model of other languages.
    """
    place = Path(target)
    _announce(0)
    own = {"weights": _from_weights, "packed": _from_packed}.get(way)
    manifest = own(Path(source), place, fingerprint) if own else None
    manifest = manifest or _from_original(Path(source), place, fingerprint)
    (place / FLOAT).unlink(missing_ok=True)
    manifest.write(place)
    _announce(len(STEPS) - 1)


def difference(expected: Vectors, compiled: Vectors) -> str:
    """Why a compiled model must not stand for the original, by their vectors, or nothing."""
    cosines = np.sum(expected * compiled, axis=1)
    mean, least = float(cosines.mean()), float(cosines.min())
    if mean >= MEAN_COSINE and least >= LEAST_COSINE:
        return ""
    return f"compiled, it differs too much (cosine {mean:.3f} on average, {least:.3f} at worst)"


def _announce(step: int) -> None:
    sys.stdout.write(f"{step}\n")
    sys.stdout.flush()


def _quantize(place: Path) -> None:
    from onnxruntime.quantization import QuantType, quantize_dynamic

    source, target = str(place / FLOAT), str(place / onnx.GRAPH)
    quantize_dynamic(source, target, per_channel=True, weight_type=QuantType.QInt8)
    _set_apart(place)


def _set_apart(place: Path) -> None:
    """Put the tables of the graph in a file of their own, which stays on the disk: a text reads
    the rows of its words."""
    import onnx as graphs

    graph = graphs.load(place / onnx.GRAPH)
    (place / onnx.TABLES).unlink(missing_ok=True)
    graphs.save(
        graph,
        place / onnx.GRAPH,
        save_as_external_data=True,
        location=onnx.TABLES,
        size_threshold=TABLE_BYTES,
    )


def _with_files(manifest: ModelManifest, place: Path) -> ModelManifest:
    names = [name for name in (onnx.GRAPH, onnx.TABLES, onnx.TOKENIZER) if (place / name).exists()]
    return replace(manifest, files={name: storage.checksum(place / name) for name in names})


# From the weights


def _from_weights(source: Path, place: Path, fingerprint: str) -> ModelManifest | None:
    """What was made of the weights, held against their own floats; None if it differs too much."""
    from assistant.memory.embedding import bert  # onnx: for this process only

    _announce(1)
    dimension = bert.write(source, place / FLOAT)
    shutil.copyfile(source / onnx.TOKENIZER, place / onnx.TOKENIZER)
    _announce(2)
    _quantize(place)
    _announce(3)
    limits = json.loads((source / "sentence_bert_config.json").read_text(encoding="utf-8"))
    most = int(limits["max_seq_length"])
    manifest = ModelManifest(f"{fingerprint}-int8", "int8", dimension, most, bert.INPUTS, {})
    exact = OnnxEmbedder(place, manifest, FLOAT).embed(PROBES)
    if difference(exact, OnnxEmbedder(place, manifest).embed(PROBES)):
        return None
    return _with_files(manifest, place)


def _from_packed(source: Path, place: Path, fingerprint: str) -> ModelManifest:
    """What was made of the model of other languages, held against its own floats."""
    from assistant.memory.embedding import bert

    _announce(1)
    packed = Packed(source / FILE)
    bert.write_graph(packed.weights(), bert.Sizes(*packed.sizes), place / FLOAT)
    _announce(2)
    _quantize(place)
    _announce(3)
    inputs = (bert.EMBEDDED, bert.MASK)
    exact, compiled = (
        WideEncoder(packed, place / name).encoded(PROBES) for name in (FLOAT, onnx.GRAPH)
    )
    if reason := difference(exact, compiled):
        raise EmbedderError(f"the model of other languages cannot be compiled: {reason}")
    found = ModelManifest(f"{fingerprint}-int8", "int8", packed.width, packed.longest, inputs, {})
    return _with_files(found, place)


# From the original


def _from_original(source: Path, place: Path, fingerprint: str) -> ModelManifest:
    """What was made of the model by torch; else that the original has to run itself, and why."""
    model = open_original(source)
    manifest = ModelManifest(
        fingerprint=f"{fingerprint}-int8",
        precision="int8",
        dimension=int(model.encode(["dimension"]).shape[1]),
        max_tokens=int(model.max_seq_length or 512),
        inputs=(),
        files={},
    )
    reason = _unsupported(model)
    if not reason:
        try:
            manifest = replace(manifest, inputs=_exported(model, place))
            compiled = OnnxEmbedder(place, manifest).embed(PROBES)
            reason = difference(model.encode(list(PROBES), normalize_embeddings=True), compiled)
        except Exception as error:  # whatever torch or onnx meets, the original still runs
            reason = f"it cannot be exported ({type(error).__name__})"
    if not reason:
        return _with_files(manifest, place)
    for name in (onnx.GRAPH, onnx.TABLES, onnx.TOKENIZER):
        (place / name).unlink(missing_ok=True)
    return replace(
        manifest,
        fingerprint=f"{fingerprint}-float32",
        precision="float32",
        inputs=(),
        notice=f"The embedding model runs through sentence-transformers, slower: {reason}",
    )


def _unsupported(model: "SentenceTransformer") -> str:
    """Why the graph could not stand for the model, or nothing."""
    if model.default_prompt_name:
        return "it puts a prompt before each text"
    if not hasattr(model.tokenizer, "backend_tokenizer"):
        return "its tokenizer has no fast form"
    return ""


def _exported(model: "SentenceTransformer", place: Path) -> tuple[str, ...]:
    """Write graph and tokenizer of the model; returns the names of the graph's inputs."""
    _announce(1)
    inputs = _export(model, place / FLOAT)
    _announce(2)
    _quantize(place)
    _announce(3)
    tokenizer = model.tokenizer.backend_tokenizer.to_str()
    (place / onnx.TOKENIZER).write_text(tokenizer, encoding="utf-8")
    return inputs


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


if __name__ == "__main__":
    main(*sys.argv[1:])
