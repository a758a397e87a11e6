"""`delegate`: two or more subtasks at once, each by a conversation of its own."""

from collections.abc import Generator
from typing import Annotated

from pydantic import Field

from assistant.conversation import Conversation
from assistant.delegation.team import Limits, Team
from assistant.errors import ToolError
from assistant.events import Event
from assistant.tools.base import Danger, Plan, Tool, ToolResult
from assistant.tools.schema import tool

MOST = 8
"""Subtasks of one call."""


DEFAULT = Limits()


def delegating_tool(lead: Conversation, limits: Limits = DEFAULT) -> Tool:
    """`delegate` for the conversation that leads."""

    def delegate(
        tasks: Annotated[
            list[str],
            Field(min_length=2, max_length=MOST, description="Each whole: it knows nothing else."),
        ],
    ) -> Plan:
        """Have independent subtasks done at the same time, by helpers with your tools."""
        if not all(each.strip() for each in tasks) or len(set(tasks)) < len(tasks):
            raise ToolError("each subtask must say something of its own")

        def work(call_id: str) -> Generator[Event, None, ToolResult]:
            return Team(lead, limits, call_id, tasks).work()

        return Plan(_alone, Danger.MODERATE, tuple(tasks), work=work)

    return tool(delegate, restores=False)


def _alone() -> ToolResult:
    """Subtasks are run by the loop, which shows what they do."""
    raise ToolError("subtasks can only be run in a turn")
