"""What can be asked of memory in this process. Before each answer it is brought up to the files."""

from collections.abc import Sequence
from dataclasses import replace

from assistant.memory.base import FACTS, Due, Held, JournalEntry, Located, Pair, Query, Recall
from assistant.memory.chart import Chart
from assistant.memory.local.charting import chart
from assistant.memory.local.checking import damage
from assistant.memory.local.parts import Parts
from assistant.memory.search.survey.near_pairs import near_pairs
from assistant.memory.state import MemoryStatus, ServerCollection


class Looking:
    """The questions of `Keeper`: none of them changes a file of the owner's."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts

    def recall(self, query: Query) -> Recall:
        if query.within not in ("", FACTS):
            return self.parts.library.recall(query)
        found, behind = self.parts.fresh.look(lambda: self.parts.recaller.recall(query))
        answer = self.parts.answers.recall(query, found)
        if behind:
            answer = replace(answer, behind=behind, notices=(*answer.notices, _lagging(behind)))
        if query.verbatim:
            own = tuple(map(self.parts.redaction.verbatim, answer.passages))
            answer = replace(answer, passages=own)
        return answer if query.within else self.parts.library.beside(query, answer)

    def locate(self, target: str) -> Located:
        self.parts.library.check_changeable(target)
        return self.parts.fresh.read(lambda: self.parts.locator.locate(target))

    def waiting(self) -> tuple[Held, ...]:
        return self.parts.review.waiting()

    def erased(self) -> tuple[JournalEntry, ...]:
        return self.parts.fresh.read(self.parts.ledger.erasures.all)

    def status(self) -> MemoryStatus:
        def look() -> MemoryStatus:
            told = [
                self.parts.embedder.notice,
                *self.parts.notices.all(),
                *self.parts.library.notices(),
                *damage(self.parts.ledger.commits.journal, self.parts.review),
            ]
            waiting = len(self.parts.review.waiting())
            notices = tuple(filter(None, told))
            return self.parts.answers.status(self.parts.embedder.fingerprint, waiting, notices)

        notes = self.parts.library.status()
        return replace(self.parts.fresh.read(look), notes=notes)

    def log(self, limit: int = 20) -> tuple[JournalEntry, ...]:
        return self.parts.ledger.log(limit)

    def pairs(self, limit: int = 200) -> tuple[Pair, ...]:
        catalog = self.parts.fresh.read(lambda: self.parts.index.store.catalog)
        near = near_pairs(catalog, limit, self.parts.progress)
        return tuple(self.parts.answers.pair(*each) for each in near)

    def due(self, first: str, last: str) -> tuple[Due, ...]:
        return self.parts.fresh.read(lambda: self.parts.diary.due(first, last))

    def chart(self) -> Chart:
        catalog = self.parts.fresh.read(lambda: self.parts.index.store.catalog)
        return chart(catalog, self.parts.answers.recorded)

    def collections(self) -> tuple[ServerCollection, ...]:
        return self.parts.collections.all()


def _lagging(behind: Sequence[str]) -> str:
    return f"{', '.join(behind)}: being indexed; this is from what memory held before"
