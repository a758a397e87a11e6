"""The process that compiles one model: a float graph from its weights, made int8, and checked."""

import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from assistant.disk import storage
from assistant.errors import EmbedderError
from assistant.memory.embedding import onnx
from assistant.memory.embedding.e5 import FILE, Packed, WideEncoder
from assistant.memory.embedding.embedder import Vectors
from assistant.memory.embedding.manifest import ModelManifest
from assistant.memory.embedding.onnx import OnnxEmbedder

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


def main(source: str, target: str, fingerprint: str) -> None:
    """Compile `source` into the directory `target`; steps go to standard output."""
    place = Path(target)
    _announce(0)
    compiled = _from_packed if (Path(source) / FILE).exists() else _from_weights
    manifest = compiled(Path(source), place, fingerprint)
    (place / FLOAT).unlink(missing_ok=True)
    manifest.write(place)
    _announce(len(STEPS) - 1)


def check(exact: Vectors, compiled: Vectors) -> None:
    """Raise EmbedderError if the int8 vectors are too far from the exact ones."""
    cosines = np.sum(exact * compiled, axis=1)
    mean, least = float(cosines.mean()), float(cosines.min())
    if mean < MEAN_COSINE or least < LEAST_COSINE:
        raise EmbedderError(
            f"compiled, it differs too much (cosine {mean:.3f} on average, {least:.3f} at worst)"
        )


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


def _from_weights(source: Path, place: Path, fingerprint: str) -> ModelManifest:
    """Compile the default model."""
    from assistant.memory.embedding import bert  # onnx: for this process only

    _announce(1)
    dimension = bert.write(source, place / FLOAT)
    shutil.copyfile(source / onnx.TOKENIZER, place / onnx.TOKENIZER)
    _announce(2)
    _quantize(place)
    _announce(3)
    limits = json.loads((source / "sentence_bert_config.json").read_text(encoding="utf-8"))
    most = int(limits["max_seq_length"])
    manifest = ModelManifest(f"{fingerprint}-int8", dimension, most, bert.INPUTS, {})
    exact = OnnxEmbedder(place, manifest, FLOAT).embed(PROBES)
    check(exact, OnnxEmbedder(place, manifest).embed(PROBES))
    return _with_files(manifest, place)


def _from_packed(source: Path, place: Path, fingerprint: str) -> ModelManifest:
    """Compile multilingual-e5-small."""
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
    check(exact, compiled)
    manifest = ModelManifest(f"{fingerprint}-int8", packed.width, packed.longest, inputs, {})
    return _with_files(manifest, place)


if __name__ == "__main__":
    main(*sys.argv[1:])
