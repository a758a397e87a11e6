"""Determine who is behind the statements of a conversation, and which are the owner's. Pure.

A tool's output may be written to deceive, and so may a letter that the owner pasted. For the rest
of the conversation, in a summary, in the assistant's words or in disguise, it may be the source of
whatever the model wants to remember. So a fact is the owner's only if their statements have enough
of its words, and if it has no word, number or date that only others brought in.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from itertools import groupby

from assistant.memory.text.identity import fold
from assistant.memory.text.language import is_function_word, language_of, stem
from assistant.memory.text.markdown import plain
from assistant.memory.text.times.dates import mentioned
from assistant.memory.text.times.languages import languages
from assistant.messages import FORGOTTEN, without_forgotten
from assistant.model.smalltalk import ASKING, REQUESTS, THAT
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
from assistant.tables import table_of

MEMORY_TOOLS = frozenset({"recall", "agenda", "remember"})
"""Tools whose results are memory's own text."""
INWARD = MEMORY_TOOLS | {"note"}
"""Tools whose results contain nothing from outside."""
_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？؟])\s*|\n+")


@dataclass(frozen=True, slots=True)
class AttributedText:
    """The text of an entry, and who is behind it: owner, assistant, recalled or tool."""

    kind: str
    text: str


def outside_texts(entries: Iterable[Entry]) -> Iterator[str]:
    """Yield the texts of a conversation from outside: the output of tools, attachments, pastes.

    What a picture says is known only from the replies after it: their names, numbers and dates.
    """
    questions: set[str] = set()
    has_picture = False
    for entry in entries:
        match entry:
            case QuestionEntry(call_id=call_id):
                questions.add(call_id)
            case AttachmentEntry(text=text, inward=False, picture=picture):
                has_picture = has_picture or bool(picture)
                yield text
            case AssistantEntry(text=text, time=time) if has_picture:
                dates = (text[when.start : when.end] for when in mentioned(text, time[:10] or None))
                yield " ".join((*names_in(text), *dates))
            case UserEntry(text=text) if part := pasted(text):
                yield part
            case ToolResultEntry(call_id=call_id, tool=tool, content=text, synthetic=False):
                if call_id not in questions and tool not in INWARD:
                    yield text


def is_tainted(entries: Iterable[Entry]) -> bool:
    """Return whether a conversation has text from outside."""
    return any(True for _ in outside_texts(entries))


def speakers(turns: Sequence[Turn], *, tainted: bool = False) -> dict[str, AttributedText]:
    """Return who is behind each entry, by its id.

    The assistant's words count as recalled once the turn has recalled passages, and as a tool's
    after the first output of a tool. `tainted`: there was such an output before these turns.
    """
    origins: dict[str, AttributedText] = {}
    for turn in turns:
        speaker = "tool" if tainted else "assistant"
        offered: dict[str, tuple[str, ...]] = {}
        for entry in turn.entries:
            match entry:
                case UserEntry(text=text):
                    origins[entry.id] = AttributedText("owner", text)
                case RecalledEntry(passages=passages) if passages and speaker == "assistant":
                    speaker = "recalled"
                case QuestionEntry(call_id=call_id, options=options):
                    offered[call_id] = options
                case ToolResultEntry(call_id=call_id, content=answer) if call_id in offered:
                    typed = answer not in offered[call_id]
                    origins[entry.id] = AttributedText("owner" if typed else speaker, answer)
                case AttachmentEntry(text=text, inward=True):
                    origins[entry.id] = AttributedText(speaker, text)
                case ToolResultEntry(content=content) | AttachmentEntry(text=content):
                    speaker = "tool"
                    origins[entry.id] = AttributedText("tool", content)
                case AssistantEntry(text=text):
                    origins[entry.id] = AttributedText(speaker, text)
        tainted = tainted or is_tainted(turn.entries)
    return origins


def least_trusted(cited: Sequence[str], attributed: Mapping[str, AttributedText]) -> str:
    """Return the least trusted kind of the cited entries: tool, assistant, recalled or owner.
    Recalled and owner together count as the assistant's."""
    kinds = {attributed[entry].kind for entry in cited}
    if "tool" in kinds or len(kinds) == 1:
        return "tool" if "tool" in kinds else kinds.pop()
    return "assistant"


def is_repeated(text: str, attributed: Mapping[str, AttributedText], owners: Sequence[str]) -> bool:
    """Return whether the assistant states a text in one sentence, and the owner's words do not."""
    others = [message.text for message in attributed.values() if message.kind != "owner"]
    parts = (part for other in others for part in sentences(other))
    return not is_said(text, owners) and any(is_said(text, [part]) for part in parts)


# What the owner has pasted

_DATA = table_of(__file__)


def _words(name: str) -> str:
    return str(_DATA[name]).replace("\n", "")


def _compiled(name: str, pattern: str) -> "re.Pattern[str]":
    return re.compile(pattern.format(_words(name)), re.IGNORECASE)


_WHOLE = r"(?<![a-zß-ÿа-я])(?:{})(?![a-zß-ÿа-я])"
"""Any of these words, also within text that does not separate words."""
_HEADER = _compiled("headers", r"(?:{}) ?: ?\S.*")
_FORWARDED = _compiled("forwarded", r"\s*(?:{})\s*")
_ASKING = re.compile(_WHOLE.format(ASKING) + r"(?:\W+\w+){0,3}\s*[:：]$", re.IGNORECASE)
"""At the end of a line, with a few words between it and the colon."""
_REQUEST = re.compile(rf"[¿\s]*(?:{REQUESTS})\b.*\b(?:{ASKING}|note)\W+{THAT}\b", re.IGNORECASE)
"""A sentence that asks whether the assistant can remember that something is so."""
_TAG = _compiled("tags", r"[,，、،–—-] ?¿?(?:{}) ?[?？؟]\W*$")
_LOGGED = re.compile(
    r"\W?(?:\[[^\]]*\d{1,2}[:.]\d\d[^\]]*\]|\d[\d./-]+,?\s+\d{1,2}[:.]\d\d[^-–]{0,9}[-–])\s*"
    r"[^:]{1,40}:\s.*"
)
"""A line of an exported chat: its time, in brackets or with a date, the author, and the text."""
_LISTED = re.compile(r"\s*(?:[-*+•–]|\d{1,2}[.)]|\[[ x]?\])\s")
_SENTENCE = re.compile(r"[.!?,;:。！？，：…]$")
_CLOSING = re.compile(
    r"[^\s:]+(?: [^\s:]+){0,3}(?:,\s|\n(?![a-zß-öø-ÿа-яё]))[^\s:]+(?: [^\s:]+){0,3}"
)
"""The end of a letter: a short line, and a name below it, or after it and a comma."""
_SIGNED = _compiled(
    "closings", rf"(?:[.!?]\s+|\n)(?:\S+ ){{{{0,3}}}}{_WHOLE}[,\n]\s*(?:\S+ ?){{{{1,5}}}}(?:\n\n|$)"
)
"""The end of a letter that begins on the line of its salutation: told by its words."""
_FOOTER = re.compile(r"^p\.? ?s\b|@|://|www\.|\d{5}", re.IGNORECASE)
"""What follows the end of a letter and belongs to it."""
LOOKED_AT = 40
"""The number of lines after one with a colon that are examined to tell a list from a text."""
SALUTATION = 6
"""The maximum number of words of a line that addresses the reader of a letter."""


def pasted(text: str) -> str:
    """Return the lines of a message by somebody else: quotes, fences, mails, introduced texts."""
    return "\n".join(line for line, own in _lines(text) if not own)


def owners_words(text: str) -> str:
    """Return the lines of a message by the owner."""
    return "\n".join(line for line, own in _lines(text) if own)


def message_without_forgotten(text: str) -> str:
    """Return a message without the remains of purged text; what is by somebody else is quoted, as
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
    """Yield the lines of a message, each with whether it is the owner's own words."""
    lines = text.split("\n")
    bare = [line.strip() for line in lines]
    footer = max((n for n, line in enumerate(bare) if _FOOTER.search(line)), default=-1)
    first = next((n for n, line in enumerate(bare) if line), 0)
    fence, is_own = "", True
    for number, line in enumerate(lines):
        mark = bare[number][:3]
        if fence:
            fence = "" if mark == fence else fence
            yield line, False
            continue
        if mark in ("```", "~~~"):
            fence = mark
            yield line, False
            continue
        if is_own:
            headers = [bool(_HEADER.fullmatch(line)) for line in bare[number : number + 2]]
            is_own = headers != [True, True] and not _FORWARDED.fullmatch(line)
            is_own = is_own and not _is_salutation(bare, number, first)
        elif mark and not bare[number - 1]:
            is_own = number > footer and _is_closed(bare[max(0, number - 4) : number])
        is_quoted = line.lstrip().startswith(">") or _LOGGED.fullmatch(line)
        yield line, is_own and not is_quoted
        is_own = is_own and not _introduces(bare, number)


def _introduces(lines: Sequence[str], number: int) -> bool:
    """Return whether a line ends with a colon, and a text follows; a list would be the owner's, and
    so is what they ask to remember."""
    if not lines[number].endswith((":", "：")) or _ASKING.search(lines[number]):
        return False
    below = _paragraphs(lines[number + 1 : number + LOOKED_AT])[0].split("\n")
    is_list = len(below) > 1 and not any(map(_SENTENCE.search, below))
    return bool(below[0]) and not (is_list or _LISTED.match(below[0]))


def _is_salutation(lines: Sequence[str], number: int, first: int) -> bool:
    """Return whether a line begins by addressing the reader of a letter; the first of a message may
    address the assistant, unless the end of a letter follows."""
    address, comma, rest = lines[number].replace("，", ",").partition(",")
    if not comma or len(address.split()) > SALUTATION:
        return False
    if number > first:
        return not rest and any(lines[number + 1 : number + 3])
    below = lines[number + 1 :]
    if rest:
        return _SIGNED.search("\n".join([rest, *below])) is not None
    return any(map(_CLOSING.fullmatch, _paragraphs(below)))


def _is_closed(lines: Sequence[str]) -> bool:
    """Return whether a letter ends with these lines."""
    return _CLOSING.fullmatch(_paragraphs(lines)[-1]) is not None


def _paragraphs(lines: Sequence[str]) -> list[str]:
    return re.split("\n{2,}", "\n".join(lines).strip())


# Whether the owner's words state a fact

OWNER = frozenset(fold(_DATA["owner"]).split())
"""Words by which a fact refers to the owner."""
RESTATING = OWNER | frozenset(_DATA["wording"].split())
"""Words that a fact may have in addition to the owner's."""
NEGATIONS = frozenset(fold(_DATA["negations"]).split())
_SHORTEST_NAME = 5
"""The minimum length of a word that may be recognised by its beginning."""
QUOTED_SHARE = 1 / 4
"""The minimum share of a fact's words that must be the owner's if there is text from outside;
below it, their quote is a pretence."""
UNQUOTED_SHARE = 1 / 2
"""The share of a fact's words that must be the owner's without a quote, or with a question."""
_WORD = re.compile(r"\d+(?::\d\d)+|[^\W_]+")
_ELIDED = re.compile(r"\b([cdjlmnst]|qu|dell|all|nell|sull)['’](?=\w)", re.IGNORECASE)
_THOUSANDS = re.compile(r"(?<=\d)[.,\u202f'](?=\d{3}\b)")
_SYLLABLES = "\uac00-\ud7a3"
_QUESTION = re.compile(r"[?？؟][\"'”’»)! ]*$")
_ASKS = _compiled("asks", r"(?:(?:{})\b|[能可有你该怎什哪])")
_STATED = re.compile(rf"(.+?)(?:[,，;–—-] ?{_ASKS.pattern}|¿).*", re.IGNORECASE)
_SUPPOSED = _compiled("supposed", r"\b(?:{})\b|如果|要是|もし|만약")
_CONFIRMED = _compiled("confirmed", r"[,，、;–—¿-] ?(?:{}) ?[?？؟]\W*$")
_GIVEN = _compiled("given", r"(?:{})\b.*")
WHOSE = 4
"""The number of words before ", who" that may say who is meant."""
_SPELT = "\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u1950-\u19df\u1a20-\u1aaf"
_UNSPACED = re.compile(
    f"[{_SYLLABLES}{_SPELT}\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]+"
)
"""Scripts that do not separate words, or attach particles to them."""
_HIRAGANA = re.compile("[\u3040-\u309f]+")
_STRAIGHT = str.maketrans("’‘`´“”„«»–—‑", '\'\'\'\'"""""---')
_PARTICLE = _compiled("particles", "{}")
"""Particles, and words for the owner, in those scripts."""


def holds(text: str, quote: str) -> bool:
    """Return whether a text contains a quote, ignoring white space, case and the form of quotation
    marks and dashes."""
    needle = _even(quote).strip("\"'“”„«».…, ")
    return len(needle) > 1 and needle in _even(text)


def _even(text: str) -> str:
    straight = unicodedata.normalize("NFKC", text).translate(_STRAIGHT)
    return " ".join(straight.casefold().split())


def sentences(text: str) -> list[str]:
    """Return the sentences of a text."""
    return [part for part in map(str.strip, _SENTENCE_END.split(text)) if part]


def statements_of(text: str) -> list[str]:
    """Return the sentences of a text that are not questions, without tags such as "okay?"; a
    question whether the assistant can remember something states it."""
    parts = (part if _ASKS.match(part) else _TAG.sub("", part) for part in sentences(text))
    return [part for part in parts if not _QUESTION.search(part) or _REQUEST.match(part)]


def is_stated(quote: str, text: str) -> bool:
    """Return whether a quote from a text contains a statement, or is within one."""
    statements, clauses = statements_of(text), _clauses_of(text)
    return any(holds(part, quote) or holds(quote, part) for part in statements) or any(
        holds(clause, quote) for clause in clauses
    )


def _clauses_of(text: str) -> list[str]:
    """Return what the questions of a text state besides: before the clause that asks, and as a
    reason or an explanation."""
    clauses = []
    for part in sentences(text):
        if not _QUESTION.search(part) or _CONFIRMED.search(part):
            continue
        if not _ASKS.match(part) and (match := _STATED.fullmatch(part)):
            clauses.append(match[1])
        if match := _GIVEN.search(part):
            whose = part[: match.start()].split()[-WHOSE:] if match[0][0] == "," else []
            clauses.append(" ".join(whose) + match[0])
    return [clause for clause in clauses if not _SUPPOSED.search(clause)]


def names_in(text: str, anchor: str | None = None) -> list[str]:
    """Return the names and numbers of a text, except dates; adjacent capitalised words are one
    name."""
    words = re.findall(r"\w(?:\S*\w)?", _without_dates(text, anchor)[0])
    runs = groupby(words, key=lambda word: word[0].isupper())
    names = [" ".join(run) for is_name, run in runs if is_name]
    return [*names, *(word for word in words if word[0].isdigit())]


def is_said(text: str, owners: Iterable[str]) -> bool:
    """Return whether the owner's words state all of a text, in any inflection."""
    language = language_of(text)
    roots = _all_roots(owners, language)
    return all(_is_among(root, roots) for root in _parts(text, language).values())


def have_a_common_word(text: str, other: str) -> bool:
    """Return whether two texts share a telling word; true if their script does not separate
    words."""
    language = language_of(text)
    words = set(_WORD.findall(folded(text))) - OWNER
    roots = {stem(word, language) for word in words if not is_function_word(word, language)}
    return bool(_UNSPACED.search(text)) or not roots.isdisjoint(_roots(other, language))


@dataclass(frozen=True, slots=True)
class Backing:
    """How far the owner supports a fact: the `share` of its words that are theirs, whether its
    `numbers` are, apart from the year of a day, and whether it has something that only others
    `brought` in."""

    share: float
    numbers: bool
    brought: bool


def backing(
    text: str, owners: Sequence[str], outside: Sequence[str], day: date | None, kept: str = ""
) -> Backing:
    """Return how far the owner's words, said on this day, back a fact; it may repeat what it
    replaces.

    A word, number or date has been brought in if the owner's words lack it and a text from outside
    has it; so has a negation, if the owner negates nothing. Other words may be the model's own, and
    dates and numbers resolved from the owner's.
    """
    language, anchor = language_of(text), day.isoformat() if day else None
    rest, dates = _without_dates(text, anchor)
    parts = _parts(rest, language)
    theirs, foreign = _all_roots(owners, language), _all_roots(outside, language)
    missing = {word: root for word, root in parts.items() if not _is_among(root, theirs)}
    new = {word: root for word, root in missing.items() if root not in _roots(kept, language)}
    outside_dates, owner_dates = (
        {when for part in texts for when in _without_dates(part, anchor)[1]}
        for texts in (outside, owners)
    )
    brought = (
        any(_has_form(foreign, root) for root in new.values())
        or bool(dates & outside_dates - owner_dates)
        or (bool(outside) and not NEGATIONS.isdisjoint(new) and not _negate(owners))
    )
    resolved = len(dates & owner_dates)
    share = (len(parts) - len(missing) + resolved) / max(1, len(parts) + resolved)
    years = {str(day.year), str(day.year + 1)} if day else ()
    numbers = {word for word in new if word[0].isdigit()}.difference(years)
    return Backing(share, not numbers, brought)


def _all_roots(texts: Iterable[str], language: str) -> frozenset[str]:
    return frozenset().union(*(_roots(text, language) for text in texts))


def _has_form(roots: frozenset[str], root: str) -> bool:
    """Return whether a root is among others, up to two letters: stemmers inflect few names."""
    if root in roots or len(root) < _SHORTEST_NAME or not root.isalpha():
        return root in roots
    shorter = {root[:end] for end in (-1, -2) if len(root) + end >= _SHORTEST_NAME}
    return not shorter.isdisjoint(roots) or any(
        other.startswith(root) and len(other) < len(root) + 3 for other in roots
    )


def _negate(texts: Iterable[str]) -> bool:
    words = {word for text in texts for word in folded(text).split()}
    return not NEGATIONS.isdisjoint(words) or any("n't" in _even(text) for text in texts)


def _is_among(root: str, roots: frozenset[str]) -> bool:
    """Return whether a root is among others; of a time (7:30), its parts may be."""
    return root in roots or (":" in root and roots.issuperset(root.split(":")))


@lru_cache(10_000)
def _parts(text: str, language: str) -> Mapping[str, str]:
    """Return the meaningful words of a text, with their stems; in scripts that do not separate
    words, the short stretches between particles."""
    whole = folded(text)
    words = _numbered(_UNSPACED.sub(" ", whole))
    parts = {word: stem(word, language) for word in words if not _is_idle(word, language)}
    runs = (_PARTICLE.sub(" ", run).split() for run in _UNSPACED.findall(whole))
    stretches = {gram for run in runs for piece in run for gram in _stretches(piece)}
    return parts | {gram: gram for gram in stretches}


@lru_cache(10_000)
def _roots(text: str, language: str) -> frozenset[str]:
    """Return the stems of all words of a text, with afternoon hours in both forms."""
    whole = folded(text)
    words = set(_numbered(whole))
    pieces = {piece.lstrip("0") for word in words for piece in re.findall(r"\d+", word)} - {""}
    named = _number_words()
    pieces |= {named[word] for word in words if word in named}
    hours = {str(int(word) + 12) for word in words | pieces if word.isdigit() and int(word) < 12}
    grams = (gram for run in _UNSPACED.findall(whole) for gram in _stretches(run, every=True))
    return frozenset(stem(word, language) for word in words | pieces | hours).union(grams)


@lru_cache(1)
def _number_words() -> Mapping[str, str]:
    """Return the numbers from one to twelve, by their words in all languages of dates."""
    return {
        word: str(number)
        for language in languages().values()
        for number, words in enumerate(language.numbers.split(), start=1)
        for word in words.split("|")
    }


def _numbered(text: str) -> Iterator[str]:
    """Yield the words of a text; 1,200 as one number, without zeros before a digit or alone."""
    for word in _WORD.findall(_THOUSANDS.sub("", text)):
        digits = [part.lstrip("0") for part in word.split(":")]
        if normal := ":".join(filter(None, digits)) if word[0].isdigit() else word:
            yield normal


def _stretches(run: str, *, every: bool = False) -> Iterator[str]:
    """Yield substitutes for the words of a run of letters: all stretches of two, or of four if
    letters spell a word; for Korean, the beginning. Without `every`, inflections are left out."""
    if re.match(f"[{_SYLLABLES}]", run):
        yield run[:2]
        return
    longest = 4 if re.match(f"[{_SPELT}]", run) else 2
    inflects = not every and not _HIRAGANA.fullmatch(run)
    for length in range(2 if every else min(longest, max(2, len(run))), longest + 1):
        for start in range(len(run) - length + 1):
            gram = run[start : start + length]
            if not (inflects and _HIRAGANA.fullmatch(gram)):
                yield gram


def _is_idle(word: str, language: str) -> bool:
    """Return whether a word adds no meaning, even if the owner did not say it."""
    is_function = is_function_word(word, language) or is_function_word(word, "english")
    return word in RESTATING or (is_function and word not in NEGATIONS)


@lru_cache(2_000)
def _without_dates(text: str, anchor: str | None) -> tuple[str, frozenset[str]]:
    """Return a text without its dates, and the dates (ISO), relative to the day `anchor`."""
    dates = mentioned(text, anchor)
    for when in dates:
        text = text[: when.start] + " " * (when.end - when.start) + text[when.end :]
    return text, frozenset(when.period.iso for when in dates)


@lru_cache(10_000)
def folded(text: str) -> str:
    """Return the normal form of a text, with ss for ß; an article before an apostrophe becomes a
    separate word."""
    return fold(_ELIDED.sub(r"\1 ", plain(text))).casefold()
