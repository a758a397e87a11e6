"""`recall` and `remember`: the model's own way into long-term memory."""

from collections.abc import Callable
from typing import Annotated

from pydantic import Field

from assistant.memory.base import Fact, Origin, Query, Recall, Remembered
from assistant.memory.protocol import Memory
from assistant.quoting import one_line, quoted
from assistant.tools.base import Danger, Tool, ToolResult
from assistant.tools.schema import tool

OriginOf = Callable[[str], Origin]
"""Tells who is behind a fact that the model writes at this moment."""


def the_assistant(text: str) -> Origin:
    """The origin of a fact that rests on nothing but the model's word."""
    return Origin("assistant")


def memory_tools(memory: Memory, *, origin_of: OriginOf = the_assistant) -> list[Tool]:
    """`recall` and `remember` over this memory; `origin_of` tells who is behind a new fact."""

    def recall(
        query: Annotated[str, Field(min_length=1, description="What to look for, in words.")],
        k: Annotated[int, Field(ge=1, le=50, description="The most passages to return.")] = 8,
    ) -> ToolResult:
        """Search long-term memory. Each passage comes with its file, line and date."""
        found = memory.recall(Query(query, k=k))
        return ToolResult(_passages(found), compact=f"recalled {len(found.passages)}")

    def remember(
        fact: Annotated[str, Field(min_length=1, description="One fact, a sentence of its own.")],
        replaces: Annotated[
            str, Field(description="The FILE:LINE or id of the fact that this one supersedes.")
        ] = "",
    ) -> ToolResult:
        """Write one lasting fact to long-term memory, when the owner wants it kept."""
        new = Fact(fact, replaces=replaces or None, origin=origin_of(fact))
        (stored,) = memory.remember([new])
        return ToolResult(_stored(stored), compact=f"{stored.status} {_place(stored)}".strip())

    return [
        tool(recall, restores=False),
        tool(remember, danger=Danger.MODERATE, writes=True, restores=False),
    ]


def _passages(found: Recall) -> str:
    if not found.passages:
        return "Memory holds nothing on this."
    return "\n".join(
        f"{one_line(each.citation)} ({each.date or 'undated'}{_mark(each.status)}): "
        f"{quoted(each.text)}"
        for each in found.passages
    )


def _mark(status: str) -> str:
    return ", superseded" if status == "superseded" else ""


def _stored(stored: Remembered) -> str:
    match stored.status:
        case "exists":
            answer = f"Already there, at {_place(stored)}; nothing was written."
        case "waiting":
            answer = "It waits for the owner's review and is not in memory yet."
        case _:
            answer = f"Stored at {_place(stored)}."
    similar = [f"- {one_line(each.citation)}: {quoted(each.text)}" for each in stored.similar]
    if not similar:
        return answer
    listed = "\n".join(similar)
    return f"{answer}\nSimilar facts; if this supersedes one, pass its FILE:LINE:\n{listed}"


def _place(stored: Remembered) -> str:
    return f"{stored.source}:{stored.line}" if stored.source else ""
