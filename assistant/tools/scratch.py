"""`note` and `plan`: the session's notes and tasks that the model always sees.

A resumed session replays the calls in its transcript, so they are stored nowhere else.
"""

from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from assistant.errors import ToolError
from assistant.messages import ToolCall
from assistant.tools.base import Tool, ToolResult, tool

NOTES_LIMIT = 8_000
"""Maximum characters of working memory, which every request carries."""
MARKS = {"todo": "[ ]", "doing": "[>]", "done": "[x]"}


class Task(BaseModel):
    """One step of a plan."""

    model_config = ConfigDict(extra="forbid")

    text: str
    status: Literal["todo", "doing", "done"] = "todo"


class Scratch:
    """A session's working memory, notes and a task list, which survives compaction."""

    def __init__(self) -> None:
        self.notes = ""
        self.tasks: list[Task] = []

    def render(self) -> str:
        """Render both for the model's prompt; empty if there is nothing."""
        parts = [self.notes.strip(), self.render_plan()]
        return "\n\n".join(part for part in parts if part)

    def render_plan(self) -> str:
        """Render the task list, one line per task."""
        return "\n".join(f"{MARKS[task.status]} {task.text}" for task in self.tasks)

    def replay(self, calls: Iterable[ToolCall]) -> None:
        """Restore the state left by these successful calls, in order; other tools are ignored."""
        self.notes, self.tasks = "", []
        tools = {candidate.name: candidate for candidate in scratch_tools(self)}
        for call in calls:
            if call.name in tools:
                tools[call.name].plan(call.arguments).run()


def scratch_tools(scratch: Scratch) -> list[Tool]:
    """Return `note` and `plan` over a session's working memory."""

    def note(
        text: Annotated[str, Field(description="What to keep in view.")],
        replace: Annotated[bool, Field(description="Replace all notes with it.")] = False,
    ) -> ToolResult:
        """Add to this session's notes, which stay in view however long the session gets."""
        notes = text if replace or not scratch.notes else f"{scratch.notes}\n{text}"
        if len(notes) > NOTES_LIMIT:
            raise ToolError(
                f"the notes would have {len(notes):,} characters; the most is {NOTES_LIMIT:,}",
                "Shorten them with replace=true",
            )
        scratch.notes = notes
        return ToolResult("Noted.", compact=f"{len(notes)} characters of notes")

    def plan(
        tasks: Annotated[list[Task], Field(description="The whole list, in order.")],
    ) -> ToolResult:
        """Set the task list of this session, which the owner sees; it replaces the one before."""
        scratch.tasks = tasks
        finished = sum(task.status == "done" for task in tasks)
        return ToolResult(
            scratch.render_plan() or "(no tasks)", compact=f"{finished}/{len(tasks)} done"
        )

    return [tool(note, restores=False), tool(plan, restores=False)]
