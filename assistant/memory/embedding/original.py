"""A model as sentence-transformers runs it: what a compiled one is held against."""

import importlib.util
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from assistant.errors import EmbedderError
from assistant.memory.embedding.embedder import Vectors
from assistant.memory.embedding.manifest import Described, ModelManifest
from assistant.memory.embedding.prompted import PLAIN, Prompts

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

OFFLINE = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}


def missing() -> EmbedderError | None:
    """What to raise if sentence-transformers is not installed: only other models need it."""
    if importlib.util.find_spec("sentence_transformers"):
        return None
    return EmbedderError(
        "any embedding model but the default needs sentence-transformers, which is not installed",
        "Install `assistant[models]`, or go back to it: `assistant config set embedding.model ''`",
    )


def open_original(source: Path) -> "SentenceTransformer":
    """The model by sentence-transformers, offline, on the CPU, no code of the model's own run.

    Raises EmbedderError if sentence-transformers is not installed.
    """
    if absent := missing():
        raise absent
    os.environ.update(OFFLINE)  # read when huggingface_hub is imported
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(
        str(source), device="cpu", local_files_only=True, trust_remote_code=False
    ).eval()


class SentenceTransformerEmbedder(Described):
    """A model that cannot be compiled, run by sentence-transformers itself."""

    def __init__(self, source: Path, manifest: ModelManifest, prompts: Prompts = PLAIN) -> None:
        super().__init__(manifest)
        self._prompts = prompts
        self._model = open_original(source)
        self._lock = threading.Lock()  # its tokenizer is for one thread at a time

    def count_tokens(self, text: str) -> int:
        with self._lock:
            return len(self._model.tokenizer(text, truncation=False, verbose=False)["input_ids"])

    def embed(self, texts: Sequence[str]) -> Vectors:
        return self._embed(texts, self._prompts.document)

    def embed_questions(self, texts: Sequence[str]) -> Vectors:
        return self._embed(texts, self._prompts.query)

    def _embed(self, texts: Sequence[str], prompt: str) -> Vectors:
        if not texts:
            return np.empty((0, self.dimension), dtype=np.float32)
        with self._lock:
            vectors: Vectors = self._model.encode(
                list(texts), prompt=prompt, normalize_embeddings=True, show_progress_bar=False
            )
        return vectors
