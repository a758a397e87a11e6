"""What a skill is: a folder with a SKILL.md, one line of the prompt until it is needed.

A trigger brings it in when a message holds its words, or matches its pattern between slashes. One
that most messages hold would put its skill into every prompt, so it is refused.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

SECONDS = 0.05
"""What a pattern may take over a message."""
LONGEST_MESSAGE = 20_000
"""Characters of a message that triggers are held against."""
SAMPLES = (
    "Hello, how are you today?",
    "What is on my list for Friday?",
    "Remember that the spare key is with Ada, next door.",
    "Can you read the file and tell me what changed in it?",
    "Write a short letter to my landlord about the heating.",
    "I have a question for you: is it a good idea to go there with my son?",
    "How do I get to a bank, and when is it open for us?",
    "It is not what I want; can you do that again for me and be brief?",
    "Wie war das Wetter am Wochenende in Hamburg?",
    "Je voudrais réserver une table pour deux personnes.",
    "¿Cuándo sale el próximo tren?",
    "昨日の会議の議事録をまとめてください。",
    "12 * 7",
)
"""Messages that share only what most have: what matches three of them matches nearly anything."""
MANY = 3


@dataclass(frozen=True, slots=True)
class Trigger:
    """A trigger as it was written, and the test it stands for."""

    text: str
    matches: Callable[[str], bool]


def trigger(text: str) -> Trigger:
    """The trigger of a text: words in this order, or `/a pattern/`. Raises ValueError."""
    text = text.strip()
    found = Trigger(text, _pattern(text[1:-1]) if _is_pattern(text) else _words(text))
    if sum(map(found.matches, SAMPLES)) >= MANY:
        raise ValueError(f"the trigger {text!r} matches nearly every message")
    return found


def _is_pattern(text: str) -> bool:
    return len(text) > 1 and text.startswith("/") and text.endswith("/")


def _words(text: str) -> Callable[[str], bool]:
    words = _folded(text).split()
    if not words:
        raise ValueError(f"the trigger {text!r} says no word, so every message would match")
    wanted = f" {' '.join(words)} "
    if not wanted.isascii() and not any(map(_is_spaced, wanted)):
        return lambda message: wanted.strip() in _folded(message)
    return lambda message: wanted in f" {_folded(message)} "


def _is_spaced(char: str) -> bool:
    """Whether a letter is of a script that puts spaces between words."""
    return unicodedata.name(char, "").startswith(("LATIN", "CYRILLIC", "GREEK", "ARABIC", "HEBREW"))


def _folded(text: str) -> str:
    """Words without capitals, accents and punctuation, a space between any two."""
    plain = unicodedata.normalize("NFKD", text[:LONGEST_MESSAGE]).casefold()
    letters = "".join(char for char in plain if not unicodedata.combining(char))
    return " ".join(re.sub(r"[^\w]+", " ", letters).split())


def _pattern(source: str) -> Callable[[str], bool]:
    import regex  # with a limit of time; few skills need it

    try:
        compiled = regex.compile(source, regex.IGNORECASE)
    except regex.error as error:
        raise ValueError(f"the trigger /{source}/ is no pattern: {error}") from error
    if compiled.search(""):
        raise ValueError(f"the trigger /{source}/ matches every message, even an empty one")

    def matches(message: str) -> bool:
        try:
            return compiled.search(message[:LONGEST_MESSAGE], timeout=SECONDS) is not None
        except TimeoutError:
            return False

    return matches


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
        return "\n".join([HOW, *(skill.line for skill in self.skills)]) if self.skills else ""

    @property
    def notices(self) -> tuple[str, ...]:
        """A line for each fault."""
        return tuple(fault.notice for fault in self.faults)

    def named(self, name: str) -> Skill | None:
        """The skill of a name, in capitals or not."""
        wanted = name.strip().casefold()
        return next((skill for skill in self.skills if skill.name.casefold() == wanted), None)

    def triggered(self, message: str) -> Iterator[tuple[Skill, str]]:
        """The skills that a message calls for by itself, each with the trigger that matched."""
        found = ((each, each.trigger(message)) for each in self.skills)
        matched = [(skill, trigger) for skill, trigger in found if trigger is not None]
        yield from matched[:MOST_TRIGGERED]
