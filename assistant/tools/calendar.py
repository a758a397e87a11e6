"""`agenda` and `remind`: what is due, and what the owner is to be told at a time."""

from collections.abc import Callable
from typing import Annotated

from pydantic import Field

from assistant.tools.base import Danger, Tool, ToolResult
from assistant.tools.schema import tool


def agenda_tool(due: Callable[[int], str], days: int) -> Tool:
    """`agenda`; `due` lists what is due within a number of days, `days` if none is named."""
    ahead = days

    def agenda(
        days: Annotated[int, Field(ge=0, le=366, description="How far to look ahead.")] = ahead,
    ) -> ToolResult:
        """List what is due: appointments, birthdays, deadlines, each day that memory speaks of."""
        return ToolResult(due(days))

    return tool(agenda, danger=Danger.SAFE)


def reminding_tool(write: Callable[[str, str], str]) -> Tool:
    """`remind`; `write` is given when and what, and answers what the owner should know of it."""

    def remind(
        when: Annotated[
            str,
            Field(
                min_length=1,
                description="In words: in 20 minutes, tomorrow at 9, on 2026-11-27 at 18:40, "
                "every Friday at 9.",
            ),
        ],
        what: Annotated[str, Field(min_length=1, description="What the owner is told then.")],
    ) -> ToolResult:
        """Remind the owner: `what` is told to them at that time, as it stands."""
        said = write(when, what)
        return ToolResult(said, compact=said)

    return tool(remind, danger=Danger.MODERATE, writes=True, restores=False)
