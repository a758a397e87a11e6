"""Queries over all of memory: which facts are due, which are most similar, and the chart of all.

The chart lays out topics as disks on a plane, and facts on rings within them. Topics are the
clusters of spherical k-means (Dhillon and Modha, 2001) over the facts' vectors. It starts from
facts far apart, so the same memory gives the same chart. The centres are laid out by principal
components and pushed apart until no disks overlap. The most typical facts of a topic are in the
middle of its disk, and similar facts are adjacent on a ring.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import count
from math import ceil, sqrt

import numpy as np
from numpy.typing import NDArray

from assistant.memory.base import Chart, Charted, Due, Passage, Progress, Topic, no_progress
from assistant.memory.embedding.embedder import Vectors
from assistant.memory.index.catalog import Catalog
from assistant.memory.index.layout import Rows
from assistant.memory.text.chunk import Chunk, passage
from assistant.memory.text.language import without_function_words
from assistant.memory.text.times.occasions import occasions
from assistant.workspace.folder import PROCEDURE_FILES


def due(
    catalog: Catalog, dated: Callable[[Passage], Passage], first: str, last: str
) -> tuple[Due, ...]:
    """Return the facts due on these days, in order; on each day those without a time first.

    `dated` adds the day of recording if the file names none.
    """
    begin, end = date.fromisoformat(first), date.fromisoformat(last)
    results = []
    for chunk, dates in catalog.speaking(begin, end):
        if chunk.source in PROCEDURE_FILES:
            continue
        fact = dated(passage(chunk))
        if chunk.date is None and fact.date:
            dates = occasions(chunk.plain, fact.date)
        for occasion in dates:
            for start, stop, time in occasion.within(begin, end):
                years = start.year - occasion.since if occasion.since else 0
                results.append(
                    Due(
                        start.isoformat(),
                        stop.isoformat(),
                        fact,
                        time,
                        occasion.rule,
                        occasion.rhythm,
                        years,
                        occasion.zone,
                    )
                )
    return tuple(sorted(results, key=lambda due: (due.start, due.time, due.passage.citation)))


NEAR = 0.35
"""The minimum cosine of a pair: MiniLM gives "Lives in Berlin" and "Lives in Lisbon" 0.46."""
NEIGHBOURS = 3
"""The number of nearest facts that each fact is paired with, which limits the pairs among many
similar facts."""
BLOCK = 64
"""The number of vectors compared with all others at a time: 25 MB for 100,000."""


def near_pairs(
    catalog: Catalog, limit: int, progress: Progress = no_progress
) -> list[tuple[Chunk, Chunk, float]]:
    """Return the nearest pairs of current facts with their cosine, nearest first, at most `limit`.

    A fact that is removed in the meantime is omitted.
    """
    layout = catalog.layout()
    current = np.flatnonzero(~layout.superseded)
    vectors = catalog.vectors.read(layout.vector[current].tolist())
    others, cosines = nearest_of_each(vectors, NEIGHBOURS, progress)
    pairs: dict[tuple[int, int], float] = {}
    for one, n in np.argwhere(cosines >= NEAR).tolist():
        other = int(others[one, n])
        pairs[min(one, other), max(one, other)] = float(cosines[one, n])
    best = sorted(pairs, key=lambda pair: -pairs[pair])[:limit]
    rows = layout.rowid[current].tolist()
    chunks = catalog.by_row([rows[at] for at in sorted({at for pair in best for at in pair})])
    return [
        (chunks[rows[one]], chunks[rows[other]], pairs[one, other])
        for one, other in best
        if rows[one] in chunks and rows[other] in chunks
    ]


def nearest_of_each(
    vectors: Vectors, most: int, progress: Progress = no_progress
) -> tuple[Rows, NDArray[np.float32]]:
    """Return the indices of the nearest other vectors of each vector and their cosines, nearest
    first; both of shape (vectors, neighbours), with at most `most` neighbours."""
    total = len(vectors)
    most = max(0, min(most, total - 1))
    nearest, cosines = np.empty((total, most), np.int64), np.empty((total, most), np.float32)
    for start in range(0, total if most else 0, BLOCK):
        progress("Comparing facts", start, total)
        block = vectors[start : start + BLOCK] @ vectors.T
        own = np.arange(len(block))
        block[own, start + own] = -np.inf
        for n in range(most):
            best = block.argmax(axis=1)
            nearest[start : start + BLOCK, n] = best
            cosines[start : start + BLOCK, n] = block[own, best]
            block[own, best] = -np.inf
    return nearest, cosines


# The chart

MOST_TOPICS = 24
FACTS_A_TOPIC = 5.0
"""A memory of n facts has sqrt(n / 5) topics: 4 of 80, 13 of 900."""
ROUNDS = 12
LISTED = 5
"""Neighbours listed for a fact."""
LEAST_LISTED = 0.3
"""The minimum cosine of a neighbour."""
SPACING = 1.0
"""Distance between the rings of a disk, and between the facts on a ring."""
GAP = 2.5
"""Distance between two disks."""
PUSHES = 300
NAMED_BY = 3
"""Words in the name of a topic."""
_WORD = re.compile(r"[^\W\d_][\w’'-]{2,}")

Points = NDArray[np.float64]


def chart(catalog: Catalog, recorded: Callable[[Passage], Passage]) -> Chart:
    """Lay out all facts by meaning; `recorded` adds the journal's date and origin."""
    layout = catalog.layout()
    by_row = catalog.by_row(layout.rowid.tolist())
    facts = {row for row, chunk in by_row.items() if chunk.source not in PROCEDURE_FILES}
    positions = [at for at, row in enumerate(layout.rowid.tolist()) if row in facts]
    chunks = [by_row[int(layout.rowid[at])] for at in positions]
    drawn = plane(catalog.vectors.read(layout.vector[positions].tolist()))
    titles = names([chunk.plain for chunk in chunks], drawn.topic, len(drawn.radius))
    charted = (
        Charted(
            recorded(passage(chunk)),
            int(topic),
            round(x, 2),
            round(y, 2),
            near,
            chunk.until,
        )
        for chunk, topic, (x, y), near in zip(
            chunks, drawn.topic.tolist(), drawn.position.tolist(), drawn.near, strict=True
        )
    )
    circles = zip(titles, drawn.centre.tolist(), drawn.radius.tolist(), strict=True)
    topics = (Topic(name, round(x, 2), round(y, 2), radius) for name, (x, y), radius in circles)
    return Chart(tuple(charted), tuple(topics))


@dataclass(frozen=True, slots=True)
class Plane:
    """The topic, position and nearest facts of each fact; the centre and radius of each topic."""

    topic: Rows
    position: Points
    near: list[tuple[int, ...]]
    centre: Points
    radius: NDArray[np.float64]


def plane(vectors: Vectors) -> Plane:
    """Lay out facts by their unit vectors."""
    if not len(vectors):
        empty = np.empty((0, 2))
        return Plane(np.empty(0, dtype=np.int64), empty, [], empty, np.empty(0))
    topic, means = _topics(vectors)
    members = [np.flatnonzero(topic == number) for number in range(len(means))]
    radius = np.array([_radius(len(member)) for member in members])
    centre = _apart(_flat(means) * float(radius.sum()), radius)
    position = np.empty((len(vectors), 2))
    for number, member in enumerate(members):
        position[member] = centre[number] + _rings(vectors[member], means[number])
    others, cosines = nearest_of_each(vectors, LISTED)
    near = [
        tuple(row[near].tolist()) for row, near in zip(others, cosines >= LEAST_LISTED, strict=True)
    ]
    return Plane(topic, position, near, centre, radius)


def names(texts: Sequence[str], topic: Rows, topics: int) -> list[str]:
    """Name each topic by words that occur in many of its facts and in few others."""
    words = (_WORD.findall(without_function_words(text, "english")) for text in texts)
    contents = [{word.casefold(): word for word in text_words} for text_words in words]
    everywhere = Counter(word for content in contents for word in content)
    inside: list[Counter[str]] = [Counter() for _ in range(topics)]
    spelled: dict[str, Counter[str]] = {}
    for content, number in zip(contents, topic.tolist(), strict=True):
        inside[number].update(content.keys())
        for word, form in content.items():
            spelled.setdefault(word, Counter())[form] += 1
    return [_name(counts, everywhere, len(texts), spelled) for counts in inside]


def _name(
    inside: Counter[str], everywhere: Counter[str], total: int, spelled: dict[str, Counter[str]]
) -> str:
    worth = {word: times * np.log(1 + total / everywhere[word]) for word, times in inside.items()}
    best = sorted(worth, key=lambda word: (-worth[word], word))[:NAMED_BY]
    return " · ".join(spelled[word].most_common(1)[0][0] for word in best) or "…"


# Topics


def _topics(vectors: Vectors) -> tuple[Rows, Vectors]:
    """Return the topic of each fact, the largest topic first, and the topics' mean vectors."""
    count = int(np.clip(round(np.sqrt(len(vectors) / FACTS_A_TOPIC)), 1, MOST_TOPICS))
    means = _far_apart(vectors, count)
    for _ in range(ROUNDS):
        topic = np.argmax(vectors @ means.T, axis=1)
        sums = np.zeros_like(means)
        np.add.at(sums, topic, vectors)
        length = np.linalg.norm(sums, axis=1, keepdims=True)
        means = np.where(length > 0, sums / np.maximum(length, 1e-9), means)
    topic = np.argmax(vectors @ means.T, axis=1)
    sizes = np.bincount(topic, minlength=len(means))
    order = np.argsort(-sizes, kind="stable")[: int((sizes > 0).sum())]
    rank = np.full(len(means), -1, dtype=np.int64)
    rank[order] = np.arange(len(order))
    return rank[topic], means[order]


def _far_apart(vectors: Vectors, count: int) -> Vectors:
    """Choose `count` vectors, each far from those before it; the first is the most typical."""
    mean = vectors.mean(axis=0)
    chosen = [int(np.argmax(vectors @ mean))]
    nearest = vectors @ vectors[chosen[0]]
    while len(chosen) < count:
        chosen.append(int(np.argmin(nearest)))
        nearest = np.maximum(nearest, vectors @ vectors[chosen[-1]])
    return np.array(vectors[chosen], dtype=np.float32)


# Positions


def _flat(vectors: Vectors) -> Points:
    """Project the vectors on their first two principal components, within the unit circle."""
    if len(vectors) < 2:
        return np.zeros((len(vectors), 2))
    centred = vectors - vectors.mean(axis=0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    flat = np.zeros((len(vectors), 2))
    projected = centred @ axes[:2].T
    flat[:, : projected.shape[1]] = projected
    return np.asarray(flat / max(float(np.abs(flat).max()), 1e-9))


def _apart(centre: Points, radius: NDArray[np.float64]) -> Points:
    """Return the centres, pulled together and pushed apart until no disks overlap."""
    least = radius[:, None] + radius[None, :] + GAP
    turn = 2.4 * np.arange(len(radius))
    centre = centre * 0.5 + 0.001 * np.stack([np.cos(turn), np.sin(turn)], axis=1)  # no two alike
    for _ in range(PUSHES):
        centre = centre * 0.985
        between = centre[:, None, :] - centre[None, :, :]
        distance = np.linalg.norm(between, axis=2)
        way = between / np.maximum(distance, 1e-6)[:, :, None]
        push = np.clip(least - distance, 0.0, None) * 0.5
        np.fill_diagonal(push, 0.0)
        centre = centre + (way * push[:, :, None]).sum(axis=1) * 0.7
    return np.asarray(centre)


def _rings(vectors: Vectors, mean: Vectors) -> Points:
    """Return positions around a centre: one in the middle, then rings of six, twelve, and so on."""
    order = np.argsort(-(vectors @ mean), kind="stable")
    flat = _flat(vectors)
    angle = np.arctan2(flat[:, 1], flat[:, 0])
    position = np.zeros((len(vectors), 2))
    start = 0
    for ring in count():
        if start >= len(order):
            return position
        inside = order[start : start + max(1, 6 * ring)]
        inside = inside[np.argsort(angle[inside], kind="stable")]
        turns = 2 * np.pi * np.arange(len(inside)) / len(inside) + float(angle[inside[0]])
        position[inside] = SPACING * ring * np.stack([np.cos(turns), np.sin(turns)], axis=1)
        start += len(inside)
    return position


def _radius(facts: int) -> float:
    """Return the radius of a disk with that many facts."""
    rings = ceil(sqrt((facts - 1) / 3 + 0.25) - 0.5)  # k rings have room for 1 + 3k(k + 1)
    return SPACING * (rings + 1)
