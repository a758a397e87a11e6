"""Recognises small talk: a greeting, thanks, a farewell, "what can you do?".

The offline responder answers it without searching memory. Only a message that is nothing else
counts, in the languages whose phrases `smalltalk.toml` lists. Other small talk goes to memory,
which recognises most of it by its vectors in any language that it reads.

`ASKING` and the patterns next to it say how an owner asks to remember something.
"""

import re
import unicodedata
from collections.abc import Mapping
from typing import Literal, get_args

from assistant.characters import plain_words
from assistant.tables import table_of

Kind = Literal["greeting", "thanks", "farewell", "abilities", "chat"]

BESIDE = r"(?: (?:there|again|all|you|everyone|so much|a lot|very much|assistant|my friend))*"
"""Words that may follow in English without changing the kind."""
HOW = r"(?: how are you(?: doing)?(?: today)?| how is it going| how s it going| what s up)?"


def _pattern(listed: str) -> "re.Pattern[str]":
    phrases = "|".join(re.escape(plain_words(phrase)) for phrase in listed.split(","))
    return re.compile(f"(?:{phrases}){BESIDE}{HOW}")


_phrases = table_of(__file__)
_ASKED = {name: str(words).replace("\n", "") for name, words in _phrases["requests"].items()}
ASKING = _ASKED["asking"]
"""Words by which the owner asks to remember what follows a colon, or `THAT`."""
THAT = _ASKED["that"]
"""Words that introduce what is to be remembered."""
REQUESTS = _ASKED["requests"]
"""How a question begins that asks the assistant to do something."""
BETWEEN = _ASKED["between"]
"""Words that may stand between `ASKING` and `THAT` or the colon."""
REMINDING, TO = _ASKED["reminding"], _ASKED["to"]
"""Words by which the owner asks for a reminder, and those before what it is to say."""
_KINDS: tuple[Kind, ...] = get_args(Kind)
ANSWERS: Mapping[Kind, str] = _phrases["answers"]
"""The offline responder's answer to each kind."""
_PATTERNS = {kind: _pattern(_phrases[kind]) for kind in _KINDS}
LONGEST = 60
"""Maximum characters of a message that may be small talk."""


def small_talk(text: str) -> Kind | None:
    """Return the kind of small talk, if the message is nothing else."""
    words = plain_words(text) if len(text) <= LONGEST else ""
    kinds = (kind for kind, pattern in _PATTERNS.items() if pattern.fullmatch(words))
    return next(kinds, None)


_SUM = re.compile(
    r"\d[\d.,]*\s*(?:[+*×÷^]|plus|minus|times|divided by|(?:%|percent) of)\s*\d[\d.,]*",
    re.IGNORECASE,
)
_FRAME = 3
"""Maximum number of words around a sum, such as "what is the"."""


def is_sum(text: str) -> bool:
    """Return whether a message is a sum and little else, so that memory is irrelevant."""
    remainder, sums = _SUM.subn(" ", unicodedata.normalize("NFKC", text))
    return bool(sums) and len(remainder.split()) <= _FRAME and not re.search(r"\d", remainder)
