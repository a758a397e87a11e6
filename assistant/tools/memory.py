"""`recall`, `search_sessions`, `remember`: the model's own way into long-term memory."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Annotated

from pydantic import Field

from assistant.errors import ToolError
from assistant.memory.base import (
    SESSIONS,
    Existing,
    Fact,
    Held,
    JournalEntry,
    Origin,
    Passage,
    Query,
    Recall,
    Remembered,
)
from assistant.memory.protocol import Memory
from assistant.quoting import one_line, quoted
from assistant.tools.base import Danger, Tool, ToolResult
from assistant.tools.files.roots import Roots
from assistant.tools.rules import DENIED
from assistant.tools.schema import tool
from assistant.workspace.folder import MEMORY_FILE

HOLDS_SECRET = (
    "Nothing was written: the fact holds a secret, or a stand-in whose value is kept nowhere. "
    "Leave it out; or ask the owner to write it down with `/remember`, or to register it with "
    "`assistant secrets add NAME`, and then say [[secret:NAME]]"
)
OriginOf = Callable[[str], Origin]
"""Tells who is behind a fact that the model writes at this moment."""
Most = Annotated[int, Field(ge=1, le=50, description="The most passages to return.")]


def the_assistant(text: str) -> Origin:
    """The origin of a fact that rests on nothing but the model's word."""
    return Origin("assistant")


class VisibleMemory:
    """A memory less the files that the owner's rules deny to `recall`: no prompt holds them."""

    def __init__(self, memory: Memory, roots: Roots, without: Sequence[str] = ()) -> None:
        """Less the sources `without`, too."""
        self._memory = memory
        self._without = without
        self._roots = roots

    def recall(self, query: Query) -> Recall:
        """The best passages for a query from the other files."""
        hidden: list[str] = []
        if self._roots.rules.denied("recall"):
            sources = self._roots.workspace.sources()
            hidden = [source for source in sources if self._roots.denies("recall", source)]
        without = (*query.without, *self._without, *hidden)
        found = self._memory.recall(replace(query, without=without))
        if not self._roots.rules.denied("recall") or query.within == SESSIONS:
            return found
        kept = self._seen(found.passages)
        return replace(found, passages=kept, tokens=sum(passage.tokens for passage in kept))

    def core(self, tokens: int) -> tuple[Passage, ...]:
        """The facts of the other files that should shape any answer."""
        return self._seen(self._memory.core(tokens))

    def existing(self, texts: Sequence[str], k: int) -> Existing:
        """The facts nearest to each of these texts in the other files, also in those `without`."""
        found = self._memory.existing(texts, k)
        hidden = self._roots.denies("recall", MEMORY_FILE)
        return Existing(self._seen(found.passages), () if hidden else found.headings)

    def remember(
        self, facts: Sequence[Fact], *, request: str | None = None
    ) -> tuple[Remembered, ...]:
        """Write facts; of those that are similar to them, the ones in the other files are told."""
        written = self._memory.remember(facts, request=request)
        return tuple(replace(fact, similar=self._seen(fact.similar)) for fact in written)

    def waiting(self) -> tuple[Held, ...]:
        """The facts that wait for the owner's review."""
        return self._memory.waiting()

    def erased(self) -> tuple[JournalEntry, ...]:
        """The writes whose facts a stale save took away."""
        return self._memory.erased()

    def close(self) -> None:
        """Let go of the memory."""
        self._memory.close()

    def _seen(self, passages: Iterable[Passage]) -> tuple[Passage, ...]:
        denies = self._roots.denies
        return tuple(passage for passage in passages if not denies("recall", passage.source))


def memory_tools(
    memory: Memory | VisibleMemory, roots: Roots, *, origin_of: OriginOf = the_assistant
) -> list[Tool]:
    """`recall`, `search_sessions` and `remember` over this memory.

    `origin_of` tells who is behind a new fact. Nothing is written where the owner's rules deny it.
    """

    def recall(
        query: Annotated[str, Field(min_length=1, description="What to look for, in words.")],
        k: Most = 8,
    ) -> ToolResult:
        """Search long-term memory. Each passage comes with its file, line and date."""
        found = memory.recall(Query(query, k=k))
        text = "\n".join(filter(None, [_passages(found.passages), found.caveat]))
        return ToolResult(text, compact=f"recalled {len(found.passages)}")

    def search_sessions(
        query: Annotated[str, Field(min_length=1, description="What was talked about, in words.")],
        k: Most = 8,
    ) -> ToolResult:
        """Search past conversations with the owner. Each passage names its session, turn, date."""
        found = memory.recall(Query(query, k=k, within=SESSIONS))
        lines = [
            f"session {passage.source}, turn {passage.start_line} "
            f"({passage.date or 'undated'}): {quoted(passage.text)}"
            for passage in found.passages
        ] or ["No past conversation was about this."]
        compact = f"found {len(found.passages)}"
        return ToolResult("\n".join([*lines, *found.notices]), compact=compact)

    def remember(
        fact: Annotated[str, Field(min_length=1, description="One fact, a sentence of its own.")],
        replaces: Annotated[
            str, Field(description="The FILE:LINE or id of the fact that this one supersedes.")
        ] = "",
    ) -> ToolResult:
        """Write one lasting fact that the owner has stated to long-term memory."""
        for source in (MEMORY_FILE, replaces.rpartition(":")[0]):
            if roots.denies("remember", source):
                raise ToolError(DENIED)
        new = Fact(fact, replaces=replaces or None, origin=origin_of(fact), secrets="ask")
        (stored,) = memory.remember([new])
        if stored.status == "secret":
            raise ToolError(HOLDS_SECRET)
        where = f"{stored.source}:{stored.line}" if stored.source else ""
        return ToolResult(_stored(stored, where), compact=f"{stored.status} {where}".strip())

    return [
        *(tool(each, restores=False, stoppable=True) for each in (recall, search_sessions)),
        tool(remember, danger=Danger.MODERATE, writes=True, restores=False),
    ]


def _passages(passages: Sequence[Passage]) -> str:
    if not passages:
        return "Memory holds nothing on this."
    return "\n".join(
        f"{one_line(passage.citation)} ({passage.date or 'undated'}"
        f"{', superseded' if passage.status == 'superseded' else ''}): {quoted(passage.text)}"
        for passage in passages
    )


def _stored(stored: Remembered, where: str) -> str:
    match stored.status:
        case "exists":
            answer = f"Already there, at {where}; nothing was written."
        case "waiting":
            answer = "It waits for the owner's review and is not in memory yet."
        case _:
            answer = f"Stored at {where}."
    if not stored.similar:
        return answer
    listed = (f"- {one_line(each.citation)}: {quoted(each.text)}" for each in stored.similar)
    similar = "Similar facts; if this supersedes one, pass its FILE:LINE:"
    return "\n".join([answer, similar, *listed])
