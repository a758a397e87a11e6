"""Tools that turn to the owner: a question, what is due, a reminder, the skills they keep."""

from collections.abc import Callable
from typing import Annotated

from pydantic import Field

from assistant.errors import ToolError
from assistant.quoting import visible
from assistant.skills.base import Skill, Skills
from assistant.skills.loading import body, bundled
from assistant.tools.base import Danger, Plan, Question, Tool, ToolResult
from assistant.tools.schema import tool

ASK = "ask"
"""What the model calls it by."""
MOST_OPTIONS = 9
"""Options that can be chosen by one key."""


def asking_tool() -> Tool:
    """`ask`: the owner's answer is its result."""

    def ask(
        question: Annotated[str, Field(min_length=1, description="One question.")],
        options: Annotated[
            list[str], Field(max_length=MOST_OPTIONS, description="Answers to choose from, if any.")
        ] = [],  # noqa: B006  # the schema's default; nobody changes it
        several: Annotated[bool, Field(description="More than one may be chosen.")] = False,
    ) -> Plan:
        """Ask the owner what only they can tell and you cannot go on without; it waits."""
        offered = tuple(" ".join(visible(option).split()) for option in options)
        if not all(offered) or len(set(offered)) < len(offered):
            raise ToolError("each option must say something of its own")
        return Plan(_nobody, question=Question(visible(question).strip(), offered, several))

    return tool(ask, restores=False)


def _nobody() -> ToolResult:
    """A question is put by the loop, to the owner."""
    raise ToolError("nobody is here to be asked")


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


MOST_SKILLS = 8
"""Skills of one call."""


def skill_tools(skills: Skills) -> list[Tool]:
    """`load_skills` over these skills; no tool at all if there are none."""

    def load_skills(
        names: Annotated[
            list[str], Field(min_length=1, max_length=MOST_SKILLS, description="Names of skills.")
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
        return ToolResult("\n\n".join(map(_shown, found)), compact=loaded)

    return [tool(load_skills, restores=False)] if skills.skills else []


def _shown(skill: Skill) -> str:
    """A skill whole, with the files that it brings."""
    files = bundled(skill)
    beside = f"\n\nFiles of this skill: {', '.join(files)}" if files else ""
    return f"# Skill {skill.name} ({skill.path})\n\n{body(skill)}{beside}"
