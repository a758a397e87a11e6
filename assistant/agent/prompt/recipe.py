"""The recipe: which sections the prompt's prefix has, in which order, from which files.

`[context]` may list others; each is a part known here, changed or not, or one of the owner's own.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from difflib import get_close_matches

from assistant.agent.prompt.rules import BEHAVIOUR, GUARDRAILS, SENSITIVE
from assistant.errors import ConfigError
from assistant.settings.prompt import ContextSettings, SectionSettings
from assistant.workspace.folder import PROCEDURES_FILE

REST = "*"
"""In a list of sections: all that are known and not named in it."""
BOOTSTRAP = "BOOTSTRAP.md"
BOOTSTRAP_FRAMING = """\
This stands here once, at the beginning of your first conversation: do now what it asks."""


@dataclass(frozen=True, slots=True)
class Part:
    """A section of the recipe. The first of its `files` that is there stands in for `text`.

    Several files given by the owner all stand in it. `budget` is in tokens; 0 is none of its own.
    """

    name: str
    title: str
    files: tuple[str, ...] = ()
    text: str = ""
    framing: str = ""
    budget: int = 0


KNOWN = (
    Part("identity", "Your Identity", ("IDENTITY.md",), "You are the owner's personal assistant."),
    Part("guardrails", "Core Guardrails", ("SOUL.md",), framing=GUARDRAILS),
    Part("profile", "User Profile", ("USER.md",)),
    Part("rules", "How You Work", ("RULES.md",), BEHAVIOUR),
    Part("procedures", "The Owner's Procedures", (PROCEDURES_FILE,)),
    Part("sensitive", "Sensitive Data", ("PRIVACY.md",), SENSITIVE),
    Part("tools", "The Owner's Notes on Tools", ("TOOLS.md",)),
    Part("skills", "Skills"),
    Part("bootstrap", "Your First Conversation", (BOOTSTRAP,), framing=f"{BOOTSTRAP_FRAMING}\n\n"),
)
ALONE = ("identity", "guardrails", "rules", "sensitive")
"""What the prompt of a task has that nobody is there for."""


def alone(text: str) -> tuple[Part, ...]:
    """The recipe of a task that nobody is there for, with what is said of that."""
    return (*(part for part in KNOWN if part.name in ALONE), Part("alone", "This Turn", text=text))


def parts(settings: ContextSettings) -> tuple[Part, ...]:
    """The sections to make, in order. Raises ConfigError that names a section nobody knows."""
    if not settings.sections:
        return KNOWN
    named = {each.name for each in settings.sections}
    found = [part for each in settings.sections for part in _made(each, named)]
    twice = [part.name for n, part in enumerate(found) if part.name in {p.name for p in found[:n]}]
    if twice:
        raise ConfigError(f"context.sections names {twice[0]!r} twice", "Leave one of them out")
    return tuple(found)


def _made(wanted: SectionSettings, named: set[str]) -> Iterator[Part]:
    if wanted.name == REST:
        yield from (part for part in KNOWN if part.name not in named)
        return
    known = {part.name: part for part in KNOWN}
    part = known.get(wanted.name)
    if part is None and not wanted.files:
        near = get_close_matches(wanted.name, known, n=1)
        meant = f"Did you mean {near[0]}? " if near else ""
        raise ConfigError(
            f"there is no section {wanted.name!r} for context.sections",
            f"{meant}There are {', '.join(known)}; one of your own needs `files`",
        )
    part = part or Part(wanted.name, wanted.name.replace("-", " ").capitalize())
    yield replace(
        part,
        title=wanted.title or part.title,
        files=wanted.files or part.files,
        budget=wanted.budget or part.budget,
    )
