"""What can be recalled beside the memory files: past conversations.

Each is a corpus with an index of its own, which is opened when it is first asked.
"""

import threading
from collections.abc import Callable
from dataclasses import replace

from assistant.disk import storage
from assistant.memory.base import Passage, Progress, Query, Recall, no_progress
from assistant.memory.corpora import conversations
from assistant.memory.corpora.collection import Collection
from assistant.memory.corpora.conversations import Conversations
from assistant.memory.embedding.embedder import Embedder
from assistant.secrets.redactor import Redactor
from assistant.settings import Settings
from assistant.workspace.folder import Workspace


class Library:
    """The corpora of a workspace. Safe to use from several threads."""

    def __init__(
        self,
        workspace: Workspace,
        settings: Settings,
        embedder: Embedder,
        redactor: Callable[[], Redactor] = Redactor,
        progress: Progress = no_progress,
    ) -> None:
        self._workspace = workspace
        self._settings = settings
        self._embedder = embedder
        self._redactor = redactor
        self._progress = progress
        self._opening = threading.Lock()
        self._sessions: Collection | None = None

    def recall(self, query: Query) -> Recall:
        """The best passages of the corpus that a query is for."""
        collection = self._conversations()
        found = collection.recall(replace(query, own=None, within=""))
        passages = tuple(map(self._of_session, found))
        tokens = sum(each.tokens for each in passages)
        unread = (f"{collection.left:,} conversations are still being read",)
        return Recall(query.text, tokens, passages, notices=unread if collection.left else ())

    def scrub(self) -> None:
        """Leave no byte in an index of what the conversations no longer hold."""
        if self._sessions is not None or Conversations(self._workspace).index.exists():
            self._conversations().scrub()

    def close(self) -> None:
        """Let go of all indexes."""
        with self._opening:
            if self._sessions is not None:
                self._sessions.close()

    def _conversations(self) -> Collection:
        with self._opening:
            if self._sessions is None:
                self._sessions = Collection(
                    "conversations",
                    Conversations(self._workspace),
                    conversations.text,
                    self._embedder,
                    self._settings,
                    self._redactor,
                    self._progress,
                )
            return self._sessions

    def _of_session(self, passage: Passage) -> Passage:
        """A passage as it is cited: by the session and the turn."""
        path = self._workspace.sessions / passage.source
        try:
            return conversations.cited(passage, conversations.read(storage.read(path)))
        except FileNotFoundError:  # deleted this very moment
            return passage
