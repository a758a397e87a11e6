"""Extract facts from past turns: the request to the model, and the parsing of its answer. Pure.

The model answers with operations (add, supersede) that cite the entries they come from and quote
the owner's words. Who is behind a fact is derived here from the entries; the model is not trusted
with that. An answer that nearly has the right form is accepted; the faults of its unusable parts
are listed, so that the model can be asked again.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import takewhile
from typing import Any

from assistant.agent.capture.origins import (
    MEMORY_TOOLS,
    QUOTED_SHARE,
    Said,
    folded,
    holds,
    is_backed,
    is_tainted,
    kind_of,
    outside_sentences,
    owners_words,
    pasted,
    speakers,
)
from assistant.agent.excerpts import quote
from assistant.display import local_day
from assistant.memory.annotations import phrases
from assistant.memory.base import Fact, Origin, Passage
from assistant.memory.text.headings import PATH
from assistant.memory.text.identity import fact_of_line
from assistant.messages import Message
from assistant.quoting import one_line, quoted, visible
from assistant.session.entries import (
    AssistantEntry,
    CapturedFact,
    Entry,
    RecalledEntry,
    ToolResultEntry,
    UserEntry,
)
from assistant.session.history import Turn
from assistant.tables import beside

QUERY_LIMIT = 1_000
"""Characters of a sentence that are used to look up existing facts."""
SECTION = "Auto-captured"
"""The heading that facts are written under, with the date."""
FACT_LIMIT = 500
"""The most characters of a fact; a longer text is refused."""
ECHO = 2 / 3
"""A text that shares this part of its words with a recalled passage is an echo of it."""
ANSWER_LIMIT = 60_000
"""Characters of an answer."""
FEWEST_FACTS, WORDS_A_FACT, MOST_FACTS = 10, 3, 200
"""An answer may hold ten facts, or one for every three words of the turns, but at most 200: a turn
of twelve words does not state a thousand facts."""
_data = beside(__file__)
OPERATIONS = {name: op for op, names in _data["operations"].items() for name in names.split()}
"""Our operation for every name that models use for it."""
_KEYS = {key: names.split() for key, names in _data["keys"].items()}
_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+|\n+")
_CITED = re.compile(r"^\S+:\d+ \([^)]*\): |^  \| ")
"""The prefix of a passage in the results of `recall` and `agenda`."""
_THOUGHT = re.compile(r"<(think|thinking|reasoning)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Extracted:
    """The facts of an answer, the number of operations that were refused, and the faults of those
    that have a text."""

    facts: tuple[CapturedFact, ...] = ()
    refused: int = 0
    faults: tuple[str, ...] = ()


def extraction_request(
    turns: Sequence[Turn], known: Sequence[Passage], headings: Sequence[str] = ()
) -> list[Message]:
    """The request to the model. `known` are the existing facts nearest to these turns; a fact may
    be put under one of the owner's `headings`."""
    lines: list[str] = []
    previous = ""
    for number, passage in enumerate(known, start=1):
        if (location := _place(passage)) != previous:
            lines.append(location)
            previous = location
        lines.append(f"K{number}: {quoted(passage.shown)}")
    text = "[KNOWN]\n" + "\n".join(lines) + "\n[/KNOWN]\n\n"
    if headings:
        text += "[HEADINGS]\n" + "\n".join(map(one_line, headings)) + "\n[/HEADINGS]\n\n"
    text += f"[TRANSCRIPT]\n{quote(turns, timed=True)}\n[/TRANSCRIPT]"
    return [Message("system", _data["prompt"]), Message("user", text)]


def _place(passage: Passage) -> str:
    heading = " › ".join((passage.source, *passage.heading))
    return f"({one_line(heading)}{f', {passage.date}' if passage.date else ''})"


def by_place(passages: Iterable[Passage]) -> list[Passage]:
    """The passages, grouped by place, in the order of each group's first passage."""
    places: dict[str, list[Passage]] = {}
    for passage in passages:
        places.setdefault(_place(passage), []).append(passage)
    return [passage for group in places.values() for passage in group]


def again_request(request: Sequence[Message], answer: str, faults: Sequence[str]) -> list[Message]:
    """The request to correct these faults of an answer, or to complete it."""
    fault_lines = "\n".join(f"- {fault}" for fault in faults)
    correction = (
        f"Not all of your answer could be used:\n{fault_lines}\n"
        "Answer only with JSON of the same form that holds just what was wrong or missing."
    )
    return [*request, Message("assistant", answer[:ANSWER_LIMIT]), Message("user", correction)]


def statements(turn: Turn, most: int) -> list[str]:
    """The sentences of the owner's messages and of the reply, at most `most`, to look up."""
    messages = [entry.text for entry in turn.entries if isinstance(entry, UserEntry)]
    replies = [entry.text for entry in turn.entries if isinstance(entry, AssistantEntry)][-1:]
    sentences = (
        part.strip() for text in [*messages, *replies] for part in _SENTENCE_END.split(text)
    )
    return [sentence[:QUERY_LIMIT] for sentence in dict.fromkeys(sentences) if sentence][:most]


def parse(
    answer: str,
    turns: Sequence[Turn],
    known: Sequence[Passage],
    session: Sequence[Entry],
    headings: Sequence[str] = (),
) -> Extracted:
    """Parse the facts of the model's answer. Raises ValueError if it is not the requested JSON.

    `session` are all entries of the session. What memory had put into its prompts is not captured
    again, nor what the assistant derived from that. An operation is refused if it has no text or
    cites no entry of these turns. A fact may name one of the `headings` to be put under.
    """
    reader = _Reader(turns, known, session, headings)
    words = sum(len(message.text.split()) for message in reader.said.values())
    limit = min(MOST_FACTS, max(FEWEST_FACTS, words // WORDS_A_FACT))
    operations = _operations(answer)
    facts: list[CapturedFact] = []
    refused = max(0, len(operations) - limit)
    faults: list[str] = []
    for operation in operations[:limit]:
        if _op(operation) == "skip":
            continue
        try:
            fact = reader.fact(operation)
        except ValueError as fault:
            refused += 1
            if str(fault):
                faults.append(str(fault))
            continue
        if not _is_echo(fact, session, known) and not is_among(fact, facts):
            facts.append(fact)
    return Extracted(tuple(facts), refused, tuple(faults))


def is_among(fact: CapturedFact, facts: Iterable[CapturedFact]) -> bool:
    """Whether one of these facts has the same text, or replaces the same fact."""
    return any(
        folded(fact.text) == folded(other.text)
        or (fact.replaces is not None and fact.replaces == other.replaces)
        for other in facts
    )


@dataclass(slots=True)
class _Reader:
    """Turns the operations of an answer into facts of these turns of a session."""

    turns: Sequence[Turn]
    known: Sequence[Passage]
    session: Sequence[Entry]
    headings: Sequence[str]
    said: dict[str, Said] = field(init=False)
    tainted: bool = field(init=False)
    owners: list[str] = field(init=False)
    outside: list[str] = field(init=False)

    def __post_init__(self) -> None:
        first = self.turns[0].entries[0].id
        before = list(takewhile(lambda entry: entry.id != first, self.session))
        entries = [*before, *(entry for turn in self.turns for entry in turn.entries)]
        self.said = speakers(self.turns, tainted=is_tainted(before))
        self.tainted = is_tainted(entries)
        earlier = [entry.text for entry in before if isinstance(entry, UserEntry)]
        current = [message.text for message in self.said.values() if message.kind == "owner"]
        self.owners = [owners_words(text) for text in (*earlier, *current)]
        self.outside = outside_sentences(entries)

    def fact(self, operation: Mapping[str, Any]) -> CapturedFact:
        """The fact that an operation states. Raises ValueError with the fault to tell the model, or
        an empty one if the operation has no text that is a fact."""
        text = operation.get("text")
        text = fact_of_line(" ".join(visible(text).split())) if isinstance(text, str) else None
        if not text:
            raise ValueError
        label = f"“{text[:80]}”"
        op = _op(operation)
        if op is None:
            raise ValueError(f"{label}: there is no operation {str(operation.get('op'))[:40]!r}")
        if len(text) > FACT_LIMIT:
            raise ValueError(f"{label} … is longer than {FACT_LIMIT} characters")
        entries = self._entries(operation)
        if not entries:
            raise ValueError(f"{label}: `entries` names no entry of the transcript")
        kind, day_of = self._behind(text, entries, operation, label)
        replaces = self._replaced(operation, label) if op == "supersede" else None
        if replaces and kind in ("assistant", "recalled") and replaces.origin in (None, "owner"):
            raise ValueError  # nobody but the owner replaces what the owner said
        day = self._day(day_of)
        name = replaces.id if replaces else None
        under, found = self._under(operation), _matters_for(operation)
        return CapturedFact(text, kind, entries, name, day, under, found)

    def _entries(self, operation: Mapping[str, Any]) -> tuple[str, ...]:
        """The entry ids that an operation cites, written as `e1`, `E1` or 1, in a list or not."""
        cited = next((operation[name] for name in _KEYS["entries"] if operation.get(name)), ())
        items = cited if isinstance(cited, list) else [cited]
        numbers = (number for name in items for number in re.findall(r"\d+", str(name)[:200]))
        ids = dict.fromkeys(f"e{int(number)}" for number in numbers)
        return tuple(id_ for id_ in ids if id_ in self.said)

    def _behind(
        self, text: str, entries: Sequence[str], operation: Mapping[str, Any], label: str
    ) -> tuple[str, Sequence[str]]:
        """Who is behind a fact, and the entries that determine its day."""
        quoted_words = operation.get("quote")
        if not isinstance(quoted_words, str) or not quoted_words.strip():
            kind = kind_of(text, entries, self.said, tainted=self.tainted, owners=self.owners)
            return kind, entries
        owners = {
            id_: owners_words(message.text)
            for id_, message in self.said.items()
            if message.kind == "owner"
        }
        stating = [
            entry for entry in (*entries, *owners) if holds(owners.get(entry, ""), quoted_words)
        ]
        if stating:
            day = self._day(stating[:1])
            when = date.fromisoformat(day) if day else None
            if self.tainted and not is_backed(text, self.owners, self.outside, when):
                return "tool", stating[:1]
            return "owner", stating[:1]
        if any(holds(self.said[entry].text, quoted_words) for entry in entries):
            kind = kind_of(text, entries, self.said, tainted=self.tainted, owners=self.owners)
            pastes = any(pasted(self.said[entry].text) for entry in entries)
            return ("tool" if pastes else kind if kind != "owner" else "assistant"), entries
        raise ValueError(f"{label}: no entry that it cites holds its `quote`")

    def _under(self, operation: Mapping[str, Any]) -> str:
        """The heading that an operation names, as a path or by its last part alone; "" if none."""
        heading = one_line(str(operation.get("under") or "")).strip("# ").casefold()
        if not heading:
            return ""
        paths = {one_line(path).casefold(): path for path in self.headings}
        ends = [path for key, path in paths.items() if key.split(PATH)[-1] == heading]
        return paths.get(heading) or (ends[0] if len(ends) == 1 else "")

    def _replaced(self, operation: Mapping[str, Any], label: str) -> Passage:
        """The known fact that an operation names, as `K1`, `k1` or 1."""
        handle = next((operation[name] for name in _KEYS["which"] if operation.get(name)), "")
        number = re.search(r"\d+", str(handle)[:40])
        if number and 0 < int(number[0]) <= len(self.known):
            return self.known[int(number[0]) - 1]
        handles = f"K1 to K{len(self.known)}" if self.known else "none; use add"
        raise ValueError(f"{label}: `which` names no known fact; there are {handles}")

    def _day(self, entries: Sequence[str]) -> str:
        """The local day (ISO) of the latest of these entries."""
        times = (entry.time for turn in self.turns for entry in turn.entries if entry.id in entries)
        latest = max(filter(None, times), default="")
        return local_day(latest)


def _op(operation: Mapping[str, Any]) -> str | None:
    name = operation.get("op")
    if name is None and isinstance(operation.get("text"), str):
        name = "supersede" if any(map(operation.get, _KEYS["which"])) else "add"
    return OPERATIONS.get(name.strip().lower()) if isinstance(name, str) else None


def _matters_for(operation: Mapping[str, Any]) -> tuple[str, ...]:
    """The occasions of `for`, in a list or as one text; anything else is ignored."""
    given = operation.get("for")
    return phrases(
        text for text in (given if isinstance(given, list) else [given]) if isinstance(text, str)
    )


def to_memory(fact: CapturedFact, session: str, program: str = "") -> Fact:
    """Convert a captured fact for memory, with its origin; a session's facts are undone together.

    It is recorded under the day on which it was said. A fact with a secret is not written, as the
    transcript has only a stand-in for the secret. If the conversation was held with another
    `program`, the fact waits for the owner's review.
    """
    return Fact(
        fact.text,
        SECTION,
        fact.replaces,
        Origin(program or fact.kind, session, fact.entries),
        together=session,
        secrets="ask",
        waits=bool(program),
        under=fact.under,
        recorded=fact.day,
        matters_for=fact.matters_for,
    )


def origin_in_turn(text: str, session: str, turns: Sequence[Turn]) -> Origin:
    """The origin of a fact that the model writes during the last of these turns.

    It is a tool's if any tool but memory's own has answered in the turn, or if one did earlier and
    the owner's words do not state the fact.
    """
    without_memory = [
        Turn(
            tuple(entry for entry in turn.entries if getattr(entry, "tool", "") not in MEMORY_TOOLS)
        )
        for turn in turns
    ]
    cited = tuple(speakers(without_memory[-1:]))
    tainted = is_tainted(entry for turn in without_memory for entry in turn.entries)
    said = speakers(without_memory) | speakers(without_memory[-1:])
    owners = [owners_words(message.text) for message in said.values() if message.kind == "owner"]
    kind = kind_of(text, cited, said, tainted=tainted, owners=owners)
    return Origin("tool" if kind == "tool" else "assistant", session, cited)


def shown_facts(entries: Iterable[Entry]) -> set[str]:
    """The folded texts of all passages that memory has put into this session's prompts."""
    texts = set()
    for entry in entries:
        match entry:
            case RecalledEntry(passages=passages):
                texts |= {folded(passage.text) for passage in passages}
            case ToolResultEntry(tool="recall" | "agenda", content=content):
                lines = (_CITED.sub("", line) for line in content.split("\n"))
                texts |= {folded(line) for line in lines}
    return texts - {""}


def _is_echo(fact: CapturedFact, session: Sequence[Entry], known: Sequence[Passage]) -> bool:
    """Whether a fact only repeats what memory has put into the prompt: recalled passages, or the
    `known` facts of a memory that is in the prompt entirely.

    A fact that the owner states is an echo only if its text was shown after they stated it: they
    may have returned to what used to be true. A fact of the assistant's, or with hardly any of the
    owner's words, is an echo if a shown passage has most of its words and all of its numbers.
    """
    stated = [isinstance(entry, UserEntry) and entry.id in fact.entries for entry in session]
    owner_texts = [entry.text for entry in session if isinstance(entry, UserEntry)]
    is_news = fact.replaces or fact.kind == "tool"
    is_theirs = fact.kind == "owner" and (
        is_news or _support(fact.text, owner_texts) >= QUOTED_SHARE
    )
    if any(stated) and (is_theirs or fact.kind == "tool"):
        return folded(fact.text) in shown_facts(session[stated.index(True) :])
    numbers = {word for word in folded(fact.text).split() if not word.isalpha()}
    in_prompt = () if is_news else (folded(passage.shown) for passage in known)
    shown_texts = shown_facts(session).union(in_prompt)
    return any(
        numbers <= set(known_text.split()) and _support(fact.text, [known_text]) >= ECHO
        for known_text in shown_texts
    )


def _operations(answer: str) -> list[dict[str, Any]]:
    """The operations of an answer. Thoughts and fences around it are ignored; the list may be bare
    or under a name, in one object or several. Raises ValueError if it cannot be parsed."""
    answer = _THOUGHT.sub("", answer)
    start = re.search(r"[\[{]", answer)
    if not start:
        raise ValueError("the answer holds no JSON")
    text = answer[start.start() :]
    if len(text) > ANSWER_LIMIT:
        raise ValueError(f"the answer is longer than {ANSWER_LIMIT:,} characters")
    is_cut_off = not re.search(r"[\]}][^\w\"]*$", text) and not re.search(r"[\]}]\s*(```|\n)", text)
    try:
        decoded = json.loads(text)
    except RecursionError:
        raise ValueError("the answer holds too many brackets inside one another") from None
    except ValueError:
        from json_repair import repair_json  # only where an answer needs it

        decoded = repair_json(text, return_objects=True)
    candidates = [decoded] if isinstance(decoded, dict) else decoded
    if not isinstance(candidates, list):
        raise ValueError("the answer holds no JSON")
    lists = [
        candidate[name]
        for candidate in candidates
        if isinstance(candidate, dict)
        for name in _KEYS["operations"]
        if name in candidate
    ]
    if any(not isinstance(list_, list) for list_ in lists):
        raise ValueError("the answer holds no list of operations")
    items = [operation for list_ in lists for operation in list_] if lists else candidates
    if items and not any(map(_is_operation, items)):
        raise ValueError("the answer holds no list of operations")
    operations = [operation if _is_operation(operation) else {} for operation in items]
    return [*operations[:-1], {}] if is_cut_off and operations else operations


def _is_operation(value: object) -> bool:
    return isinstance(value, dict) and ("op" in value or "text" in value)


def _support(text: str, sources: Iterable[str]) -> float:
    """The share of the text's words, except short ones, that occur in the sources."""
    words = {word for word in folded(text).split() if len(word) > 3 or not word.isalpha()}
    source_words = {word for source in sources for word in folded(source).split()}
    return len(words & source_words) / len(words) if words else 0.0
