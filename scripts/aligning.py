"""Fit the map by which texts in other languages get vectors in the default model's space.

`scripts/align DIR` reads the definitions and the examples of WordNet (Princeton, 2006), whose
`data.noun`, `data.verb`, `data.adj` and `data.adv` lie in DIR; Debian's wordnet-base has them in
/usr/share/wordnet. No sentence of the suites, and none in another language than English is read.
"""

import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from assistant.memory.embedding import compile, polyglot
from assistant.settings.memory import EmbeddingSettings

TEXTS = 48_000
RIDGE = 10.0
SET_ASIDE = 2_000


def main(folder: Path) -> None:
    """Fit, say how near the map comes on what it was not fitted on, and write it."""
    texts = sorted(set(_texts(folder)))
    random.Random(1).shuffle(texts)
    texts = texts[:TEXTS]
    known = np.hstack([polyglot.encoded(texts), np.ones((len(texts), 1), np.float32)])
    wanted = compile.load(EmbeddingSettings()).english.embed(texts)
    fitted, new = known[SET_ASIDE:], known[:SET_ASIDE]
    size = RIDGE * np.eye(known.shape[1])
    found = np.linalg.solve(fitted.T @ fitted + size, fitted.T @ wanted[SET_ASIDE:])
    mapped = new @ found
    mapped /= np.linalg.norm(mapped, axis=1, keepdims=True)
    near = float((mapped * wanted[:SET_ASIDE]).sum(axis=1).mean())
    print(f"mean cosine of {SET_ASIDE:,} texts that were set aside: {near:.3f}")
    np.save(polyglot.MAP, found.astype(np.float16))


def _texts(folder: Path) -> Iterator[str]:
    """Words, what they mean, and sentences that use them."""
    for name in ("noun", "verb", "adj", "adv"):
        for line in (folder / f"data.{name}").read_text(encoding="utf-8").splitlines():
            head, found, gloss = line.partition(" | ")
            if found:
                yield head.split()[4].replace("_", " ")
                yield gloss.split('"')[0].strip(" ;")
                yield from re.findall(r'"([^"]+)"', gloss)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
