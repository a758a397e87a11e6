"""Runs a compiled embedding model on onnxruntime."""

import functools
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assistant.errors import EmbedderError
from assistant.memory.embedding.embedder import Vectors, normalized

GRAPH = "model.onnx"
TABLES = "model.tables"
"""The file of the graph's largest constants, which onnxruntime maps into memory."""
TOKENIZER = "tokenizer.json"
BATCH_TOKENS = 256
"""Padded tokens per run; one runs on each core. Twice as many are no faster and take 13 MB more."""
MAX_THREADS = 4


class Session:
    """A compiled graph, run in batches. Thread-safe. Raises EmbedderError."""

    def __init__(self, path: Path) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.enable_mem_pattern = False  # every batch has another shape
        options.log_severity_level = 3
        try:
            self._session = onnxruntime.InferenceSession(
                str(path),
                options,
                providers=["CPUExecutionProvider"],
                disabled_optimizers=["SkipLayerNormFusion"],  # the fused step is slower
            )
        except Exception as error:  # onnxruntime's errors have no base of their own
            raise EmbedderError(
                f"the compiled embedding model {path} cannot be loaded: {error}",
                f"Delete {path.parent} to compile it again",
            ) from error
        self._options = onnxruntime.RunOptions()
        """By default, onnxruntime keeps the most memory it has ever needed, some 20 MB."""
        self._options.add_run_config_entry("memory.enable_memory_arena_shrinkage", "cpu:0")
        self.dimension = int(self._session.get_outputs()[0].shape[1])

    def run(
        self, name: str, lengths: Sequence[int], tokens: Callable[[int], NDArray[Any]]
    ) -> Vectors:
        """Return one vector per text; `lengths` are in tokens. `tokens` returns the tokens of the
        text with this number, for the input `name`.

        Each batch runs on one core: its steps are too short to split.
        """
        vectors = np.empty((len(lengths), self.dimension), dtype=np.float32)

        def run(rows: list[int]) -> None:
            texts = [tokens(row) for row in rows]
            longest = max(map(len, texts))
            padded = np.zeros((len(rows), longest, *texts[0].shape[1:]), texts[0].dtype)
            for row, values in zip(padded, texts, strict=True):
                row[: len(values)] = values
            mask = np.arange(longest) < np.array([*map(len, texts)])[:, None]
            feeds = {name: padded, "attention_mask": mask.astype(np.int64)}
            vectors[rows] = self._session.run(None, feeds, self._options)[0]

        groups = list(batches(lengths))
        list((_workers().map if len(groups) > 1 else map)(run, groups))
        return vectors


class OnnxEmbedder:
    """all-MiniLM-L6-v2, compiled. Thread-safe."""

    def __init__(self, graph: Path, source: Path, fingerprint: str) -> None:
        """`source` is the folder of the original model. Raises EmbedderError."""
        from tokenizers import Tokenizer

        limits = json.loads((source / "sentence_bert_config.json").read_text(encoding="utf-8"))
        self.fingerprint = fingerprint
        self.max_tokens = int(limits["max_seq_length"])
        self._session = Session(graph)
        self.dimension = self._session.dimension
        self._tokenizer = Tokenizer.from_file(str(source / TOKENIZER))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(self.max_tokens)
        self._special = self._tokenizer.num_special_tokens_to_add(False)

    def count_tokens(self, text: str) -> int:
        encoding = self._tokenizer.encode(text)
        cut_off = sum(len(part) - self._special for part in encoding.overflowing)
        return len(encoding) + cut_off

    def embed(self, texts: Sequence[str]) -> Vectors:
        ids = [np.array(encoding.ids) for encoding in self._tokenizer.encode_batch(list(texts))]
        return normalized(self._session.run("input_ids", [*map(len, ids)], ids.__getitem__))

    def embed_questions(self, texts: Sequence[str]) -> Vectors:
        return self.embed(texts)


def batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Yield rows grouped by length, which keeps the padding small."""
    batch: list[int] = []
    for row in sorted(range(len(lengths)), key=lengths.__getitem__):
        limit = min(BATCH_TOKENS // (len(batch) + 1), 2 * lengths[batch[0]]) if batch else 0
        if batch and lengths[row] > limit:
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch


@functools.cache
def _workers() -> ThreadPoolExecutor:
    cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    return ThreadPoolExecutor(min(cores, MAX_THREADS), "embedding")
