"""What a skill is: a folder with a SKILL.md, one line of the prompt until it is needed."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from assistant.skills.triggers import Trigger

SKILL_FILE = "SKILL.md"
MOST_TRIGGERED = 3
"""Skills that one message brings in by itself."""
HOW = """\
Skills are procedures that the owner keeps for certain tasks. When a task calls for one, fetch it \
with `load_skills` before you begin, several at once if several fit, and do as it says."""


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with a skill, on which line, and what cures it. Unless `fatal` it is used."""

    path: str
    line: int
    message: str
    cure: str
    fatal: bool = True

    @property
    def notice(self) -> str:
        """It, in one line."""
        verdict = "is not used: " if self.fatal else ""
        where = f"{self.path}:{self.line}" if self.line else self.path
        return f"{where} {verdict}{self.message}. {self.cure}"


@dataclass(frozen=True, slots=True)
class Skill:
    """A skill that can be used. `path` leads to its SKILL.md as tools take it, in POSIX form."""

    name: str
    description: str
    path: str
    file: Path
    triggers: tuple[Trigger, ...] = ()

    @property
    def line(self) -> str:
        """What the prompt says of it until it is loaded."""
        return f"- {self.name}: {self.description} ({self.path})"

    def trigger(self, message: str) -> str | None:
        """The first of its triggers that a message holds, as it was written."""
        return next((each.text for each in self.triggers if each.matches(message)), None)


@dataclass(frozen=True, slots=True)
class Skills:
    """The skills there are, by name; the names of those switched off; what is wrong with others."""

    skills: tuple[Skill, ...] = ()
    faults: tuple[Fault, ...] = ()
    disabled: tuple[str, ...] = ()

    @property
    def index(self) -> str:
        """The prompt's section: how to use skills, and a line for each; empty without any."""
        return "\n".join([HOW, *(each.line for each in self.skills)]) if self.skills else ""

    @property
    def notices(self) -> tuple[str, ...]:
        """A line for each fault."""
        return tuple(each.notice for each in self.faults)

    def named(self, name: str) -> Skill | None:
        """The skill of a name, in capitals or not."""
        wanted = name.strip().casefold()
        return next((each for each in self.skills if each.name.casefold() == wanted), None)

    def triggered(self, message: str) -> Iterator[tuple[Skill, str]]:
        """The skills that a message calls for by itself, each with the trigger that matched."""
        found = ((each, each.trigger(message)) for each in self.skills)
        matched = [(skill, trigger) for skill, trigger in found if trigger is not None]
        yield from matched[:MOST_TRIGGERED]
