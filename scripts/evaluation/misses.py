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
        for question in suites.questions(plan.suite, HALVES[0]):
            if paragraph := _paragraph(room, question):
                yield paragraph


def _paragraph(room: Room, question: Asked) -> str:
    query = Query(question.question, k=MOST, budget=UNLIMITED)
    recall = room.memory.recall(query)
    if question.evidence and covered(recall.passages[:AMONG], question.evidence) == 1.0:
        return ""
    if not question.evidence and not recall.passages:
        return ""
    rank = place(recall.passages, question.evidence) if question.evidence else None
    where = f"at {rank}" if rank else "not found"
    first = recall.passages[0].text if recall.passages else "nothing"
    evidence = "".join(f"\n  wanted: {wordings[0]}" for wordings in question.evidence)
    return f"{question.question}\n  {where}; first: {' '.join(first.split())}{evidence}"
