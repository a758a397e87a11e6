"""`load_skills`: what the owner's skills say, fetched when a task calls for them."""

from typing import Annotated

from pydantic import Field

from assistant.errors import ToolError
from assistant.skills.base import Skill, Skills
from assistant.skills.loading import body, bundled
from assistant.tools.base import Tool, ToolResult
from assistant.tools.schema import tool

MOST = 8
"""Skills of one call."""


def skill_tools(skills: Skills) -> list[Tool]:
    """`load_skills` over these skills; no tool at all if there are none."""

    def load_skills(
        names: Annotated[
            list[str], Field(min_length=1, max_length=MOST, description="Names of skills.")
        ],
    ) -> ToolResult:
        """Read what one or more skills say. Their files are read and run with the other tools."""
        wanted = {name: skills.named(name) for name in dict.fromkeys(names)}
        unknown = [name for name, skill in wanted.items() if skill is None]
        if unknown:
            known = ", ".join(each.name for each in skills.skills)
            raise ToolError(f"there is no skill {', '.join(unknown)}; the skills are {known}")
        found = [skill for skill in wanted.values() if skill is not None]
        loaded = f"loaded {', '.join(each.name for each in found)}"
        return ToolResult("\n\n".join(map(shown, found)), compact=loaded)

    return [tool(load_skills, restores=False)] if skills.skills else []


def shown(skill: Skill) -> str:
    """A skill whole, with the files that it brings."""
    files = bundled(skill)
    beside = f"\n\nFiles of this skill: {', '.join(files)}" if files else ""
    return f"# Skill {skill.name} ({skill.path})\n\n{body(skill)}{beside}"
