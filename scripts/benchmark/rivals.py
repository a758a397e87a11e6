"""What the program is held against, one function a process: `-m scripts.benchmark.rivals NAME …`.

Each is what a careful script would do with the same libraries. Imports stand in the functions, as
what they cost belongs to the figure.
"""

import sys
import time
from pathlib import Path
from typing import Any

BATCH = 1000  # the program's own; Chroma is no faster with its largest, 5,461
SPACE: Any = {"hnsw": {"space": "cosine"}}


def upsert(directory: str, vectors: str, count: str) -> None:
    """Seconds that embedded Chroma takes to take in that many vectors, its import left out."""
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
    """One query with sentence-transformers and Chroma: what a plain script pays each time."""
    import chromadb
    import numpy as np
    from sentence_transformers import SentenceTransformer

    vector = SentenceTransformer(_model(), device="cpu").encode([query])
    vector = np.hstack([vector, vector])  # as long as the collection's, which are of two models
    found = chromadb.PersistentClient(directory).get_collection("bare", embedding_function=None)
    print(found.query(query_embeddings=vector, n_results=8)["ids"])


def encode(texts: str) -> None:
    """Texts a second that sentence-transformers embeds, its defaults and import left out."""
    from sentence_transformers import SentenceTransformer

    lines = Path(texts).read_text(encoding="utf-8").splitlines()
    model = SentenceTransformer(_model(), device="cpu")
    model.encode(lines[:32])
    start = time.perf_counter()
    model.encode(lines)
    print(len(lines) / (time.perf_counter() - start))


def resident(directory: str) -> None:
    """Bytes held by bare Chroma and the bare encoder after a few queries."""
    import chromadb

    from assistant.memory.embedding import compile
    from assistant.settings.sections import EmbeddingSettings
    from scripts.benchmark import measure

    embedder = compile.load(EmbeddingSettings())
    found = chromadb.PersistentClient(directory).get_collection("bare", embedding_function=None)
    for query in ("Who is a dentist?", "alarm code", "Where does Ada live?"):
        found.query(query_embeddings=embedder.embed([query]), n_results=8)
    print(measure.resident())


def litellm() -> None:
    """Import litellm, as a program must before its first request."""
    import litellm  # noqa: F401


def _model() -> str:
    from assistant.memory.embedding import compile

    return str(compile.directory_of(compile.DEFAULT_MODEL))


if __name__ == "__main__":
    rivals = (upsert, search, encode, resident, litellm)
    {each.__name__: each for each in rivals}[sys.argv[1]](*sys.argv[2:])
