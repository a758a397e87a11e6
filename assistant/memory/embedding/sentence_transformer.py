"""A model of the owner's choice, run by sentence-transformers.

Some models need prefixes that say what a text is: e5's "query: " before a question, "passage: "
before a text that may answer it.
"""

import hashlib
import importlib.util
import os
import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from assistant.errors import EmbedderError
from assistant.memory.embedding.embedder import Vectors
from assistant.settings.sections import EmbeddingSettings

OFFLINE = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
TOKENS = 512
"""Maximum tokens of a text, for a model that does not state its own."""

_DOCUMENT = ("document", "passage", "corpus")
_E5 = re.compile(r"(?:^|[^a-z])e5(?:[^a-z]|$)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Prompts:
    """The prefixes of a question and of a text of memory."""

    query: str = ""
    document: str = ""


def prompts_of(own: Mapping[str, str], default: str | None, settings: EmbeddingSettings) -> Prompts:
    """Return the prefixes that the owner set, else those in the model's own configuration, of which
    `default` may name one; e5 is recognised by its name."""
    named = {name: text for name, text in own.items() if text}
    usual = named.get(default or "", "")
    document = next((named[name] for name in _DOCUMENT if name in named), usual)
    prompts = Prompts(named.get("query", usual), document)
    if prompts == Prompts() and _E5.search(Path(settings.model).name):
        prompts = Prompts("query: ", "passage: ")
    return Prompts(
        prompts.query if settings.query_prefix is None else settings.query_prefix,
        prompts.document if settings.document_prefix is None else settings.document_prefix,
    )


class SentenceTransformerEmbedder:
    """A model of sentence-transformers, offline, on the CPU, without running the model's own code.

    Raises EmbedderError if sentence-transformers is not installed, or the model is damaged.
    """

    def __init__(self, source: Path, fingerprint: str, settings: EmbeddingSettings) -> None:
        if not importlib.util.find_spec("sentence_transformers"):
            raise EmbedderError(
                "any embedding model except the default needs sentence-transformers, which is not"
                " installed",
                "Run `scripts/environment models` in the program's folder, or go back to the"
                " default: `assistant config set embedding.model ''`",
            )
        os.environ.update(OFFLINE)  # read when huggingface_hub is imported
        from sentence_transformers import SentenceTransformer

        try:
            self._model = SentenceTransformer(
                str(source), device="cpu", local_files_only=True, trust_remote_code=False
            ).eval()
        except Exception as error:  # its files may be anything
            raise EmbedderError(
                f"the embedding model {source} cannot be loaded: {error}",
                "Restore the model's files there, or choose another model",
            ) from error
        model = self._model
        prompts = self._prompts = prompts_of(model.prompts, model.default_prompt_name, settings)
        self._lock = threading.Lock()  # its tokenizer is not thread-safe
        document = prompts.document.encode()
        digest = f"-{hashlib.sha256(document).hexdigest()[:8]}" if document else ""
        self.fingerprint = fingerprint + digest
        self.dimension = int(self._model.encode(["dimension"]).shape[1])
        longest = max(prompts.query, prompts.document, key=len)
        taken = self.count_tokens(longest) - self.count_tokens("")
        self.max_tokens = int(self._model.max_seq_length or TOKENS) - taken

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
