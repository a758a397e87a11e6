"""Triggers: words, or a pattern between slashes, that bring a skill in when a message holds them.

A trigger that most messages hold would put its skill into every prompt, so it is refused.
"""

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass

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
