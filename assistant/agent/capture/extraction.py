"""Extract facts from past turns: the request to the model, and the parsing of its answer. Pure.

The model answers with operations (add, supersede) that cite the entries they come from and quote
the owner's words. The source of a fact is determined here from the entries; the model is not
trusted with that. An answer in nearly the right form is accepted; the faults of its unusable parts
are listed for another request.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from itertools import chain, groupby, takewhile
from typing import Any

from assistant.agent.capture.origins import (
    MEMORY_TOOLS,
    QUOTED_SHARE,
    UNQUOTED_SHARE,
    AttributedText,
    backing,
    folded,
    have_a_common_word,
    holds,
    is_repeated,
    is_said,
    is_stated,
    is_tainted,
    least_trusted,
    names_in,
    outside_texts,
    owners_words,
    pasted,
    sentences,
    speakers,
    statements_of,
)
from assistant.agent.excerpts import quote
from assistant.display import local_day
from assistant.memory.annotations import phrases
from assistant.memory.base import Fact, Origin, Passage
from assistant.memory.text.headings import PATH
from assistant.memory.text.identity import fact_of_line
from assistant.messages import Message
from assistant.model.smalltalk import small_talk
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
from assistant.tables import table_of

QUERY_LIMIT = 1_000
"""Maximum number of characters of a sentence that are used to look up existing facts."""
SECTION = "Auto-captured"
"""The heading, completed by the date, for captured facts."""
FACT_LIMIT = 500
"""The maximum length of a fact in characters; a longer one is refused."""
ECHO = 2 / 3
"""A text that shares this part of its words with a recalled passage is an echo of it."""
REWORDED = 1
"""The number of the assistant's names and numbers that may be another form of the owner's, as New
York is of NYC; a fact that is mostly not the owner's and has more of them is a guess."""
ANSWER_LIMIT = 60_000
"""The maximum length of an answer in characters."""
DEEPEST = 100
"""The most brackets inside one another that are repaired."""
FEWEST_FACTS, MOST_FACTS = 10, 200
"""An answer may contain ten facts, or one for each word of the owner's, but at most 200: a message
of twelve words does not state a thousand facts."""
_data = table_of(__file__)
OPERATIONS = {name: op for op, names in _data["operations"].items() for name in names.split()}
"""Our operation for every name that models use for it."""
_KEYS = {key: names.split() for key, names in _data["keys"].items()}
_WORD = re.compile(r"\w+")
_HANDLES = re.compile(r"[\W_]*(?:[kK]?\d{1,4}[\W_]*)+")
_HANDLE = re.compile(r"\W*[kK](\d{1,4})\W+")
_BRACKET = re.compile(r"[\[{]")
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\Z|\\)|[\[\]{}]', re.DOTALL)
_DECODER = json.JSONDecoder()
_CITED = re.compile(r"^\S+:\d+ \([^)]*\): |^  \| ")
"""The prefix of a passage in the results of `recall` and `agenda`."""
_THOUGHT = re.compile(r"<(think|thinking|reasoning)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)


class Refused(Exception):
    """A refused operation of an answer: its text, and why. If it `may_mend`, the model is told.
    `replaces`: it was meant to replace another fact."""

    def __init__(
        self, text: str, reason: str, *, may_mend: bool = True, replaces: bool = False
    ) -> None:
        super().__init__(f"“{text[:80]}”: {reason}" if text else reason)
        self.text, self.may_mend, self.replaces = text, may_mend, replaces


@dataclass(frozen=True, slots=True)
class Extracted:
    """The facts of a model's answers, the refused operations that were not mended, and whether the
    last answer is cut off."""

    facts: tuple[CapturedFact, ...] = ()
    refused: tuple[Refused, ...] = ()
    is_cut: bool = False

    @property
    def faults(self) -> list[str]:
        """The faults for the model to mend."""
        return [str(refused) for refused in self.refused if refused.may_mend]


NOTHING = Extracted()


def extraction_request(
    turns: Sequence[Turn], known: Sequence[Passage], headings: Sequence[str] = ()
) -> list[Message]:
    """Return the request to the model. `known` are the existing facts nearest to these turns; a
    fact may be put under one of the owner's `headings`."""
    lines: list[str] = []
    for location, numbered in groupby(enumerate(known, start=1), lambda item: _location(item[1])):
        lines += [
            location,
            *(f"K{number}: {quoted(passage.shown)}" for number, passage in numbered),
        ]
    text = "[KNOWN]\n" + "\n".join(lines) + "\n[/KNOWN]\n\n"
    if headings:
        text += "[HEADINGS]\n" + "\n".join(map(one_line, headings)) + "\n[/HEADINGS]\n\n"
    text += f"[TRANSCRIPT]\n{quote(turns, timed=True)}\n[/TRANSCRIPT]"
    return [Message("system", _data["prompt"], json=True), Message("user", text)]


def _location(passage: Passage) -> str:
    heading = " › ".join((passage.source, *passage.heading))
    return f"({one_line(heading)}{f', {passage.date[:10]}' if passage.date else ''})"


def by_place(passages: Iterable[Passage]) -> list[Passage]:
    """Group the passages by file, heading and date, in the order of each group's first passage."""
    groups: dict[str, list[Passage]] = {}
    for passage in passages:
        groups.setdefault(_location(passage), []).append(passage)
    return [passage for group in groups.values() for passage in group]


def again_request(request: Sequence[Message], answer: str, faults: Sequence[str]) -> list[Message]:
    """Return the request to correct these faults of an answer, or to complete it."""
    fault_lines = "\n".join(f"- {fault}" for fault in faults)
    correction = (
        f"Not all of your answer could be used:\n{fault_lines}\n"
        "Answer only with JSON of the same form that holds just what was wrong or missing."
    )
    return [*request, Message("assistant", answer[:ANSWER_LIMIT]), Message("user", correction)]


def statements(turn: Turn, most: int) -> list[str]:
    """Return the sentences to look up: the owner's, and of the reply's at most `most`."""
    messages = [entry.text for entry in turn.entries if isinstance(entry, UserEntry)]
    replies = [entry.text for entry in turn.entries if isinstance(entry, AssistantEntry)][-1:]
    owners, replied = (list(chain.from_iterable(map(sentences, t))) for t in (messages, replies))
    return [sentence[:QUERY_LIMIT] for sentence in dict.fromkeys([*owners, *replied[:most]])]


def parse(
    answer: str,
    turns: Sequence[Turn],
    known: Sequence[Passage],
    session: Sequence[Entry],
    headings: Sequence[str] = (),
    earlier: Extracted = NOTHING,
) -> Extracted:
    """Parse the facts of the model's answer, and add them to those of its `earlier` answers. Raises
    ValueError if it is not the requested JSON.

    `session` are all entries of the session. Whatever memory had put into its prompts is not
    captured again, nor what the assistant derived from that. An operation is refused if it has no
    text or cites no entry of these turns. A fact may name one of the `headings` to be put under.
    """
    reader = _Reader(turns, known, session, headings, earlier.refused)
    messages = (message.text for message in reader.attributed.values() if message.kind == "owner")
    words = sum(len(_WORD.findall(text)) for text in messages)
    limit = min(MOST_FACTS, max(FEWEST_FACTS, words))
    facts: list[CapturedFact] = []
    refused: list[Refused] = []
    operations, is_cut = _operations(answer)
    for number, operation in enumerate(operations):
        if _op(operation) == "skip":
            continue
        try:
            if number >= limit:
                text = one_line(str(_given(operation, "text") or ""))
                raise Refused(text, "these are more facts than the words state", may_mend=False)
            new = reader.facts(operation)
        except Refused as fault:
            refused.append(fault)
            continue
        for fact in new:
            if not _is_echo(fact, session, known) and not _is_among(fact, [*earlier.facts, *facts]):
                facts.append(fact)
    texts = [*(fact.text for fact in facts), *(fault.text for fault in refused if fault.text)]
    left = (r for r in earlier.refused if not any(_are_alike(text, r.text) for text in texts))
    return Extracted((*earlier.facts, *facts), (*left, *refused), is_cut)


def _is_among(fact: CapturedFact, facts: Iterable[CapturedFact]) -> bool:
    """Return whether one of these facts says the same, or replaces the same fact similarly."""
    return any(
        fact.replaces == other.replaces is not None and _are_alike(fact.text, other.text)
        if fact.replaces
        else folded(fact.text) == folded(other.text)
        for other in facts
    )


def _are_alike(text: str, other: str) -> bool:
    """Return whether two texts have the same words, or most of them."""
    return folded(text) == folded(other) or _support(text, [other]) >= ECHO


@dataclass(slots=True)
class _Reader:
    """Turns the operations of an answer into facts of these turns of a session."""

    turns: Sequence[Turn]
    known: Sequence[Passage]
    session: Sequence[Entry]
    headings: Sequence[str]
    refused: Sequence[Refused]
    attributed: dict[str, AttributedText] = field(init=False)
    tainted: bool = field(init=False)
    owners: list[str] = field(init=False)
    outside: list[str] = field(init=False)
    replies: list[str] = field(init=False)

    def __post_init__(self) -> None:
        first = self.turns[0].entries[0].id
        before = list(takewhile(lambda entry: entry.id != first, self.session))
        entries = [*before, *(entry for turn in self.turns for entry in turn.entries)]
        self.attributed = speakers(self.turns, tainted=is_tainted(before))
        self.tainted = is_tainted(entries)
        earlier = [entry.text for entry in before if isinstance(entry, UserEntry)]
        current = [message.text for message in self.attributed.values() if message.kind == "owner"]
        self.owners = [owners_words(text) for text in (*earlier, *current)]
        self.outside = list(outside_texts(entries))
        replies = (entry.text for entry in entries if isinstance(entry, AssistantEntry))
        self.replies = [" ".join(names_in(reply)) for reply in replies]

    def facts(self, operation: Mapping[str, Any]) -> list[CapturedFact]:
        """Return the fact that an operation states, once for each fact it replaces. Raises Refused.

        A refused replacement that is then added instead waits for the owner: it may contradict the
        fact that it was to replace.
        """
        given = _given(operation, "text")
        line = " ".join(visible(given).split()) if isinstance(given, str) else ""
        text = fact_on(line)
        if not text:
            raise Refused(line, "this states no fact", may_mend=False)
        op = _op(operation)
        if op is None:
            raise Refused(text, f"there is no operation {str(operation.get('op'))[:40]!r}")
        if len(text) > FACT_LIMIT:
            raise Refused(text, f"it is longer than {FACT_LIMIT} characters")
        entries = self._entries(operation)
        if not entries:
            raise Refused(text, "`entries` names no entry of the transcript")
        before = [
            refusal
            for refusal in self.refused
            if refusal.replaces and _are_alike(text, refusal.text)
        ]
        replaced: list[Passage] = []
        if op == "supersede" and self.known:
            replaced = self._replaced(text, operation, is_confirmed=bool(before))
        elif any(self._named(operation)) and not before:
            raise Refused(text, "`add` names a fact in `which`; supersede it?", replaces=True)
        kind, day_of = self._source_of(text, entries, operation, replaced)
        time = self._time(day_of)
        if kind in ("assistant", "recalled") and any(map(_is_owners, replaced)):
            raise Refused(text, "only the owner replaces what the owner said", may_mend=False)
        if later := next((p for p in replaced if _is_earlier(time, p.date or "")), None):
            reason = f"memory holds what was said later: “{one_line(later.plain)}”"
            raise Refused(text, reason, may_mend=False)
        fact = CapturedFact(
            text,
            kind,
            entries,
            day=local_day(time),
            under=self._under(operation),
            matters_for=_matters_for(operation),
            waits=bool(before) and not replaced,
        )
        return [replace(fact, replaces=old.id, struck=one_line(old.plain)) for old in replaced] or [
            fact
        ]

    def _entries(self, operation: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the entry ids that an operation cites, as `e1`, `E1` or 1, in a list or not."""
        cited = _given(operation, "entries") or ()
        items = cited if isinstance(cited, list) else [cited]
        numbers = (number for name in items for number in re.findall(r"\d+", str(name)[:200]))
        ids = dict.fromkeys(f"e{int(number)}" for number in numbers)
        return tuple(id_ for id_ in ids if id_ in self.attributed)

    def _source_of(
        self,
        text: str,
        entries: Sequence[str],
        operation: Mapping[str, Any],
        replaced: Sequence[Passage],
    ) -> tuple[str, Sequence[str]]:
        """Return the source of a fact, and the entries that determine its day.

        The source is the owner if a statement of theirs is quoted, or if only they are cited and
        their statements support it; more support is needed if the conversation has a text from
        outside, or if the fact replaces one of theirs. It is a guess if it quotes their question,
        if the model insists on it without a quote, or if it is mostly not theirs and has several
        names and numbers from the assistant only, or one if it replaces a fact of theirs. Raises
        Refused if nobody cited states it.
        """
        given = operation.get("quote")
        words = given.strip() if isinstance(given, str) else ""
        theirs = {
            id_: owners_words(message.text)
            for id_, message in self.attributed.items()
            if message.kind == "owner"
        }
        candidates = (*entries, *theirs) if words else ()
        stating = [id_ for id_ in candidates if holds(theirs.get(id_, ""), words)]
        kind = least_trusted(entries, self.attributed)
        if words and not stating:
            if not any(holds(self.attributed[entry].text, words) for entry in entries):
                raise Refused(text, "no entry that it cites holds its `quote`")
            pastes = any(pasted(self.attributed[entry].text) for entry in entries)
            return ("tool" if pastes else kind if kind != "owner" else "assistant"), entries
        cited = stating[:1] or entries
        day = local_day(self._time(cited))
        when = date.fromisoformat(day) if day else None
        kept = " ".join(passage.text for passage in replaced)
        whole = backing(text, self.owners, self.outside, when, kept)
        if whole.brought or (kind == "tool" and not words):
            return "tool", cited
        statements = [part for message in self.owners for part in statements_of(message)]
        if words and not any(is_stated(words, message) for message in self.owners):
            return "guess", cited
        if not words and (kind != "owner" or is_repeated(text, self.attributed, self.owners)):
            statements += [message.text for message in self.attributed.values()]
            kind = kind if kind != "owner" else "assistant"
        stated = backing(text, statements, (), when, kept)
        if words:
            overwrites = any(map(_is_owners, replaced))
            is_pretence = self.tainted or small_talk(words) is not None
            is_backed = not is_pretence or whole.share >= QUOTED_SHARE
            is_backed = is_backed and not (overwrites and not (stated.share and whole.numbers))
            if is_backed and whole.share < UNQUOTED_SHARE:
                most = 0 if overwrites else REWORDED
                is_backed = self._suggested_names(text, when, kept) <= most
        else:
            is_backed = stated.share >= UNQUOTED_SHARE and stated.numbers
        if is_backed and words:
            return "owner", cited
        if is_backed or self.tainted:
            return kind if is_backed else "tool", cited
        if words or any(_are_alike(text, refusal.text) for refusal in self.refused):
            return "guess", cited
        raise Refused(text, "the owner's words do not state it; quote those that do")

    def _suggested_names(self, text: str, day: date | None, kept: str) -> int:
        """Count the names and numbers of a text that only the assistant brought in."""
        anchor = day.isoformat() if day else None
        named = (backing(n, self.owners, self.replies, day, kept) for n in names_in(text, anchor))
        return sum(name.brought and not name.share for name in named)

    def _under(self, operation: Mapping[str, Any]) -> str:
        """Return the heading that an operation names, by its path, the end of the path, or the path
        with the file and anything else above it; "" if none."""
        heading = one_line(str(operation.get("under") or "")).strip("# ").casefold()
        keys = {path: one_line(path).casefold() for path in self.headings}
        within = [path for path in keys if f"{PATH}{heading}".endswith(f"{PATH}{keys[path]}")]
        name = heading.split(PATH)[-1]
        ends = [path for path in keys if keys[path].split(PATH)[-1] == name]
        return max(within, key=len, default=ends[0] if len(ends) == 1 else "")

    def _replaced(
        self, text: str, operation: Mapping[str, Any], *, is_confirmed: bool
    ) -> list[Passage]:
        """Return the known facts that an operation names. Raises Refused if one is not known, or,
        unless it `is_confirmed`, has no word in common with the new fact."""
        named = self._named(operation)
        if not named or not all(named):
            handles = f"there are K1 to K{len(self.known)}"
            raise Refused(text, f"`which` names no known fact; {handles}", replaces=True)
        replaced = {passage.id: passage for passages in named for passage in passages}
        for passage in replaced.values():
            words = " ".join((*passage.heading, passage.plain))
            if not is_confirmed and not have_a_common_word(text, words):
                old = f"it would strike out “{one_line(passage.plain)}”, which is of something else"
                raise Refused(text, old, replaces=True)
        return list(replaced.values())

    def _named(self, operation: Mapping[str, Any]) -> list[list[Passage]]:
        """Return the known facts of each name in `which`; none of one that names no known fact."""
        given = _given(operation, "which") or []
        return [self._known(name) for name in (given if isinstance(given, list) else [given])]

    def _known(self, name: object) -> list[Passage]:
        """Return the known facts with these handles (`K1`, `k1`, 1, `K1, K2`), or the one with this
        text; a handle before the text must match it."""
        words = one_line(str(name)[:FACT_LIMIT])
        if _HANDLES.fullmatch(words):
            numbers = [int(number) for number in re.findall(r"\d+", words)]
            are_known = all(0 < number <= len(self.known) for number in numbers)
            return [self.known[number - 1] for number in numbers] if are_known else []
        handle = _HANDLE.match(words)
        words = words[handle.end() :] if handle else words
        same = [p for p in self.known if folded(p.shown) == folded(words)]
        same = same or [p for p in self.known if _support(words, [p.shown]) == 1]
        is_named = len(same) == 1 and (not handle or self._known(handle[1]) == same)
        return same if is_named else []

    def _time(self, entries: Sequence[str]) -> str:
        """Return the time of the latest of these entries."""
        times = (entry.time for turn in self.turns for entry in turn.entries if entry.id in entries)
        return max(filter(None, times), default="")


def _is_earlier(time: str, known: str) -> bool:
    """Return whether a time is before the `known` day or time."""
    return bool(time) and (time if len(known) > 10 else local_day(time)) < known


def _is_owners(passage: Passage) -> bool:
    return passage.origin in (None, "owner")


def _given(operation: Mapping[str, Any], key: str) -> Any:
    """Return the value of a key, under any of the names that models use for it."""
    return next((operation[name] for name in _KEYS[key] if operation.get(name)), None)


def _op(operation: Mapping[str, Any]) -> str | None:
    name = operation.get("op")
    if name is None and isinstance(operation.get("text"), str):
        name = "supersede" if _given(operation, "which") else "add"
    return OPERATIONS.get(name.strip().lower()) if isinstance(name, str) else None


def _matters_for(operation: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the occasions of `for`, in a list or as one text; anything else is ignored."""
    given = operation.get("for")
    return phrases(
        text for text in (given if isinstance(given, list) else [given]) if isinstance(text, str)
    )


def fact_on(line: str) -> str:
    """Return the fact on a line; "" if it is struck out, a heading or only marks."""
    text = fact_of_line(line) or ""
    return text if any(map(str.isalnum, folded(text))) else ""


def to_memory(fact: CapturedFact, session: str, program: str = "") -> Fact:
    """Convert a captured fact for memory, with its origin; a session's facts are undone together.

    It is recorded under the day on which it was said. A fact with a secret is not written, as the
    transcript has only a stand-in for the secret. If the conversation took place in another
    `program`, the fact waits for the owner's review.
    """
    return Fact(
        fact.text,
        SECTION,
        fact.replaces,
        Origin(program or fact.kind, session, fact.entries),
        together=session,
        secrets="ask",
        waits=bool(program) or fact.waits,
        under=fact.under,
        recorded=fact.day,
        matters_for=fact.matters_for,
    )


def origin_in_turn(text: str, session: str, turns: Sequence[Turn]) -> Origin:
    """Return the origin of a fact that the model writes during the last of these turns.

    It is a tool's if any tool except memory's own has answered in the turn, or if one did earlier
    and the owner's words do not state the fact.
    """
    without_memory = [
        Turn(
            tuple(entry for entry in turn.entries if getattr(entry, "tool", "") not in MEMORY_TOOLS)
        )
        for turn in turns
    ]
    cited = tuple(speakers(without_memory[-1:]))
    tainted = is_tainted(entry for turn in without_memory for entry in turn.entries)
    attributed = speakers(without_memory) | speakers(without_memory[-1:])
    owners = [
        owners_words(message.text) for message in attributed.values() if message.kind == "owner"
    ]
    is_tools = least_trusted(cited, attributed) == "tool" or (tainted and not is_said(text, owners))
    return Origin("tool" if is_tools else "assistant", session, cited)


def shown_facts(entries: Iterable[Entry]) -> set[str]:
    """Return the folded texts of all passages that memory has put into this session's prompts."""
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
    """Return whether a fact only repeats what memory has put into the prompt: recalled passages, or
    the `known` facts of a memory that is in the prompt entirely.

    A fact that the owner states is an echo only if its text was shown after they stated it, and if
    it replaces none: they may have returned to what used to be true. A fact of the assistant's, or
    with hardly any of the owner's words, is an echo if a shown passage has most of its words and
    all of its numbers.
    """
    if fact.kind == "owner" and fact.replaces:
        return False
    stated = [isinstance(entry, UserEntry) and entry.id in fact.entries for entry in session]
    owner_texts = [entry.text for entry in session if isinstance(entry, UserEntry)]
    is_news = fact.replaces or fact.kind == "tool"
    is_theirs = fact.kind == "owner" and _support(fact.text, owner_texts) >= QUOTED_SHARE
    if any(stated) and (is_theirs or fact.kind == "tool"):
        return folded(fact.text) in shown_facts(session[stated.index(True) :])
    numbers = {word for word in folded(fact.text).split() if not word.isalpha()}
    in_prompt = () if is_news else (folded(passage.shown) for passage in known)
    shown_texts = shown_facts(session).union(in_prompt)
    return any(
        numbers <= set(known_text.split()) and _support(fact.text, [known_text]) >= ECHO
        for known_text in shown_texts
    )


def _operations(answer: str) -> tuple[list[dict[str, Any]], bool]:
    """Return the operations of an answer, except one that is cut off, and whether one is.

    Thoughts, fences and other text around them are ignored; they may be in one JSON text or
    several, in a list or not, or under a name. Raises ValueError if there are none.
    """
    text = _THOUGHT.sub("", answer)
    if len(text) > ANSWER_LIMIT:
        raise ValueError(f"the answer is longer than {ANSWER_LIMIT:,} characters")
    try:
        values, is_cut_off = _decoded(text)
        values = [value for value in values if not isinstance(value, list) or _is_data(value)]
        items = [item for value in values for item in _items(value)]
    except RecursionError:
        raise ValueError("the answer holds too many brackets inside one another") from None
    if not values:
        raise ValueError("the answer holds no JSON")
    if items and not any(map(_is_operation, items)):
        raise ValueError("the answer holds no list of operations")
    operations = [item if isinstance(item, dict) and _is_operation(item) else {} for item in items]
    is_cut_off = is_cut_off and bool(operations)
    return operations[:-1] if is_cut_off else operations, is_cut_off


def _decoded(text: str) -> tuple[list[object], bool]:
    """Return the JSON objects and arrays of a text, repaired if necessary, and whether the last is
    cut off."""
    values: list[object] = []
    end = 0
    while start := _BRACKET.search(text, end):
        try:
            value, end = _DECODER.raw_decode(text, start.start())
        except ValueError:
            from json_repair import repair_json  # only if an answer needs it

            end = _closing(text, start.start())
            value = repair_json(text[start.start() : end], return_objects=True)
        values.append(value)
    is_closed = not values or re.search(r"[\]}][^\w\"]*$", text) or end < len(text)
    return values, not is_closed


def _closing(text: str, start: int) -> int:
    """Return the end of the brackets that open here, outside strings; the text's if unclosed.

    Raises RecursionError if they are nested too deeply.
    """
    depth = 0
    for token in _TOKEN.finditer(text, start):
        depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(token[0], 0)
        if depth == 0:
            return token.end()
        if depth > DEEPEST:
            raise RecursionError
    return len(text)


def _is_data(value: list[object]) -> bool:
    """Return whether an array may contain operations, unlike a mark such as [1] in prose."""
    return not value or any(isinstance(item, dict | list) for item in value)


def _items(value: object) -> list[object]:
    """Return the items of a JSON value that may be operations, without enclosing lists and names;
    if some values have operations, the others are left out."""
    if isinstance(value, list):
        return [item for inner in value for item in _items(inner)]
    inner = value.values() if isinstance(value, dict) and not _is_operation(value) else ()
    inner_items = [_items(item) for item in inner if isinstance(item, dict | list)]
    holding = [items for items in inner_items if any(map(_is_operation, items))]
    return [item for items in holding or inner_items for item in items] if inner_items else [value]


def _is_operation(value: object) -> bool:
    return isinstance(value, dict) and ("op" in value or "text" in value)


def _support(text: str, sources: Iterable[str]) -> float:
    """Return the share of the text's words, except short ones, that occur in the sources."""
    words = {word for word in folded(text).split() if len(word) > 3 or not word.isalpha()}
    source_words = {word for source in sources for word in folded(source).split()}
    return len(words & source_words) / len(words) if words else 0.0
