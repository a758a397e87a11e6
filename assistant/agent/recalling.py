"""Memory in a turn: what bears on the message, written down before it is shown."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from assistant.agent.answering import notice
from assistant.agent.prompt.query import recalled
from assistant.errors import MemoryFailure
from assistant.events import Event, Recalled
from assistant.memory.base import Passage, Recall
from assistant.memory.protocol import Memory
from assistant.session.entries import CitedPassage, RecalledEntry
from assistant.session.transcript import Transcript
from assistant.workspace.folder import Workspace


@dataclass
class Recalling:
    """Asks memory for a conversation; `found` is what the running turn has of it, None without."""

    memory: Memory
    workspace: Workspace
    transcript: Transcript
    redact: Callable[[str], str]
    trusted: bool
    carried: bool = True
    found: Recall | None = None

    def turn(self, text: str) -> Iterator[Event]:
        """Ask what bears on the turn's message; a failure is told, and the turn goes on."""
        self.found = None
        if not self.trusted:
            yield notice(
                self.transcript, "This workspace is not trusted yet: run `assistant trust`"
            )
            return
        try:
            found = self.found = self._ask(text)
        except MemoryFailure as error:
            yield notice(self.transcript, f"Memory could not be asked: {error}")
            return
        passages = tuple(map(self._cited, found.passages))
        self.transcript.append(RecalledEntry(passages, found.tokens, found.abstained))
        yield Recalled(tuple(each.citation for each in passages), found.tokens, found.abstained)

    def preview(self, text: str) -> Recall:
        """What a turn with this message would be given; nothing is kept."""
        return self._ask(text) if self.trusted and text else Recall(text, 0, ())

    def _cited(self, passage: Passage) -> CitedPassage:
        return CitedPassage(
            passage.id,
            passage.citation,
            self.redact(passage.text),
            passage.date,
            " › ".join(passage.heading),
            {name: round(share, 3) for name, share in passage.signals.items()},
        )

    def _ask(self, text: str) -> Recall:
        return recalled(
            self.memory, self.workspace, self.transcript.entries, text, carried=self.carried
        )
