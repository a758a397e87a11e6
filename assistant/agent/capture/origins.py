"""Determine who is behind the statements of a conversation, and which are the owner's. Pure.

A tool's output may have been written to deceive, and so may a mail that the owner pasted. For the
rest of the conversation, in a summary, in the assistant's words or in disguise, it may be behind
whatever the model wants to remember. From the first such text on, a fact is the owner's only if it
quotes them and has no name, number or order that only others brought in; without a quote, only if
the owner's own words state all of it.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

from assistant.memory.text.identity import fold
from assistant.memory.text.language import CAPITALISES_NOUNS, is_function_word, language_of, stem
from assistant.memory.text.markdown import plain
from assistant.memory.text.times.dates import mentioned
from assistant.messages import FORGOTTEN, without_forgotten
from assistant.session.entries import (
    AssistantEntry,
    AttachmentEntry,
    Entry,
    QuestionEntry,
    RecalledEntry,
    ToolResultEntry,
    UserEntry,
)
from assistant.session.history import Turn
from assistant.tables import beside

MEMORY_TOOLS = frozenset({"recall", "agenda", "remember"})
"""Tools whose results are memory's own text."""
INWARD = MEMORY_TOOLS | {"note"}
"""Tools whose results contain nothing from outside."""
_SENTENCE_END = re.compile(r"(?<=[.!?…。！？])\s*|\n+")


@dataclass(frozen=True, slots=True)
class Said:
    """The text of an entry, and who is behind it: owner, assistant, recalled or tool."""

    kind: str
    text: str


def outside_texts(entries: Iterable[Entry]) -> Iterator[str]:
    """The texts of a conversation from outside: the output of tools, attachments, pastes."""
    questions: set[str] = set()
    for entry in entries:
        match entry:
            case QuestionEntry(call_id=call_id):
                questions.add(call_id)
            case AttachmentEntry(text=text, inward=False):
                yield text
            case UserEntry(text=text) if part := pasted(text):
                yield part
            case ToolResultEntry(call_id=call_id, tool=tool, content=text, synthetic=False):
                if call_id not in questions and tool not in INWARD:
                    yield text


def is_tainted(entries: Iterable[Entry]) -> bool:
    """Whether a conversation has text from outside."""
    return any(True for _ in outside_texts(entries))


def speakers(turns: Sequence[Turn], *, tainted: bool = False) -> dict[str, Said]:
    """Who is behind each entry, by its id.

    The assistant's words count as recalled once the turn has recalled passages, and as a tool's
    from the first output of a tool on. `tainted`: there was such an output before these turns.
    """
    origins: dict[str, Said] = {}
    for turn in turns:
        speaker = "tool" if tainted else "assistant"
        offered: dict[str, tuple[str, ...]] = {}
        for entry in turn.entries:
            match entry:
                case UserEntry(text=text):
                    origins[entry.id] = Said("owner", text)
                case RecalledEntry(passages=passages) if passages and speaker == "assistant":
                    speaker = "recalled"
                case QuestionEntry(call_id=call_id, options=options):
                    offered[call_id] = options
                case ToolResultEntry(call_id=call_id, content=answer) if call_id in offered:
                    typed = answer not in offered[call_id]
                    origins[entry.id] = Said("owner" if typed else speaker, answer)
                case AttachmentEntry(text=text, inward=True):
                    origins[entry.id] = Said(speaker, text)
                case ToolResultEntry(content=content) | AttachmentEntry(text=content):
                    speaker = "tool"
                    origins[entry.id] = Said("tool", content)
                case AssistantEntry(text=text):
                    origins[entry.id] = Said(speaker, text)
        tainted = tainted or is_tainted(turn.entries)
    return origins


def kind_of(
    text: str,
    cited: Sequence[str],
    said: Mapping[str, Said],
    *,
    tainted: bool,
    owners: Sequence[str],
) -> str:
    """Owner, assistant, recalled or tool: the least trusted kind of the cited entries.

    A text that cites only what the assistant said after memory was recalled is recalled. In a
    tainted conversation a text that the `owners` words do not state is a tool's, whatever it cites.
    A text that the assistant states, and the owner's words do not, is never the owner's.
    """
    kinds = {said[entry].kind for entry in cited}
    if "tool" in kinds or (tainted and not is_said(text, owners)):
        return "tool"
    if kinds == {"owner"}:
        others = [message.text for message in said.values() if message.kind != "owner"]
        sentences = (part for other in others for part in _SENTENCE_END.split(other))
        is_theirs = not is_said(text, owners) and any(is_said(text, [part]) for part in sentences)
        return "assistant" if is_theirs else "owner"
    return "recalled" if kinds == {"recalled"} else "assistant"


# What the owner has pasted

_DATA = beside(__file__)


def _compiled(name: str, pattern: str) -> "re.Pattern[str]":
    words = _DATA[name].replace("\n", "")
    return re.compile(pattern.format(words), re.IGNORECASE)


_HEADER = _compiled("headers", r"(?:{}) ?: ?\S.*")
_FORWARDED = _compiled("forwarded", r"\s*(?:{})\s*")
_INTRODUCED = _compiled("introduced", r"\b(?:{})\b[^.!?\n]*[:：]\s*$")


def pasted(text: str) -> str:
    """The lines of a message by somebody else: quotes, fences, mails and texts it introduces."""
    return "\n".join(line for line, own in _lines(text) if not own)


def owners_words(text: str) -> str:
    """The lines of a message by the owner."""
    return "\n".join(line for line, own in _lines(text) if own)


def message_without_forgotten(text: str) -> str:
    """A message without what a purge has left of it; what is by somebody else is then quoted, as
    the line that showed this may be gone."""
    if FORGOTTEN not in text:
        return text
    lines: list[str] = []
    for line, is_own in _lines(text):
        left = without_forgotten(line)
        if left or not line.strip():
            is_marked = is_own or left.lstrip().startswith(">")
            lines.append(left if is_marked else f"> {left}")
    return "\n".join(lines).strip()


def _lines(text: str) -> Iterator[tuple[str, bool]]:
    """The lines of a message, each with whether it is the owner's own words."""
    lines = text.split("\n")
    fence, is_own = "", True
    for number, line in enumerate(lines):
        mark = line.strip()[:3]
        if fence:
            fence = "" if mark == fence else fence
            yield line, False
            continue
        if mark in ("```", "~~~"):
            fence = mark
            yield line, False
            continue
        headers = [bool(_HEADER.fullmatch(line.strip())) for line in lines[number : number + 2]]
        is_own = is_own and headers != [True, True] and not _FORWARDED.fullmatch(line)
        yield line, is_own and not line.lstrip().startswith(">")
        if _INTRODUCED.search(line) and any(line.strip() for line in lines[number + 1 :]):
            is_own = False


# Whether the owner's words state a fact

OWNER = frozenset(fold(_DATA["owner"]).split())
"""Words by which a fact refers to the owner."""
RESTATING = OWNER | frozenset(_DATA["wording"].split())
"""Words that a fact may have besides the owner's."""
TELLING = frozenset(fold(_DATA["negations"]).split()) | {"assistant", "you"}
"""Words that negate a fact, or turn it into an order to the assistant."""
QUOTED_SHARE = 1 / 4
"""The least share of a fact's words that must be the owner's, or its quote is only a pretence."""
_WORD = re.compile(r"[^\W_]+")
_ELIDED = re.compile(r"\b([cdjlmnst]|qu|dell|all|nell|sull)['’](?=\w)", re.IGNORECASE)
_UNSPACED = re.compile(
    "[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u1950-\u19df\u1a20-\u1aaf\u3040-\u30ff\u3400-\u9fff"
    "\uac00-\ud7a3\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]+"
)
"""Scripts that do not separate words, or attach particles to them."""
_PARTICLE = _compiled("particles", "{}")
"""Particles, and words for the owner, in those scripts."""


def holds(text: str, quote: str) -> bool:
    """Whether a text contains a quote, ignoring white space, case and the form of apostrophes."""
    needle = _even(quote).strip("\"'“”„«».…, ")
    return len(needle) > 1 and needle in _even(text)


def _even(text: str) -> str:
    straight = unicodedata.normalize("NFKC", text).translate(str.maketrans("’‘`´", "''''"))
    return " ".join(straight.casefold().split())


def outside_sentences(entries: Iterable[Entry]) -> list[str]:
    """The sentences of a conversation from outside."""
    parts = (part for text in outside_texts(entries) for part in _SENTENCE_END.split(text))
    return [part for part in parts if part.strip()]


def is_said(text: str, owners: Iterable[str]) -> bool:
    """Whether the owner's words state all of a text, in any inflection."""
    return not _unsaid(text, owners, language_of(text))


def have_a_common_word(text: str, other: str) -> bool:
    """Whether two texts share a telling word; also if their script does not separate words."""
    language = language_of(text)
    words = set(_WORD.findall(folded(text))) - OWNER
    roots = {stem(word, language) for word in words if not is_function_word(word, language)}
    return bool(_UNSPACED.search(text)) or not roots.isdisjoint(_roots(other, language))


def is_backed(
    text: str, owners: Sequence[str], outside: Sequence[str], day: date | None = None
) -> bool:
    """Whether the owner is behind a fact with a quote of theirs from this day.

    Names, numbers, negations and orders to the assistant must be the owner's. A date may be
    resolved from their words, unless it came from outside. Other words may be the model's own,
    unless a sentence from outside has them and most of the fact.
    """
    language = language_of(text)
    if not _unsaid(text, owners, language):
        return True
    if _UNSPACED.search(text):
        return False
    anchor = day.isoformat() if day else None
    rest, dates = _without_dates(text, anchor)
    outside_dates, owner_dates = (
        {when for part in texts for when in _without_dates(part, anchor)[1]}
        for texts in (outside, owners)
    )
    if dates & outside_dates - owner_dates:
        return False
    if not _numbers(rest) <= {number for part in owners for number in _numbers(part, clock=True)}:
        return False
    words = _words(rest, language)
    content = {word: root for word, root in words.items() if not word[0].isdigit()}
    missing = _unsaid(rest, owners, language) & content.keys()
    if len(missing) > len(content) * (1 - QUOTED_SHARE):
        return False
    if missing & (TELLING | _names(rest, language, outside)):
        return False
    for part in outside:
        roots = _roots(part, language)
        shared = {word for word, root in content.items() if root in roots}
        if missing & shared and len(shared) * 2 >= len(content):
            return False
    return True


def _unsaid(text: str, sources: Iterable[str], language: str) -> set[str]:
    """The words of a text that occur in none of the sources; in scripts that do not separate words,
    the pieces between particles."""
    folded_sources = [folded(source) for source in sources]
    roots = {root for source in folded_sources for root in _roots(source, language)}
    missing = {word for word, root in _words(text, language).items() if root not in roots}
    whole = " ".join(folded_sources)
    runs = (_PARTICLE.sub(" ", run).split() for run in _UNSPACED.findall(folded(text)))
    return missing | {piece for run in runs for piece in run if piece not in whole}


@lru_cache(10_000)
def _words(text: str, language: str) -> Mapping[str, str]:
    """The meaningful words of a text, with their stems."""
    words = _WORD.findall(_UNSPACED.sub(" ", folded(text)))
    return {word: stem(word, language) for word in words if not _is_idle(word, language)}


@lru_cache(10_000)
def _roots(text: str, language: str) -> frozenset[str]:
    return frozenset(stem(word, language) for word in _WORD.findall(folded(text)))


def _is_idle(word: str, language: str) -> bool:
    """Whether a word adds no meaning, even if the owner did not say it."""
    is_function = is_function_word(word, language) or is_function_word(word, "english")
    return word in RESTATING or (is_function and word not in TELLING)


def _names(text: str, language: str, outside: Iterable[str]) -> set[str]:
    """The words capitalised like names; the first word only if it came from outside, and none in
    languages that capitalise all nouns."""
    if language in CAPITALISES_NOUNS:
        return set()
    first, *others = re.findall(r"[^\W\d_][\w'’-]*", plain(text)) or [""]
    if any(stem(folded(first), language) in _roots(part, language) for part in outside):
        others.append(first)
    return {part for name in others if name != name.lower() for part in _WORD.findall(folded(name))}


@lru_cache(2_000)
def _without_dates(text: str, anchor: str | None) -> tuple[str, frozenset[str]]:
    """A text without its dates, and the dates (ISO), relative to the day `anchor`."""
    dates = mentioned(text, anchor)
    for when in dates:
        text = text[: when.start] + " " * (when.end - when.start) + text[when.end :]
    return text, frozenset(when.period.iso for when in dates)


def _numbers(text: str, *, clock: bool = False) -> set[str]:
    """The numbers of a text except 0, 1,200 as one; with `clock`, 3 also counts as 15 (hours)."""
    joined = re.sub(r"(?<=\d)[.,\u202f'](?=\d{3}\b)", "", text)
    numbers = {number.lstrip("0") for number in re.findall(r"\d+", joined)} - {""}
    hours = {int(number) for number in numbers if clock and len(number) < 3}
    return numbers | {str(hour + 12) for hour in hours if hour < 12}


@lru_cache(10_000)
def folded(text: str) -> str:
    """The normal form of a text; an article before an apostrophe becomes a word of its own."""
    return fold(_ELIDED.sub(r"\1 ", plain(text)))
