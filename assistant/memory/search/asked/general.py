"""Messages that ask for what anybody could answer: a poem, a joke, what a monad is; and greetings.

Memory is asked for them all the same, since "write a toast for Rupert" leans on it, but of a match
more is asked. Who speaks of what is theirs asks for nothing general.
"""

import re

from assistant.memory.search.asked import forms
from assistant.memory.text.language import language_of

_MAKE = """
act as, calculate, come up with, compare, compose, compute, convert, correct, count, create, debug,
define, describe, design, draft, draw, explain, fix, flip a, generate, guess, help me, imagine,
invent, list, make me, make up, paraphrase, pick a, play, pretend, proofread, recommend, rephrase,
rewrite, roll a, set a, set an, show me, sing, solve, spell, suggest, summarise, summarize, tell me,
translate, write, give me a, give me an, give me some, give me two, give me three, give me five,
give me ten, name a, name some, name three, name five, name ten
"""
_OF_ALL = """
answer to, antonym, boiling point, capital, chemical, definition, derivative, difference, distance,
formula, height, history, meaning, opposite, origin, past tense, plural, point of, population,
speed, square, symbol, synonym, weather, word for
"""
_POLITELY = r"^\W*(?:(?:please|can you|could you|would you|will you|bitte|ok|now)[ ,]+)*"
_ABROAD = (
    rf"^\W*(?:(?:{forms.POLITE})[ ,،，一]*)*(?:{'|'.join(forms.COMMANDS)})",
    *forms.QUESTIONS,
)
_GREETING = rf"^\W*(?:(?:{'|'.join(forms.GREETINGS)})(?:\W+|$))+$"


def _any(listed: str) -> str:
    return "|".join(re.escape(" ".join(each.split())) for each in listed.split(","))


_FORMS = (
    rf"{_POLITELY}(?:{_any(_MAKE)})\b",
    rf"\bwhat(?:['’]s| is| are| was| were) (?:the )?(?:{_any(_OF_ALL)})s?\b",
    r"^\W*what(?:['’]s| is| are) (?:an? .+|\w+\W*$)",
    r"\bwhat does [\"“«'].+ mean\b",
    r"\b(?:difference between|synonyms? (?:for|of)|rhymes? with|how do (?:you|i) (?:say|spell)|"
    r"how do you pronounce)\b",
    r"\bhow (?:do|does) (?:an? |the )?\w+(?: \w+)? work\b|\bwhat causes\b",
    r"^\W*why (?:is|are|do|does)\b",
    r"^\W*how (?:far|tall|big|deep|high|fast|hot|heavy)(?: away)? (?:is|are|was)\b",
    r"^\W*who (?:invented|discovered|wrote|painted|composed|founded|directed)\b",
    r"\b(?:in|with|using) (?:python|java|javascript|rust|bash|excel|sql|pandas|css)\b",
)
_GENERAL = re.compile("|".join((*_FORMS, _GREETING)), re.IGNORECASE)
_GENERAL_ABROAD = re.compile("|".join(_ABROAD), re.IGNORECASE)
_TO_ME = re.compile(
    r"\b(?:draw|give|help|make|show|sing|teach|tell|with|write|for) me\b"
    rf"|\b(?:do|can|should) (?:i|we)\b|{forms.TO_ME}|{forms.QUOTED}",
    re.IGNORECASE,
)
_THEIRS = re.compile(rf"\b(?:i|me|my|mine|we|us|ours?)\b|{forms.THEIRS}", re.IGNORECASE)


def is_general(text: str) -> bool:
    """Whether a message asks for nothing of its owner's, by its form."""
    found = _GENERAL.search(text)
    if not found and language_of(text) != "english":
        found = _GENERAL_ABROAD.search(text)
    return bool(found) and not _THEIRS.search(_TO_ME.sub(" ", text))
