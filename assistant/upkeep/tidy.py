"""The proposals of `memory tidy`: merge duplicates, and strike out facts that have changed.

Rules or a model judge each pair. Facts that differ in a number, a name, a date or a negation are
never merged, whatever a model says: merging such twins would lose a fact.
"""

import json
import re
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Any, Literal

from assistant import config
from assistant.errors import ModelError, ModelFailure
from assistant.memory.base import Pair, Passage
from assistant.memory.text.headings import project_names
from assistant.memory.text.identity import fold
from assistant.messages import Message, Reply, estimate_tokens
from assistant.model import select
from assistant.model.base import ChatModel
from assistant.quoting import quoted
from assistant.secrets.registered import redactor
from assistant.settings.tree import validate
from assistant.workspace import trust
from assistant.workspace.folder import Workspace

Relation = Literal["same", "changed", "different"]
"""Whether the later of two facts repeats the earlier, changes it, or is a different fact."""

LONG = 400
"""Number of characters from which a passage is too long for a comparison by words."""
TAIL = 4
"""Maximum number of words of a value."""
FACT_FILES = re.compile(r"MEMORY\.md|memory/.*")
"""The files that are tidied; the owner words procedures and tasks."""


def _stem(word: str) -> str:
    """Return a word without a final s."""
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def _table(file: str) -> dict[str, str]:
    return tomllib.loads(Path(__file__).with_name(file).read_text("utf-8"))


PROMPTS = _table("prompts.toml")
WORDS = {name: frozenset(words.split()) for name, words in _table("words.toml").items()}
_STEMS = {name: frozenset(map(_stem, words)) for name, words in WORDS.items()}
_EMPTY, _VALUED, _VALUES = _STEMS["empty"], _STEMS["valued"], _STEMS["values"]
_NEGATIONS, _HELPING = _STEMS["negations"], _STEMS["helping"]
_OPENERS = _EMPTY | _VALUED | _VALUES | _NEGATIONS | _HELPING | _STEMS["openers"]


@dataclass(frozen=True, slots=True)
class Proposal:
    """A change for the owner to accept: `old` is removed (merge) or struck out (supersede)."""

    kind: Literal["merge", "supersede"]
    old: Passage
    new: Passage
    why: str


Judge = Callable[[Sequence[Pair]], Sequence[Relation]]


def propose(pairs: Sequence[Pair], judge: Judge | None = None) -> tuple[Proposal, ...]:
    """Return proposals for pairs of facts of one project or of none, judged by `judge` or by rules;
    each fact is in at most one."""
    facts = [
        pair
        for pair in pairs
        if is_fact(pair.earlier)
        and is_fact(pair.later)
        and project_names(pair.earlier.heading) == project_names(pair.later.heading)
    ]
    relations = judge(facts) if judge else [by_rules(pair) for pair in facts]
    used: set[str] = set()
    proposals = []
    for pair, relation in zip(facts, relations, strict=True):
        proposal = _proposal(pair, relation, "the model's view" if judge else "by their words")
        if proposal and not used & {pair.earlier.id, pair.later.id}:
            used |= {pair.earlier.id, pair.later.id}
            proposals.append(proposal)
    return tuple(proposals)


def by_rules(pair: Pair) -> Relation:
    """Return the relation by the words alone, if it is nearly certain."""
    one, other = _Words(pair.earlier), _Words(pair.later)
    rotations = (one.content[n:] + one.content[:n] for n in range(len(one.content)))
    if other.content in rotations and not one.is_twin_of(other):
        return "same"
    return "changed" if _revalued(one.words, other.words) or _negated(one, other) else "different"


def are_twins(one: Passage, other: Passage) -> bool:
    """Return whether two facts differ in a number, a name, a date or a negation, or in just one
    word."""
    return _Words(one).is_twin_of(_Words(other))


def is_fact(passage: Passage) -> bool:
    """Return whether it is a fact, not a longer text, a procedure or a task."""
    return len(passage.text) < LONG and FACT_FILES.fullmatch(passage.source) is not None


def _proposal(pair: Pair, relation: Relation, why: str) -> Proposal | None:
    if relation == "changed":
        return Proposal("supersede", pair.earlier, pair.later, why)
    if relation == "same" and not are_twins(pair.earlier, pair.later):
        return Proposal("merge", pair.later, pair.earlier, why)
    return None


class _Words:
    """The folded words of a fact, and those that distinguish it from twins."""

    def __init__(self, passage: Passage) -> None:
        self.words: list[str] = []
        self.names: list[str] = []
        begins = True
        for raw in passage.plain.split():
            if word := _stem(fold(raw)):
                self.words.append(word)
                common = word in _VALUES or (begins and word in _OPENERS)
                if raw.strip("\"'“„(«")[:1].isupper() and not common:
                    self.names.append(word)
            begins = raw.endswith((".", "!", "?"))
        self.content = [word for word in self.words if word not in _EMPTY]
        self.values = [w for w in self.words if w in _VALUES or any(map(str.isdigit, w))]
        self.negations = sum(word in _NEGATIONS for word in self.words)

    def is_twin_of(self, other: "_Words") -> bool:
        if self.values != other.values or self.negations != other.negations:
            return True
        if self._names_differ(other) or other._names_differ(self):
            return True
        changed = sum(a != b for a, b in zip(self.content, other.content, strict=False))
        return len(self.content) == len(other.content) and changed == 1

    def _names_differ(self, other: "_Words") -> bool:
        """Return whether the other fact lacks a name, or has the names in another order."""
        shared = [word for word in other.words if word in self.names]
        return list(dict.fromkeys(self.names)) != list(dict.fromkeys(shared))


def _revalued(one: list[str], other: list[str]) -> bool:
    """Return whether both state a value of the same thing, and differ only in the value."""
    start = _common_prefix(one, other)
    end = _common_prefix(one[start:][::-1], other[start:][::-1])
    values = one[start : len(one) - end], other[start : len(other) - end]
    if not all(0 < len(value) <= TAIL for value in values) or end >= TAIL:
        return False
    return start >= 2 and not _VALUED.isdisjoint(one[:start])


def _negated(one: _Words, other: _Words) -> bool:
    """Return whether one is the other's negation."""
    if one.negations == other.negations:
        return False
    rest = [[w for w in fact.words if w not in _NEGATIONS | _HELPING] for fact in (one, other)]
    return rest[0] == rest[1]


def _common_prefix(one: list[str], other: list[str]) -> int:
    """Return the number of words with which both lists begin."""
    return len([*takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))])


# By a model

BATCH = 20
"""Number of pairs in one request to the model."""


def configured_model(workspace: Workspace) -> ChatModel | None:
    """Return the configured model; None if there is none, or without trust."""
    model = select.create(validate(config.load()))
    return model if model.extracts and trust.is_trusted(workspace) else None


def configured_judge(workspace: Workspace) -> Judge | None:
    """Return the configured model as a judge; None if there is none, or without trust."""
    model = configured_model(workspace)
    return partial(relations, model, redact=redactor().redact) if model else None


def relations(
    model: ChatModel, pairs: Sequence[Pair], redact: Callable[[str], str] = str
) -> list[Relation]:
    """Return the model's judgement of each pair; "different" for one that it leaves out.

    Raises ModelError, also for an answer without the requested JSON.
    """
    judged: list[Relation] = []
    for start in range(0, len(pairs), BATCH):
        batch = pairs[start : start + BATCH]
        lines = [
            f"{number}. {name} ({fact.date or 'undated'}): {quoted(fact.shown)}"
            for number, pair in enumerate(batch, start=1)
            for name, fact in (("earlier", pair.earlier), ("later", pair.later))
        ]
        rows, _ = ask(model, "relate", [*map(redact, lines)], "relations")
        judged += _relations(rows, len(batch))
    return judged


def _relations(rows: Sequence[Any], count: int) -> list[Relation]:
    relations: dict[int, Relation] = {}
    for row in rows:
        match row:
            case {"pair": int(number), "relation": "same" | "changed" as relation}:
                relations[number] = relation
    return [relations.get(number, "different") for number in range(1, count + 1)]


def ask(model: ChatModel, prompt: str, facts: Sequence[str], name: str) -> tuple[list[Any], int]:
    """Return the list of this name in a model's JSON answer to a prompt and lines of facts, and the
    tokens used.

    Raises ModelError, also if there is no JSON.
    """
    text = "\n".join(["[KNOWN]", *facts, "[/KNOWN]"])
    messages = [Message("system", PROMPTS[prompt]), Message("user", text)]
    reply = next((piece for piece in model.stream(messages) if isinstance(piece, Reply)), Reply(""))
    match = re.search(r"[\[{].*[\]}]", reply.text, re.DOTALL)
    try:
        decoded = json.loads(match[0] if match else "")
    except ValueError as error:
        raise ModelError(
            "the model's answer is not the requested JSON", kind=ModelFailure.PROTOCOL
        ) from error
    rows = decoded.get(name) if isinstance(decoded, dict) else decoded
    tokens = sum(map(estimate_tokens, (PROMPTS[prompt], text, reply.text)))
    return rows if isinstance(rows, list) else [], reply.usage.tokens or tokens
