"""The process that compiles one model: a float graph from its weights, made int8."""

import sys
from pathlib import Path

import onnx as graphs
from onnxruntime.quantization import QuantType, quantize_dynamic

from assistant.memory.embedding import bert
from assistant.memory.embedding.e5 import FILE, Packed
from assistant.memory.embedding.onnx import GRAPH, TABLES

STEPS = ("loading the model", "exporting it", "quantizing it")
FLOAT = "float.onnx"
"""The graph before it is quantized."""
TABLE_BYTES = 4 << 20
"""Minimum size of a table that is stored separately; more than any weights of a layer."""


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
    (place / FLOAT).unlink()


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
