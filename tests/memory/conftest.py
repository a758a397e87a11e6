"""The real embedding model, compiled once into the cache that all tests share."""

import os
from pathlib import Path

import pytest

from assistant.memory import compile
from assistant.memory.embedder import OnnxEmbedder
from assistant.settings import EmbeddingSettings

CACHE = Path(__file__).resolve().parent.parent.parent / ".cache"


@pytest.fixture(scope="session")
def embedder() -> OnnxEmbedder:
    """all-MiniLM-L6-v2 on onnxruntime."""
    before = os.environ.get("XDG_CACHE_HOME")
    os.environ["XDG_CACHE_HOME"] = str(CACHE)
    try:
        loaded = compile.load(EmbeddingSettings())
    finally:
        os.environ.pop("XDG_CACHE_HOME")
        if before is not None:
            os.environ["XDG_CACHE_HOME"] = before
    assert isinstance(loaded, OnnxEmbedder)
    return loaded
