"""Questions made from the owner's own facts by rules, to see whether recall finds these. Pure.

A rule drops what the fact says of its subject and asks for it: "The door code is 4711" becomes
"What is the door code?". Such a question shares the fact's words, which one in the owner's words
might not: what is measured is *self-retrieval*, an upper bound, and is called so.
"""

import random
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from assistant.memory.text.chunk import Chunk, chunks_of
from assistant.memory.text.identity import fact_key, fold
from assistant.upkeep.evaluate import Question
from assistant.upkeep.tidy import FACT_FILES, LONG

SELF_RETRIEVAL, BY_MODEL = "self-retrieval", "asked by the model"
"""The kinds of questions; figures of one kind are never compared with those of the other."""
FEWEST = 1
"""Words with a meaning that a question must keep, or it asks for nothing in particular."""
KEPT = 2 / 3
"""Of a fact without a value that the rules know, so much of the beginning is kept."""

_BE = re.compile(r"(?P<subject>.+?) (?P<be>is|are|was|were) (?!not\b)(?P<value>\S.*)", re.DOTALL)
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z0-9\"“(])|\n")
_NUMBER = re.compile(r"[^\w\s]?\d[\w.,:/%°-]*")
_NAME = re.compile(r"(?<=[\w,;:] )[A-Z]\w*(?: [A-Z]\w*)*")
_EMPTY = frozenset(
    re.findall(
        r"\w+",
        "a an the of in on at for to from by with and or is are was were be has have had it its i"
        " my we our he his she her they their you your this that these those there not no s",
    )
)


def facts(texts: Mapping[str, str]) -> list[Chunk]:
    """The current facts of memory files, given by their names; nothing as long as a text.

    A fact that is stated twice is left out: recall may return either, and none would be wrong.
    """
    found = [
        each
        for source in sorted(texts)
        if FACT_FILES.fullmatch(source)
        for each in chunks_of(texts[source], source)
        if each.status == "current"
    ]
    stated = Counter(fact_key(each.plain) for each in found)
    return [each for each in found if stated[fact_key(each.plain)] == 1 and len(each.text) < LONG]


def sample(found: Sequence[Chunk], count: int, seed: int = 0) -> list[Chunk]:
    """At most so many facts, each as likely as the others, in the order of the files.

    The same facts and seed give the same sample.
    """
    picked = random.Random(seed).sample(range(len(found)), min(count, len(found)))
    return [found[number] for number in sorted(picked)]


def by_rules(found: Iterable[Chunk]) -> list[Question]:
    """The questions that the rules make; of some facts they make none."""
    asked = ((each, ask_for(each.plain)) for each in found)
    return [to_question(each, text, SELF_RETRIEVAL) for each, text in asked if text]


def to_question(fact: Chunk, text: str, kind: str) -> Question:
    """A question that a fact answers."""
    lines = frozenset(range(fact.start_line, fact.end_line + 1))
    return Question(text, kind, lines, fact.source)


def ask_for(fact: str) -> str | None:
    """A question for what a fact says; None where too little would be left to ask with."""
    said = _SENTENCE.split(fact.strip())[0].strip().rstrip(".!;,")
    return _of_being(said) or _without(said, _NUMBER) or _without(said, _NAME) or _begun(said)


def _of_being(said: str) -> str | None:
    """What the subject of "is", "are", "was" or "were" is."""
    found = _BE.fullmatch(said)
    if not found or _telling(found["subject"]) < FEWEST:
        return None
    subject = found["subject"]
    if subject.split()[0].lower() in _EMPTY:
        subject = subject[0].lower() + subject[1:]
    return f"What {found['be']} {subject}?"


def _without(said: str, value: "re.Pattern[str]") -> str | None:
    """The sentence with its last such value asked for."""
    places = list(value.finditer(said))
    if not places:
        return None
    before, after = said[: places[-1].start()], said[places[-1].end() :]
    return f"{before}what{after}?" if _telling(f"{before} {after}") >= FEWEST else None


def _begun(said: str) -> str | None:
    """The first words, for the others to be found."""
    words = said.split()
    kept = " ".join(words[: int(KEPT * len(words))])
    return f"{kept} what?" if _telling(kept) >= FEWEST else None


def _telling(text: str) -> int:
    return sum(word not in _EMPTY for word in fold(text).split())
