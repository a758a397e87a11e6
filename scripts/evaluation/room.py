"""A real memory in a temporary workspace, and what a turn of the chat recalls from it."""

import contextlib
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from pathlib import Path

from assistant.conversation import Conversation
from assistant.errors import UsageError
from assistant.events import Recalled
from assistant.memory.base import Query, Recall
from assistant.memory.embedding.embedder import Embedder
from assistant.memory.local import LocalMemory
from assistant.session import transcript
from assistant.settings.tree import Settings
from assistant.tools.toolbox import Toolbox
from assistant.workspace.folder import MEMORY_FILE, Workspace
from scripts.evaluation.baselines import Baseline
from tests.support.scripted import ScriptedModel

REPLY = "I see."


@dataclass(frozen=True, slots=True)
class Turn:
    """The text of all messages that a turn sent to the model, and the tokens of its recalled
    passages."""

    sent: str
    tokens: int


@dataclass(slots=True)
class Calendar:
    """The current day in a room; None for today."""

    day: date | None = None

    def today(self) -> date:
        """Return the day that memory assumes."""
        return self.day or date.today()

    def now(self) -> datetime:
        """Return nine o'clock of that day."""
        return datetime.combine(self.today(), time(9)).astimezone()


@dataclass(frozen=True, slots=True)
class Room:
    """A workspace with its memory."""

    place: Workspace
    memory: LocalMemory
    calendar: Calendar
    ranking: str = ""
    """The baseline to search with; empty for recall."""

    def recall(self, query: Query) -> Recall:
        """Return the results of this room's ranking."""
        return (Baseline(self.memory, self.ranking) if self.ranking else self.memory).recall(query)

    def turn(self, message: str, history: Sequence[str] = ()) -> Turn:
        """Run a turn of a conversation that begins with `history`, messages and replies
        alternating."""
        if self.ranking:
            found = self.recall(Query(message))
            return Turn("\n".join(each.text for each in found.passages), found.tokens)
        replies = [*history[1::2], REPLY]
        model = ScriptedModel(*replies)
        record = transcript.create(self.place.sessions)
        talk = Conversation(
            self.place, model, self.memory, Toolbox([]), record, clock=self.calendar.now
        )
        with contextlib.closing(record):
            for said in history[::2]:
                list(talk.send(said))
            events = list(talk.send(message))
        assert record.path is not None
        record.path.unlink()  # session IDs of the same second differ only in three letters
        tokens = sum(each.tokens for each in events if isinstance(each, Recalled))
        return Turn("\n".join(each.content for each in model.requests[-1].messages), tokens)


@contextlib.contextmanager
def opened(files: Mapping[str, str], embedder: Embedder) -> Iterator[Room]:
    """Yield a room with these files, indexed. Raises UsageError if there are none."""
    if not files:
        raise UsageError("there is nothing to remember")
    with tempfile.TemporaryDirectory(prefix="recall-") as name:
        place = Workspace(Path(name).resolve())
        for path, text in {MEMORY_FILE: "# Memory\n", **files}.items():
            file = place.root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8", newline="")
        calendar = Calendar()
        memory = LocalMemory(place, Settings(), embedder, today=calendar.today)
        with contextlib.closing(memory):
            memory.status()
            yield Room(place, memory, calendar)
