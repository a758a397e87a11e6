"""Tools that involve the owner: questions and skills."""

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
"""Maximum number of options that can each be chosen with one key."""


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


MOST_SKILLS = 8
"""Maximum number of skills that one call loads."""


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
