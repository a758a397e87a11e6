"""The process that compiles one model: a float graph from its weights, made int8, and checked."""

import sys
from pathlib import Path

import numpy as np
import onnx as graphs
from onnxruntime.quantization import QuantType, quantize_dynamic

from assistant.errors import EmbedderError
from assistant.memory.embedding import bert
from assistant.memory.embedding.e5 import FILE, Packed, WideEncoder
from assistant.memory.embedding.embedder import Vectors
from assistant.memory.embedding.onnx import GRAPH, TABLES, OnnxEmbedder

STEPS = ("loading the model", "exporting it", "quantizing it", "checking it")
FLOAT = "float.onnx"
"""The graph before it is quantized."""
TABLE_BYTES = 4 << 20
"""Minimum size of a table that is stored separately; more than any weights of a layer."""
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


def main(source: str, target: str) -> None:
    """Compile the model in the folder `source` into the folder `target`. Each step is printed to
    standard output as its number and the total."""
    model, place = Path(source), Path(target)
    _announce(0)
    packed = Packed(model / FILE) if (model / FILE).exists() else None
    _announce(1)
    if packed:
        bert.write_graph(packed.weights(), bert.Sizes(*packed.sizes), place / FLOAT)
    else:
        bert.write(model, place / FLOAT)
    _announce(2)
    _quantize(place)
    _announce(3)
    exact, compiled = (
        WideEncoder(packed, place / graph).encoded(PROBES)
        if packed
        else OnnxEmbedder(place / graph, model, graph).embed(PROBES)
        for graph in (FLOAT, GRAPH)
    )
    check(exact, compiled)
    (place / FLOAT).unlink()


def check(exact: Vectors, compiled: Vectors) -> None:
    """Raise EmbedderError if the int8 vectors are too far from the exact ones."""
    cosines = np.sum(exact * compiled, axis=1)
    mean, least = float(cosines.mean()), float(cosines.min())
    if mean < MEAN_COSINE or least < LEAST_COSINE:
        raise EmbedderError(
            f"compiled, it differs too much (cosine {mean:.3f} on average, {least:.3f} at worst)"
        )


def _announce(step: int) -> None:
    sys.stdout.write(f"{step} {len(STEPS)}\n")
    sys.stdout.flush()


def _quantize(place: Path) -> None:
    """Write the int8 graph, with its tables in a separate file that stays on disk: a text reads
    only the rows of its words."""
    target = place / GRAPH
    quantize_dynamic(str(place / FLOAT), str(target), per_channel=True, weight_type=QuantType.QInt8)
    graph = graphs.load(target)
    graphs.save(
        graph, target, save_as_external_data=True, location=TABLES, size_threshold=TABLE_BYTES
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
