"""`ask`: a question of the model's to the owner, in the middle of a turn."""

from typing import Annotated

from pydantic import Field

from assistant.errors import ToolError
from assistant.quoting import visible
from assistant.tools.base import Plan, Question, Tool, ToolResult
from assistant.tools.schema import tool

ASK = "ask"
"""What the model calls it by."""
MOST = 9
"""Options that can be chosen by one key."""


def asking_tool() -> Tool:
    """`ask`: the owner's answer is its result."""

    def ask(
        question: Annotated[str, Field(min_length=1, description="One question.")],
        options: Annotated[
            list[str], Field(max_length=MOST, description="Answers to choose from, if any.")
        ] = [],  # noqa: B006  # the schema's default; nobody changes it
        several: Annotated[bool, Field(description="More than one may be chosen.")] = False,
    ) -> Plan:
        """Ask the owner what only they can tell and you cannot go on without; it waits."""
        offered = tuple(" ".join(visible(each).split()) for each in options)
        if not all(offered) or len(set(offered)) < len(offered):
            raise ToolError("each option must say something of its own")
        return Plan(_nobody, question=Question(visible(question).strip(), offered, several))

    return tool(ask, restores=False)


def _nobody() -> ToolResult:
    """A question is put by the loop, to the owner."""
    raise ToolError("nobody is here to be asked")
