"""Tools that involve the owner: questions, the agenda, reminders and skills."""

from collections.abc import Callable
from typing import Annotated

from pydantic import Field

from assistant.errors import ToolError
from assistant.events import QuestionAsked
from assistant.quoting import visible
from assistant.skills.loading import Skill, Skills, whole
from assistant.tools.base import Plan, Tool, ToolResult, tool

ASK = "ask"
"""The tool's name."""
MOST_OPTIONS = 9
"""The most options that can each be chosen with one key."""


def asking_tool() -> Tool:
    """Return `ask`, whose result is the owner's answer."""

    def ask(
        question: Annotated[str, Field(min_length=1, description="One question.")],
        options: Annotated[
            list[str], Field(max_length=MOST_OPTIONS, description="Answers to choose from, if any.")
        ] = [],  # noqa: B006  # the schema's default; never mutated
        several: Annotated[bool, Field(description="More than one may be chosen.")] = False,
    ) -> Plan:
        """Ask the owner what only they can tell and you cannot go on without; it waits."""
        offered = tuple(" ".join(visible(option).split()) for option in options)
        if not all(offered) or len(set(offered)) < len(offered):
            raise ToolError("the options must be different, and none empty")
        return Plan(question=QuestionAsked("", visible(question).strip(), offered, several))

    return tool(ask, restores=False)


def agenda_tool(due: Callable[[int], str], days: int) -> Tool:
    """Return `agenda`; `due` lists what is due within a number of days, by default `days`."""
    ahead = days

    def agenda(
        days: Annotated[int, Field(ge=0, le=366, description="How far to look ahead.")] = ahead,
    ) -> ToolResult:
        """List what is due: appointments, birthdays, deadlines, each day that memory speaks of."""
        return ToolResult(due(days))

    return tool(agenda)


def reminding_tool(write: Callable[[str, str], str]) -> Tool:
    """Return `remind`; `write` takes the time and the text, and returns a message for the owner."""

    def remind(
        when: Annotated[
            str,
            Field(
                min_length=1,
                description="In words: in 20 minutes, tomorrow at 9, on 2026-11-27 at 18:40, "
                "every Friday at 9.",
            ),
        ],
        what: Annotated[str, Field(min_length=1, description="What to tell the owner then.")],
    ) -> ToolResult:
        """Remind the owner: `what` is told to them at that time, as it stands."""
        message = write(when, what)
        return ToolResult(message, compact=message)

    return tool(remind, writes=True, restores=False)


MOST_SKILLS = 8
"""The most skills that one call loads."""


def skill_tools(skills: Skills) -> list[Tool]:
    """Return `load_skills` over these skills, or no tool if there are none."""

    def load_skills(
        names: Annotated[
            list[str], Field(min_length=1, max_length=MOST_SKILLS, description="Names of skills.")
        ],
    ) -> ToolResult:
        """Read what one or more skills say. Their files are read and run with the other tools."""
        requested = {name: skills.named(name) for name in dict.fromkeys(names)}
        unknown = [name for name, skill in requested.items() if skill is None]
        if unknown:
            available = ", ".join(skill.name for skill in skills.skills)
            raise ToolError(f"there is no skill {', '.join(unknown)}; the skills are {available}")
        matches = [skill for skill in requested.values() if skill is not None]
        loaded = f"loaded {', '.join(skill.name for skill in matches)}"
        return ToolResult("\n\n".join(map(_rendered, matches)), compact=loaded)

    return [tool(load_skills, restores=False)] if skills.skills else []


def _rendered(skill: Skill) -> str:
    return f"# Skill {skill.name} ({skill.path})\n\n{whole(skill)}"
