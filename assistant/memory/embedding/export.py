"""The process that compiles one model: a float graph from its weights, made int8."""

import sys
from pathlib import Path

import onnx as graphs
from onnxruntime.quantization import QuantType, quantize_dynamic

from assistant.memory.embedding import bert
from assistant.memory.embedding.e5 import FILE, Packed
from assistant.memory.embedding.onnx import GRAPH, TABLES

FLOAT = "float.onnx"
"""The graph before it is quantized."""
TABLE_BYTES = 4 << 20
"""Minimum size of a table that is stored separately; more than any weights of a layer."""


def main(source: Path, target: Path) -> None:
    """Compile the model in the folder `source` into the folder `target`: with its tables in a file
    of their own that stays on disk, of which a text reads only the rows of its words."""
    exact, graph = target / FLOAT, target / GRAPH
    if (source / FILE).exists():
        packed = Packed(source / FILE)
        bert.write_graph(packed.weights(), bert.Sizes(*packed.sizes), exact)
    else:
        bert.write(source, exact)
    quantize_dynamic(str(exact), str(graph), per_channel=True, weight_type=QuantType.QInt8)
    graphs.save(
        graphs.load(graph),
        graph,
        save_as_external_data=True,
        location=TABLES,
        size_threshold=TABLE_BYTES,
    )
    exact.unlink()


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
