"""Models that want to be told what a text is: e5's "query: " before a question, "passage: " before
what may answer it."""

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from assistant.memory.embedding.embedder import Embedder, Vectors
from assistant.settings.memory import EmbeddingSettings

CONFIGURATION = "config_sentence_transformers.json"
_DOCUMENT = ("document", "passage", "corpus")
_E5 = re.compile(r"(?:^|[^a-z])e5(?:[^a-z]|$)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Prompts:
    """What stands before a question, and before a text of memory."""

    query: str = ""
    document: str = ""


PLAIN = Prompts()
"""Of a model that wants nothing."""


def prompts_of(source: Path, settings: EmbeddingSettings) -> Prompts:
    """What a model says in its own configuration; e5 by its name; what the owner set before all."""
    known = Prompts("query: ", "passage: ") if _E5.search(Path(settings.model).name) else Prompts()
    try:
        raw = json.loads((source / CONFIGURATION).read_text(encoding="utf-8"))
        told = {name: str(text) for name, text in (raw.get("prompts") or {}).items() if text}
        default = told.get(raw.get("default_prompt_name") or "", "")
    except (OSError, ValueError, AttributeError):
        told, default = {}, ""
    document = next((told[name] for name in _DOCUMENT if name in told), default)
    query = told.get("query", default)
    if query or document:
        known = Prompts(query, document)
    return Prompts(
        known.query if settings.query_prefix is None else settings.query_prefix,
        known.document if settings.document_prefix is None else settings.document_prefix,
    )


def prompted(embedder: Embedder, prompts: Prompts) -> Embedder:
    """The embedder with its prompts, if it has any."""
    return PromptedEmbedder(embedder, prompts) if prompts != Prompts() else embedder


class PromptedEmbedder:
    """An embedder that puts its prompt before each text. Thread-safe."""

    def __init__(self, embedder: Embedder, prompts: Prompts) -> None:
        self._embedder = embedder
        self._prompts = prompts
        longest = max(prompts.query, prompts.document, key=len)
        own = embedder.count_tokens(longest) - embedder.count_tokens("")
        self.max_tokens = embedder.max_tokens - own

    @property
    def fingerprint(self) -> str:
        """Of the vectors of memory's texts: a question's prompt changes none of them."""
        return self._embedder.fingerprint + self._told()

    def fingerprint_of(self, text: str) -> str:
        return self._embedder.fingerprint_of(f"{self._prompts.document}{text}") + self._told()

    @property
    def languages(self) -> frozenset[str]:
        return self._embedder.languages

    @property
    def dimension(self) -> int:
        return self._embedder.dimension

    @property
    def notice(self) -> str:
        return self._embedder.notice

    def count_tokens(self, text: str) -> int:
        return self._embedder.count_tokens(text)

    def embed(self, texts: Sequence[str]) -> Vectors:
        return self._embedder.embed([f"{self._prompts.document}{text}" for text in texts])

    def embed_questions(self, texts: Sequence[str]) -> Vectors:
        return self._embedder.embed([f"{self._prompts.query}{text}" for text in texts])

    def _told(self) -> str:
        """What the prompt before memory's texts adds to a fingerprint."""
        told = self._prompts.document
        return f"-{hashlib.sha256(told.encode()).hexdigest()[:8]}" if told else ""
