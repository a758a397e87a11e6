"""An embedding model on onnxruntime, from the cache of compiled models."""

import functools
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from assistant.errors import EmbedderError

if TYPE_CHECKING:
    from onnxruntime import InferenceSession, RunOptions
    from tokenizers import Encoding, Tokenizer
from assistant.memory.embedding.embedder import Vectors, normalized
from assistant.memory.embedding.manifest import ModelManifest

GRAPH = "model.onnx"
TABLES = "model.tables"
"""The graph's largest constants, which onnxruntime maps from there."""
TOKENIZER = "tokenizer.json"
TEXTS_AT_ONCE = 1024
"""Texts tokenized and sorted together: bounds memory on long inputs."""
BATCH_TOKENS = 256
"""Padded tokens a run; one runs on each core. Twice as many are no faster and take 13 MB more."""
MAX_THREADS = 4


class OnnxEmbedder:
    """A compiled model on onnxruntime. Thread-safe."""

    def __init__(self, directory: Path, manifest: ModelManifest, graph: str = GRAPH) -> None:
        self.fingerprint = manifest.fingerprint
        self.dimension = manifest.dimension
        self.max_tokens = manifest.max_tokens
        self._inputs = manifest.inputs
        self._session = open_session(directory / graph)
        self._giving_back = giving_back()
        self._tokenizer = _open_tokenizer(directory / TOKENIZER, manifest.max_tokens)
        self._special = self._tokenizer.num_special_tokens_to_add(False)

    def count_tokens(self, text: str) -> int:
        encoding = self._tokenizer.encode(text)
        cut_off = sum(len(part) - self._special for part in encoding.overflowing)
        return len(encoding) + cut_off

    def embed(self, texts: Sequence[str]) -> Vectors:
        vectors = np.empty((len(texts), self.dimension), dtype=np.float32)
        for start in range(0, len(texts), TEXTS_AT_ONCE):
            encodings = self._tokenizer.encode_batch(list(texts[start : start + TEXTS_AT_ONCE]))
            lots = list(batches([len(encoding) for encoding in encodings]))
            found = each_on_a_core(self._run, [[encodings[row] for row in rows] for rows in lots])
            for rows, result in zip(lots, found, strict=True):
                vectors[[start + row for row in rows]] = result
            if len(lots) > 1:
                self._run(encodings[:1], self._giving_back)
        return normalized(vectors)

    def embed_questions(self, texts: Sequence[str]) -> Vectors:
        return self.embed(texts)

    def _run(
        self, encodings: list["Encoding"], options: "RunOptions | None" = None
    ) -> NDArray[np.float32]:
        shape = (len(encodings), max(len(encoding) for encoding in encodings))
        feeds = {name: np.zeros(shape, dtype=np.int64) for name in self._inputs}
        for row, encoding in enumerate(encodings):
            feeds["input_ids"][row, : len(encoding)] = encoding.ids
            feeds["attention_mask"][row, : len(encoding)] = 1
        result: NDArray[np.float32] = self._session.run(None, feeds, options)[0]
        return result


def batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Rows grouped by length, so that little of a batch is padding."""
    batch: list[int] = []
    for row in sorted(range(len(lengths)), key=lengths.__getitem__):
        limit = min(BATCH_TOKENS // (len(batch) + 1), 2 * lengths[batch[0]]) if batch else 0
        if batch and lengths[row] > limit:
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch


Lot = TypeVar("Lot")


def each_on_a_core(run: Callable[[Lot], Vectors], lots: Sequence[Lot]) -> Iterable[Vectors]:
    """Run each batch on one processor: its steps are too short to be shared out."""
    return (_workers().map if len(lots) > 1 else map)(run, lots)


@functools.cache
def _workers() -> ThreadPoolExecutor:
    cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    return ThreadPoolExecutor(min(cores, MAX_THREADS), "embedding")


def open_session(path: Path) -> "InferenceSession":
    """A compiled graph, ready to run. Raises EmbedderError."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.enable_mem_pattern = False  # every batch has another shape
    options.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(
            str(path),
            options,
            providers=["CPUExecutionProvider"],
            disabled_optimizers=["SkipLayerNormFusion"],  # the fused step is the slower one
        )
    except Exception as error:  # onnxruntime's errors have no base of their own
        raise EmbedderError(
            f"the compiled embedding model {path} cannot be loaded: {error}",
            f"Delete {path.parent}, and it is compiled again",
        ) from error


def giving_back() -> "RunOptions":
    """A run with these gives back to the system what it and those before it worked in: onnxruntime
    alone keeps the most that ever was needed, some 20 MB."""
    import onnxruntime

    options = onnxruntime.RunOptions()
    options.add_run_config_entry("memory.enable_memory_arena_shrinkage", "cpu:0")
    return options


def _open_tokenizer(path: Path, max_tokens: int) -> "Tokenizer":
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_padding()
    tokenizer.enable_truncation(max_tokens)
    return tokenizer
