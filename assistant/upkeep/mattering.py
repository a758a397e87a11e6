"""Has a model say when old facts matter, for `memory tidy --with-model`.

Facts from chats are marked when they are written. The others are sent in batches, within the token
limit of a run, and all answers are one write. An answer becomes a comment of plain words that is
never shown, so a hostile one does no harm.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from assistant.errors import ModelError
from assistant.memory.annotations import matters_for, phrases
from assistant.memory.base import Keeper, Mark, Passage
from assistant.memory.text.chunk import chunks_of, passage
from assistant.memory.text.masking import masked
from assistant.messages import estimate_tokens
from assistant.model.base import ChatModel
from assistant.quoting import quoted
from assistant.secrets.redactor import Redactor
from assistant.upkeep.tidy import PROMPTS, ask, is_fact
from assistant.workspace.folder import ARCHIVE, Workspace

BATCH = 40
"""Number of facts in one request."""
MOST_TOKENS = 50_000
"""Maximum tokens of a run, enough for some thousand facts; the others are left for another day."""


@dataclass(frozen=True, slots=True)
class Marked:
    """The number of facts marked, `asked` about and `left` for another run, the tokens used, and
    the reason for stopping early."""

    marked: int = 0
    asked: int = 0
    left: int = 0
    tokens: int = 0
    failed: str = ""


def unmarked(
    workspace: Workspace, redactor: Redactor, hidden: Callable[[str], bool], day: date
) -> list[Passage]:
    """Return the current facts that do not say when they matter, in an order that changes daily, so
    that the next run may start with those that this one has no tokens for."""
    passages = []
    for source in workspace.sources():
        if source.startswith(ARCHIVE) or hidden(source):
            continue
        text = workspace.text(source)
        for chunk in masked(chunks_of(text, source), text, redactor):
            one = passage(chunk)
            if is_fact(one) and one.status == "current" and not matters_for(one.text, one.plain):
                passages.append(one)
    random.Random(day.toordinal()).shuffle(passages)
    return passages


def mark(
    memory: Keeper, model: ChatModel, facts: Sequence[Passage], most: int = MOST_TOKENS
) -> Marked:
    """Have the model say when facts matter, and write that down.

    Raises ModelError if the first request fails, LedgerError.
    """
    marks: list[Mark] = []
    asked = tokens = 0
    failed = ""
    for start in range(0, len(facts), BATCH):
        batch = facts[start : start + BATCH]
        lines = [f"{number}. {quoted(fact.plain)}" for number, fact in enumerate(batch, start=1)]
        if tokens + estimate_tokens("\n".join([PROMPTS["matters"], *lines])) > most:
            break
        try:
            rows, cost = ask(model, "matters", lines, "facts")
        except ModelError as error:
            if not asked:
                raise
            failed = error.message
            break
        marks += _marks(rows, batch)
        asked += len(batch)
        tokens += cost
    changed = memory.mark(marks) if marks else 0
    return Marked(changed, asked, len(facts) - asked, tokens, failed)


def _marks(rows: Sequence[Any], facts: Sequence[Passage]) -> Iterator[Mark]:
    for row in rows:
        match row:
            case {"fact": int(number), "for": list(said)} if 0 < number <= len(facts):
                found = phrases(text for text in said if isinstance(text, str))
                if found:
                    yield Mark(facts[number - 1], matters_for=found)
