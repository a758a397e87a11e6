"""Builds a BERT sentence encoder as an ONNX graph, from its weights: no torch, no transformers.

So the first answer does not wait for torch to be imported, and the default model does not need it
at all. Run as a program, it compiles one model and quantizes the graph to int8. The encoder is
BERT's (Devlin et al., 2018: learned positions, exact GELU, normalisation after each sum); its last
layer is averaged over a text's tokens and scaled to length 1.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import load_file

from assistant.memory.embedding.e5 import FILE, Packed
from assistant.memory.embedding.onnx import GRAPH, TABLES

INPUTS = IDS, MASK = ("input_ids", "attention_mask")
EMBEDDED = "word_embeddings"
"""The input of a graph in place of ids, if the word embeddings are stored separately."""
WORDS = "embeddings.word_embeddings.weight"
OUTPUT = "sentence_embedding"
OPSET = 17
"""The first opset with LayerNormalization."""
IR_VERSION = 8
"""The file format that came with this opset."""
FLOAT = "float.onnx"
"""The graph before it is quantized."""
TABLE_BYTES = 4 << 20
"""The minimum size of a table that is stored separately; no weight of a layer is as large."""
LEAST = np.float32(np.finfo(np.float32).min)
Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Sizes:
    """The dimensions of an encoder."""

    layers: int
    heads: int
    width: int
    epsilon: float


def main(source: Path, target: Path) -> None:
    """Compile the model in the folder `source` into the folder `target`. Its tables go into a
    separate file that stays on disk; a text reads only the rows of its words."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    exact, graph = target / FLOAT, target / GRAPH
    write(source, exact)
    quantize_dynamic(str(exact), str(graph), per_channel=True, weight_type=QuantType.QInt8)
    onnx.save(
        onnx.load(graph),
        graph,
        save_as_external_data=True,
        location=TABLES,
        size_threshold=TABLE_BYTES,
    )
    exact.unlink()


def write(source: Path, target: Path) -> None:
    """Write the graph of the model in `source` to the file `target`.

    The graph takes `INPUTS`, both of shape (texts, tokens). If the weights are `Packed`, without
    the word embeddings, it takes `EMBEDDED` in place of the first, of shape (texts, tokens,
    width).
    """
    weights: Mapping[str, Floats]
    if (source / FILE).exists():
        packed = Packed(source / FILE)
        weights, sizes = packed.weights(), Sizes(*packed.sizes)
    else:
        config = json.loads((source / "config.json").read_text(encoding="utf-8"))
        named = ("num_hidden_layers", "num_attention_heads", "hidden_size", "layer_norm_eps")
        sizes = Sizes(*(config[name] for name in named))
        weights = load_file(source / "model.safetensors")
    onnx.save(_Encoder(weights, sizes).model(), target)


class _Encoder:
    """Builds the graph of the model: each operation and constant gets a name, which its users
    refer to. Tokens are of shape (texts, tokens, width)."""

    def __init__(self, weights: Mapping[str, Floats], sizes: Sizes) -> None:
        self._weights = weights
        self._sizes = sizes
        self._nodes: list[onnx.NodeProto] = []
        self._constants: list[onnx.TensorProto] = []
        self._mask = self.op("Cast", MASK, to=TensorProto.FLOAT)
        missing = self.op("Sub", np.float32(1), self._mask)
        shut = self.op("Mul", missing, LEAST)
        self._shut = self.op("Unsqueeze", shut, [1, 2])

    def model(self) -> onnx.ModelProto:
        """Return the complete model, checked."""
        self._nodes.append(helper.make_node("Identity", [self.sentences()], [OUTPUT]))
        tensor, words, width = helper.make_tensor_value_info, ["texts", "tokens"], self._sizes.width
        tokens = (
            tensor(IDS, TensorProto.INT64, words)
            if WORDS in self._weights
            else tensor(EMBEDDED, TensorProto.FLOAT, [*words, width])
        )
        taken = [tokens, tensor(MASK, TensorProto.INT64, words)]
        outputs = [tensor(OUTPUT, TensorProto.FLOAT, ["texts", width])]
        graph = helper.make_graph(self._nodes, "encoder", taken, outputs, self._constants)
        opset = helper.make_opsetid("", OPSET)
        model = helper.make_model(graph, opset_imports=[opset], ir_version=IR_VERSION)
        onnx.checker.check_model(model)
        return model

    def op(self, kind: str, *inputs: str | Floats | np.float32 | Sequence[int], **how: Any) -> str:
        """Add an operation; return the name of its output. Inputs other than names are
        constants."""
        names = [given if isinstance(given, str) else self._constant(given) for given in inputs]
        name = f"{kind}_{len(self._nodes)}"
        self._nodes.append(helper.make_node(kind, names, [name], name, **how))
        return name

    def _constant(self, values: Floats | np.float32 | Sequence[int]) -> str:
        name = f"constant_{len(self._constants)}"
        self._constants.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def sentences(self) -> str:
        """Return one vector per text."""
        tokens = self._embedded()
        for layer in range(self._sizes.layers):
            tokens = self._layer(f"encoder.layer.{layer}.", tokens)
        kept = self.op("Unsqueeze", self._mask, [2])
        total = self.op("ReduceSum", self.op("Mul", tokens, kept), [1], keepdims=0)
        mean = self.op("Div", total, self.op("ReduceSum", kept, [1], keepdims=0))
        return self.op("LpNormalization", mean, axis=1, p=2)

    def _embedded(self) -> str:
        """Add word, position and type embeddings; all tokens of a single text have one type."""
        positions, types = (
            self._weights[f"embeddings.{name}_embeddings.weight"]
            for name in ("position", "token_type")
        )
        words = EMBEDDED
        if WORDS in self._weights:
            words = self.op("Gather", self._weights[WORDS], IDS)
        length = self.op("Slice", self.op("Shape", MASK), [1], [2])
        sliced = self.op("Slice", positions + types[0], [0], length)
        return self._norm("embeddings.LayerNorm", self.op("Add", words, sliced))

    def _layer(self, name: str, tokens: str) -> str:
        """Apply attention, then two dense steps; each has a residual connection."""
        mixed = self._dense(f"{name}attention.output.dense", self._attention(name, tokens))
        tokens = self._norm(f"{name}attention.output.LayerNorm", self.op("Add", mixed, tokens))
        inner = self._gelu(self._dense(f"{name}intermediate.dense", tokens))
        outer = self._dense(f"{name}output.dense", inner)
        return self._norm(f"{name}output.LayerNorm", self.op("Add", outer, tokens))

    def _attention(self, name: str, tokens: str) -> str:
        """Return each token's weighted sum of all values, by how well its query matches their
        keys."""
        query, key, value = (
            self._heads_of(self._dense(f"{name}attention.self.{part}", tokens), order)
            for part, order in (
                ("query", (0, 2, 1, 3)),
                ("key", (0, 2, 3, 1)),
                ("value", (0, 2, 1, 3)),
            )
        )
        root = np.float32((self._sizes.width // self._sizes.heads) ** 0.5)
        fit = self.op("Div", self.op("MatMul", query, key), root)
        shares = self.op("Softmax", self.op("Add", fit, self._shut), axis=-1)
        mixed = self.op("Transpose", self.op("MatMul", shares, value), perm=(0, 2, 1, 3))
        return self.op("Reshape", mixed, [0, 0, self._sizes.width])

    def _heads_of(self, tokens: str, order: Sequence[int]) -> str:
        """Split each token into heads: (texts, tokens, heads, share), reordered."""
        heads = self._sizes.heads
        shape = [0, 0, heads, self._sizes.width // heads]
        return self.op("Transpose", self.op("Reshape", tokens, shape), perm=order)

    def _dense(self, name: str, tokens: str) -> str:
        weight, bias = self._weights[f"{name}.weight"], self._weights[f"{name}.bias"]
        product = self.op("MatMul", tokens, weight.T)
        return self.op("Add", product, bias)

    def _norm(self, name: str, tokens: str) -> str:
        parts = (self._weights[f"{name}.{part}"] for part in ("weight", "bias"))
        return self.op("LayerNormalization", tokens, *parts, epsilon=self._sizes.epsilon)

    def _gelu(self, tokens: str) -> str:
        """Return x · (1 + erf(x / √2)) / 2, in the order that onnxruntime fuses."""
        root, one, half = (np.float32(value) for value in (2**0.5, 1, 0.5))
        bent = self.op("Add", self.op("Erf", self.op("Div", tokens, root)), one)
        return self.op("Mul", self.op("Mul", tokens, bent), half)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
