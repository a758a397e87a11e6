"""The scripts that the program is compared with, run as `-m scripts.benchmark.rivals NAME …`.

Each does what a careful script would do with the same libraries. Imports are in the functions,
since their cost is part of the figure.
"""

import sys
import time
from pathlib import Path
from typing import Any

BATCH = 1000  # the program's own; Chroma is no faster with its maximum, 5,461
SPACE: Any = {"hnsw": {"space": "cosine"}}


def upsert(directory: str, vectors: str, count: str) -> None:
    """Print the seconds that embedded Chroma takes to insert this many vectors, without its
    import."""
    import chromadb
    import numpy as np

    rows = np.load(vectors)[: int(count)].astype(np.float32)
    client = chromadb.PersistentClient(directory)
    made = client.create_collection("bare", embedding_function=None, configuration=SPACE)
    start = time.perf_counter()
    for first in range(0, len(rows), BATCH):
        part = rows[first : first + BATCH]
        made.upsert(ids=[str(first + n) for n in range(len(part))], embeddings=part)
    print(time.perf_counter() - start)


def search(directory: str, query: str) -> None:
    """Run one query with sentence-transformers and Chroma: the cost of a plain script each time."""
    import chromadb
    import numpy as np
    from sentence_transformers import SentenceTransformer

    vector = SentenceTransformer(_model(), device="cpu").encode([query])
    vector = np.hstack([vector, vector])  # as long as the collection's, which come from two models
    collection = chromadb.PersistentClient(directory).get_collection(
        "bare", embedding_function=None
    )
    print(collection.query(query_embeddings=vector, n_results=8)["ids"])


def encode(texts: str) -> None:
    """Print the texts per second that sentence-transformers embeds with its defaults, without its
    import."""
    from sentence_transformers import SentenceTransformer

    lines = Path(texts).read_text(encoding="utf-8").splitlines()
    model = SentenceTransformer(_model(), device="cpu")
    model.encode(lines[:32])
    start = time.perf_counter()
    model.encode(lines)
    print(len(lines) / (time.perf_counter() - start))


def resident(directory: str) -> None:
    """Print the bytes that bare Chroma and the bare encoder use after a few queries."""
    import chromadb

    from assistant.memory.embedding import compile
    from assistant.settings.sections import EmbeddingSettings
    from scripts.benchmark import measure

    embedder = compile.load(EmbeddingSettings())
    collection = chromadb.PersistentClient(directory).get_collection(
        "bare", embedding_function=None
    )
    for query in ("Who is a dentist?", "alarm code", "Where does Ada live?"):
        collection.query(query_embeddings=embedder.embed([query]), n_results=8)
    print(measure.resident())


def litellm() -> None:
    """Import litellm, as a program must before its first request."""
    import litellm  # noqa: F401


def _model() -> str:
    from assistant.memory.embedding import compile

    return str(compile.directory_of(compile.DEFAULT_MODEL))


if __name__ == "__main__":
    rivals = (upsert, search, encode, resident, litellm)
    {rival.__name__: rival for rival in rivals}[sys.argv[1]](*sys.argv[2:])
