"""Skills: a folder with a SKILL.md, represented in the prompt by one line until it is needed.

A trigger loads the skill when a message contains its words, or matches its pattern between
slashes. A trigger that most messages match would put its skill into every prompt, so it is
refused.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

SECONDS = 0.05
"""Timeout for matching a pattern against a message."""
LONGEST_MESSAGE = 20_000
"""The most characters of a message that triggers are matched against."""
SAMPLES = Path(__file__).with_name("samples.txt").read_text("utf-8").splitlines()
"""Messages with little in common: a trigger that matches three of them matches nearly anything."""
MANY = 3


@dataclass(frozen=True, slots=True)
class Trigger:
    """A trigger as written, and its test."""

    text: str
    matches: Callable[[str], bool]


def trigger(text: str) -> Trigger:
    """Parse a trigger: words in this order, or `/a pattern/`. Raises ValueError."""
    text = text.strip()
    is_pattern = len(text) > 1 and text[0] == text[-1] == "/"
    result = Trigger(text, _pattern(text[1:-1]) if is_pattern else _words(text))
    if sum(map(result.matches, SAMPLES)) >= MANY:
        raise ValueError(f"the trigger {text!r} matches nearly every message")
    return result


def _words(text: str) -> Callable[[str], bool]:
    words = _folded(text).split()
    if not words:
        raise ValueError(f"the trigger {text!r} contains no word, so every message would match")
    phrase = f" {' '.join(words)} "
    if not phrase.isascii() and not any(map(_is_spaced, phrase)):
        return lambda message: phrase.strip() in _folded(message)
    return lambda message: phrase in f" {_folded(message)} "


def _is_spaced(char: str) -> bool:
    """Return whether a letter belongs to a script that puts spaces between words."""
    return unicodedata.name(char, "").startswith(("LATIN", "CYRILLIC", "GREEK", "ARABIC", "HEBREW"))


def _folded(text: str) -> str:
    """Return words without case, accents and punctuation, separated by single spaces."""
    plain = unicodedata.normalize("NFKD", text[:LONGEST_MESSAGE]).casefold()
    letters = "".join(char for char in plain if not unicodedata.combining(char))
    return " ".join(re.sub(r"[^\w]+", " ", letters).split())


def _pattern(source: str) -> Callable[[str], bool]:
    import regex  # supports timeouts; few skills need it

    try:
        compiled = regex.compile(source, regex.IGNORECASE)
    except regex.error as error:
        raise ValueError(f"the trigger /{source}/ is not a valid pattern: {error}") from error
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
"""The most skills that one message triggers."""
HOW = """\
Skills are procedures that the owner keeps for certain tasks. When a task calls for one, fetch it \
with `load_skills` before you begin, several at once if several fit, and do as it says."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A problem with a skill, its line, and its cure. Unless it is `fatal` the skill is used."""

    path: str
    line: int
    message: str
    cure: str
    fatal: bool = True

    @property
    def notice(self) -> str:
        """The fault on one line."""
        verdict = "is not used: " if self.fatal else ""
        location = f"{self.path}:{self.line}" if self.line else self.path
        return f"{location} {verdict}{self.message}. {self.cure}"


@dataclass(frozen=True, slots=True)
class Skill:
    """A usable skill. `path` is the path of its SKILL.md for tools, in POSIX form."""

    name: str
    description: str
    path: str
    file: Path
    triggers: tuple[Trigger, ...] = ()

    @property
    def line(self) -> str:
        """The skill's line in the prompt until it is loaded."""
        return f"- {self.name}: {self.description} ({self.path})"

    def trigger(self, message: str) -> str | None:
        """Return the first of its triggers that matches a message, as written."""
        return next(
            (candidate.text for candidate in self.triggers if candidate.matches(message)), None
        )


@dataclass(frozen=True, slots=True)
class Skills:
    """The skills by name, the names of disabled ones, and the faults of others."""

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
        """Return the skill with a name, ignoring case."""
        folded_name = name.strip().casefold()
        return next((skill for skill in self.skills if skill.name.casefold() == folded_name), None)

    def triggered(self, message: str) -> Iterator[tuple[Skill, str]]:
        """Yield the skills that a message triggers, each with the trigger that matched."""
        candidates = ((skill, skill.trigger(message)) for skill in self.skills)
        matched = [(skill, trigger) for skill, trigger in candidates if trigger is not None]
        yield from matched[:MOST_TRIGGERED]
