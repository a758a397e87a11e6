"""Messages that ask for what anybody could answer: a poem, a joke, what a monad is; and greetings.

Memory is asked for them all the same, since "write a toast for Rupert" leans on it, but of a match
more is asked. A message's own vector tells, in every language that has one in the default model's
space: a logistic regression, fitted on English texts alone (`scripts/fit-generality`). Where no
such vector is to be had, its form tells.
"""

import functools
import math
import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assistant.memory.embedding.polyglot import LANGUAGES
from assistant.memory.search.asked import forms

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
_POLITELY = r"^\W*(?:(?:please|can you|could you|would you|will you|ok|now)[ ,]+)*"
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
_GENERAL = re.compile("|".join((*_FORMS, *forms.QUESTIONS)), re.IGNORECASE)
_GREETINGS = re.compile(_GREETING, re.IGNORECASE)
_TO_ME = re.compile(
    r"\b(?:draw|give|help|make|show|sing|teach|tell|with|write|for) me\b"
    rf"|\b(?:do|can|should) (?:i|we)\b|{forms.TO_ME}|{forms.QUOTED}",
    re.IGNORECASE,
)
_THEIRS = re.compile(rf"\b(?:i|me|my|mine|we|us|ours?)\b|{forms.THEIRS}", re.IGNORECASE)


WEIGHTS = Path(__file__).with_name("general.npy")
"""Shape (3, 385): the 384 weights and a constant, of a vector of the default model's own, of one
that was mapped to its space from the encoder's, and of one from the other model's."""
OWNERS = 2.0
"""So much less are the log-odds of what speaks of its owner."""
DOUBT = 0.5, 0.1, 0.1
"""So probable what anybody could answer must be for it to count; less sure of a mapped vector."""


def is_greeting(text: str) -> bool:
    """Whether a message is a greeting, thanks, or assent, and nothing else."""
    return bool(_GREETINGS.search(text))


def is_general(text: str) -> bool:
    """Whether a message asks for nothing of its owner's, by its form."""
    return bool(_GENERAL.search(text)) and not speaks_of_owner(text)


def speaks_of_owner(text: str) -> bool:
    """Whether a message says "my", "we", … other than as whom to answer."""
    return bool(_THEIRS.search(_TO_ME.sub(" ", text)))


def generality(vector: NDArray[np.float32], language: str, *, owners: bool) -> float:
    """How far a message asks for what anybody could answer, by its vector: from 0 to 1.

    `owners`: it speaks of what is its owner's.
    """
    reader = 0 if language == "english" else 1 if language in LANGUAGES else 2
    weights = _weights()[reader]
    log_odds = float(vector @ weights[:-1] + weights[-1]) - OWNERS * owners
    doubt = DOUBT[reader]
    return max(0.0, (1 / (1 + math.exp(-log_odds)) - doubt) / (1 - doubt))


@functools.cache
def _weights() -> NDArray[np.float32]:
    return np.asarray(np.load(WEIGHTS), dtype=np.float32)
