"""What can be asked of memory in this process. Before each answer it is brought up to the files."""

from collections.abc import Sequence
from dataclasses import replace

from assistant.memory.base import FACTS, Due, Held, JournalEntry, Located, Pair, Query, Recall
from assistant.memory.chart import Chart
from assistant.memory.local.charting import chart
from assistant.memory.local.checking import damage
from assistant.memory.local.core import Core
from assistant.memory.search.survey.diary import due
from assistant.memory.search.survey.near_pairs import near_pairs
from assistant.memory.state import MemoryStatus, ServerCollection


class Looking:
    """The questions of `Keeper`: none of them changes a file of the owner's."""

    def __init__(self, core: Core) -> None:
        self.core = core

    def recall(self, query: Query) -> Recall:
        if query.within not in ("", FACTS):
            return self.core.library.recall(query)
        found, behind = self.core.fresh.look(lambda: self.core.recaller.recall(query))
        answer = self.core.answers.recall(query, found)
        if behind:
            answer = replace(answer, behind=behind, notices=(*answer.notices, _lagging(behind)))
        if query.verbatim:
            own = tuple(map(self.core.redaction.verbatim, answer.passages))
            answer = replace(answer, passages=own)
        return answer if query.within else self.core.library.beside(query, answer)

    def locate(self, target: str) -> Located:
        self.core.library.check_changeable(target)
        return self.core.fresh.read(lambda: self.core.locator.locate(target))

    def waiting(self) -> tuple[Held, ...]:
        return self.core.review.waiting()

    def erased(self) -> tuple[JournalEntry, ...]:
        return self.core.fresh.read(self.core.ledger.erased)

    def status(self) -> MemoryStatus:
        def look() -> MemoryStatus:
            told = [
                self.core.embedder.notice,
                *self.core.notices.all(),
                *self.core.library.notices(),
                *damage(self.core.ledger.commits.journal, self.core.review),
            ]
            waiting = len(self.core.review.waiting())
            notices = tuple(filter(None, told))
            return self.core.answers.status(self.core.embedder.fingerprint, waiting, notices)

        notes = self.core.library.status()
        return replace(self.core.fresh.read(look), notes=notes)

    def log(self, limit: int = 20) -> tuple[JournalEntry, ...]:
        return self.core.ledger.log(limit)

    def pairs(self, limit: int = 200) -> tuple[Pair, ...]:
        catalog = self.core.fresh.read(lambda: self.core.index.store.catalog)
        near = near_pairs(catalog, limit, self.core.progress)
        return tuple(self.core.answers.pair(*each) for each in near)

    def due(self, first: str, last: str) -> tuple[Due, ...]:
        dated = self.core.answers.dated
        return self.core.fresh.read(lambda: due(self.core.index.store.catalog, dated, first, last))

    def chart(self) -> Chart:
        catalog = self.core.fresh.read(lambda: self.core.index.store.catalog)
        return chart(catalog, self.core.answers.recorded)

    def collections(self) -> tuple[ServerCollection, ...]:
        return self.core.collections.all()


def _lagging(behind: Sequence[str]) -> str:
    return f"{', '.join(behind)}: being indexed; this is from what memory held before"
