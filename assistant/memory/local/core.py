"""What memory in this process is made of, and how that is joined."""

from collections.abc import Callable, Mapping
from datetime import date

from assistant import config
from assistant.disk import ownership
from assistant.errors import AssistantError
from assistant.memory.base import (
    Notify,
    Progress,
    no_notices,
    no_progress,
)
from assistant.memory.corpora.library import Library
from assistant.memory.embedding.embedder import Embedder
from assistant.memory.index.corpus import unsaid
from assistant.memory.index.database import CatalogDamaged
from assistant.memory.index.refresh import Synchronizer
from assistant.memory.local.answers import Answers
from assistant.memory.local.collections import Collections
from assistant.memory.local.freshness import Freshness, Notices
from assistant.memory.local.redaction import Redaction
from assistant.memory.search.locating import Locator
from assistant.memory.search.recall import Recaller
from assistant.memory.writing.draft import State
from assistant.memory.writing.ledger import Ledger
from assistant.memory.writing.purge import Purge
from assistant.memory.writing.review import Review
from assistant.secrets.redactor import Redactor
from assistant.settings.tree import Settings
from assistant.workspace.folder import Workspace


class Core:
    """What one memory is made of. `progress` and `notify` tell its owner what happens."""

    def __init__(
        self,
        workspace: Workspace,
        settings: Settings,
        embedder: Embedder,
        progress: Progress = no_progress,
        notify: Notify = no_notices,
        today: Callable[[], date] = date.today,
        redactor: Callable[[], Redactor] = Redactor,
        *,
        resident: bool = False,
    ) -> None:
        """`resident`: it stays, so that nobody need wait until a large file is indexed."""
        self.embedder = embedder
        self.progress = progress
        self.notices = Notices(notify)
        self.redaction = Redaction(workspace, redactor)
        self.ledger = Ledger(workspace, today, self.redaction.text, self._wait_for, self._unsaid)
        self.review = Review(workspace, self.ledger)
        self.index = Synchronizer(
            workspace,
            embedder,
            settings.index,
            self._observe,
            redactor,
            aside=resident,
            diary=True,
        )
        self.library = Library(workspace, settings, embedder, redactor, progress)
        self.purge = Purge(self.ledger, self.review, self._scrub)
        self._places = (workspace.private, config.cache_dir(), config.state_dir())
        self.fresh = Freshness(self.index, self.notices, progress, self._finish, self._give_back)
        self.recaller = Recaller(self.index.store, embedder, settings.memory)
        self.locator = Locator(self.index.store, self.recaller)
        self.collections = Collections(self.index.store)
        self.answers = Answers(self.index.store, self.ledger, self.locator)

    def close(self) -> None:
        """Let go of the indexes."""
        self.library.close()
        self.index.close()
        self._give_back()

    def _give_back(self) -> None:
        """Leave nothing that belongs to root, if root works in another's workspace."""
        for place in self._places:
            ownership.give_to_owner(place)

    def _wait_for(self, what: str) -> None:
        self.progress(what, 0, 0)

    def _unsaid(self, fact: str) -> Mapping[str, State]:
        """The states of files that certainly do not state a fact.

        Of a long one, or one with a secret, the index may have other words than the file.
        """
        long = 2 * self.embedder.count_tokens(fact) > self.embedder.max_tokens
        if long or self.redaction.text(fact) != fact:
            return {}
        try:
            return unsaid(self.index.store.catalog, fact)
        except CatalogDamaged:
            return {}

    def _finish(self) -> None:
        """Finish the purges that a dead owner had begun; recall goes on if that fails."""
        try:
            self.purge.finish()
        except AssistantError as error:
            self.notices.add(f"A purge is not finished: {error}")

    def _scrub(self) -> None:
        """Leave no byte of what the files no longer hold in any index."""
        try:
            self.index.scrub()
        except CatalogDamaged:
            self.index.recover()
            self.index.scrub()
        self.library.scrub()

    def _observe(self, source: str, text: str, sha256: str) -> None:
        """See whether a stale save took facts away; recall goes on if that fails."""
        try:
            self.ledger.observe(source, text, sha256)
        except AssistantError as error:
            self.notices.add(str(error))
