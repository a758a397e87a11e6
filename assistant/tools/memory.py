"""`recall`, `search_sessions`, `remember`: the model's access to long-term memory."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Annotated

from pydantic import Field

from assistant.errors import ToolError
from assistant.memory.base import (
    SESSIONS,
    Existing,
    Fact,
    Memory,
    Origin,
    Passage,
    Query,
    Recall,
    Remembered,
)
from assistant.quoting import one_line, quoted
from assistant.tools.base import Tool, ToolResult, tool
from assistant.tools.files.access import Roots
from assistant.tools.policy import DENIED
from assistant.workspace.folder import MEMORY_FILE

HOLDS_SECRET = (
    "Nothing was written: the fact holds a secret, or a stand-in whose value is kept nowhere. "
    "Leave it out; or ask the owner to write it down with `/remember`, or to register it with "
    "`assistant secrets add NAME`, and then say [[secret:NAME]]"
)
OriginOf = Callable[[str], Origin]
"""Returns the origin of a fact that the model is about to write."""
Most = Annotated[int, Field(ge=1, le=50, description="The most passages to return.")]


class VisibleMemory:
    """A memory without the files that the owner's rules deny to `recall`."""

    def __init__(self, memory: Memory, roots: Roots, without: Sequence[str] = ()) -> None:
        """`without` names further sources to leave out."""
        self._memory = memory
        self._without = without
        self._roots = roots

    def recall(self, query: Query) -> Recall:
        """Return the best passages for a query from the visible files."""
        rules = self._roots.rules
        hidden = [SESSIONS] if rules.switched_off("search_sessions") else []
        if rules.denied("recall"):
            sources = self._roots.workspace.sources()
            hidden += [source for source in sources if self._roots.denies("recall", source)]
        without = (*query.without, *self._without, *hidden)
        result = self._memory.recall(replace(query, without=without))
        if not rules.denied("recall") or query.within == SESSIONS:
            return result
        visible = self._visible(result.passages)
        return replace(result, passages=visible)

    def core(self, tokens: int) -> tuple[Passage, ...]:
        """Return the facts from visible files that are relevant to any answer."""
        return self._visible(self._memory.core(tokens))

    def existing(self, texts: Sequence[str], k: int) -> Existing:
        """Return the facts nearest to each text in the visible files, including those in
        `without`."""
        result = self._memory.existing(texts, k)
        hidden = self._roots.denies("recall", MEMORY_FILE)
        return Existing(self._visible(result.passages), () if hidden else result.headings)

    def remember(
        self, facts: Sequence[Fact], *, request: str | None = None
    ) -> tuple[Remembered, ...]:
        """Write facts, and report similar facts in visible files."""
        written = self._memory.remember(facts, request=request)
        return tuple(replace(fact, similar=self._visible(fact.similar)) for fact in written)

    def _visible(self, passages: Iterable[Passage]) -> tuple[Passage, ...]:
        denies = self._roots.denies
        return tuple(passage for passage in passages if not denies("recall", passage.source))


def memory_tools(
    memory: Memory, roots: Roots, *, origin_of: OriginOf = lambda _: Origin("assistant")
) -> list[Tool]:
    """Return `recall`, `search_sessions` and `remember` for this memory.

    `origin_of` returns the origin of a new fact. Nothing is written to files that the owner's rules
    deny.
    """

    def recall(
        query: Annotated[str, Field(min_length=1, description="What to look for, in words.")],
        k: Most = 8,
        past: Annotated[bool, Field(description="Include what is no longer so.")] = False,
    ) -> ToolResult:
        """Search long-term memory. Each passage comes with its file, line and date."""
        result = memory.recall(Query(query, k=k, include_superseded=past))
        text = "\n".join(filter(None, [_render_passages(result.passages), result.caveat]))
        return ToolResult(text, compact=f"recalled {len(result.passages)}")

    def search_sessions(
        query: Annotated[str, Field(min_length=1, description="What was talked about, in words.")],
        k: Most = 8,
    ) -> ToolResult:
        """Search past conversations with the owner. Each passage names its session, turn, date."""
        result = memory.recall(Query(query, k=k, within=SESSIONS))
        lines = [
            f"session {passage.source}, turn {passage.start_line} "
            f"({passage.date or 'undated'}): {quoted(passage.text)}"
            for passage in result.passages
        ] or ["No past conversation mentions this."]
        compact = f"found {len(result.passages)}"
        return ToolResult("\n".join([*lines, *result.notices]), compact=compact)

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
        location = f"{stored.source}:{stored.line}" if stored.source else ""
        return ToolResult(
            _describe_stored(stored, location), compact=f"{stored.status} {location}".strip()
        )

    return [
        *(tool(function, restores=False, stoppable=True) for function in (recall, search_sessions)),
        tool(remember, writes=True, restores=False),
    ]


def _render_passages(passages: Sequence[Passage]) -> str:
    if not passages:
        return "Memory holds nothing on this."
    return "\n".join(
        f"{one_line(passage.citation)} ({passage.date or 'undated'}"
        f"{', superseded' if passage.status == 'superseded' else ''}): {quoted(passage.shown)}"
        for passage in passages
    )


def _describe_stored(stored: Remembered, location: str) -> str:
    match stored.status:
        case "exists":
            answer = f"Already stored at {location}; nothing was written."
        case "waiting":
            answer = "It waits for the owner's review and is not in memory yet."
        case _:
            answer = f"Stored at {location}."
    if not stored.similar:
        return answer
    listed = (f"- {one_line(fact.citation)}: {quoted(fact.shown)}" for fact in stored.similar)
    similar = "Similar facts; if this supersedes one, pass its FILE:LINE:"
    return "\n".join([answer, similar, *listed])
