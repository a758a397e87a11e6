"""The six tools as their server offers them: named, annotated, and patient with their callers."""

from collections.abc import Callable
from typing import Any

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.server.mcpserver.tools import Tool
from mcp_types import ToolAnnotations
from pydantic import ValidationError

from assistant.bridge.mcp.answers import Answers
from assistant.bridge.mcp.desk import Desk
from assistant.bridge.mcp.forgetting import forgetting
from assistant.bridge.mcp.schemas import bare
from assistant.bridge.mcp.spelling import understood
from assistant.errors import AssistantError

READS = ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
ADDS = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
REMOVES = ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False
)
"""Memory is no open world, and only `forget` takes anything away."""

UNCLEAR = "The owner's answer could not be understood, so nothing was done. Ask again."


def tools(desk: Desk) -> list[Tool]:
    """What may be called; nothing that writes, if the owner said so."""
    answers = Answers(desk)
    offered = [
        _tool(answers.recall, READS),
        _tool(answers.read, READS),
        _tool(answers.context, READS),
        _tool(answers.status, READS),
    ]
    if not desk.terms.read_only:
        offered += [_tool(answers.remember, ADDS), _tool(forgetting(desk), REMOVES)]
    return offered


class PatientTool(Tool):
    """A tool that understands other spellings, and says what was wrong in plain words."""

    async def run(
        self, arguments: dict[str, Any], context: Context[Any, Any], convert_result: bool = False
    ) -> Any:
        """What the tool answers. Raises ToolError that its caller can act on."""
        meant = understood(arguments, self.parameters["properties"])
        try:
            return await super().run(meant, context, convert_result)
        except UnexpectedToolError as error:
            if isinstance(error.__cause__, AssistantError):
                raise ToolError(str(error.__cause__)) from error.__cause__
            raise
        except ToolError as error:
            if isinstance(error.__cause__, ValidationError):
                raise ToolError(f"{self.name}: {_faults(error.__cause__)}") from None
            raise ToolError(UNCLEAR) from error


def _tool(work: Callable[..., Any], annotations: ToolAnnotations) -> Tool:
    made = PatientTool.from_function(work, annotations=annotations)
    bare(made.parameters)
    return made


def _faults(error: ValidationError) -> str:
    return "; ".join(
        f"{'.'.join(map(str, each['loc']))}: {each['msg']}"
        for each in error.errors(include_input=False)
    )
