"""Lists the questions of the development half that miss evidence, and where the evidence is ranked.

The held-out half is not shown: questions that one has looked at are no longer held out.
"""

from collections.abc import Iterator

from assistant.memory.base import Query
from assistant.memory.embedding.embedder import Embedder
from scripts.evaluation import suites
from scripts.evaluation.catalogue import Plan
from scripts.evaluation.probes import AMONG, MOST, UNLIMITED, covered, place
from scripts.evaluation.room import Room, opened
from scripts.evaluation.suites import HALVES, Asked


def misses(plan: Plan, embedder: Embedder) -> Iterator[str]:
    """Yield a paragraph for each question whose evidence is not complete in the first eight."""
    with opened(plan.files(), embedder) as room:
        for asked in suites.questions(plan.suite, HALVES[0]):
            if told := _told(room, asked):
                yield told


def _told(room: Room, asked: Asked) -> str:
    query = Query(asked.question, k=MOST, budget=UNLIMITED)
    recall = room.memory.recall(query)
    if asked.evidence and covered(recall.passages[:AMONG], asked.evidence) == 1.0:
        return ""
    if not asked.evidence and not recall.passages:
        return ""
    stands = place(recall.passages, asked.evidence) if asked.evidence else None
    where = f"at {stands}" if stands else "not found"
    first = recall.passages[0].text if recall.passages else "nothing"
    wanted = "".join(f"\n  wanted: {wordings[0]}" for wordings in asked.evidence)
    return f"{asked.question}\n  {where}; first: {' '.join(first.split())}{wanted}"
