"""Who is behind what a conversation says, and what of it the owner said. Pure.

A tool's output may have been written to deceive, and so may a mail that the owner pasted. As long
as a conversation goes on, also in a summary, in what the assistant repeats or in a disguise, it may
be behind whatever the model wants to remember. From the first such output on a fact is the owner's
if it quotes them, and holds no name, number or order that only others brought in; without a quote
only if the owner's own words say all of it.
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

MEMORY_TOOLS = frozenset({"recall", "agenda", "remember"})
"""Tools whose results are memory's own words."""
INWARD = MEMORY_TOOLS | {"note"}
"""Tools whose results hold nothing from outside."""
_SENTENCE_END = re.compile(r"(?<=[.!?…。！？])\s*|\n+")


@dataclass(frozen=True, slots=True)
class Said:
    """What an entry says, and who is behind it: owner, assistant, recalled or tool."""

    kind: str
    text: str


def is_tainted(entries: Iterable[Entry]) -> bool:
    """Whether something from outside came into a conversation: a tool's output, an attachment."""
    asked: set[str] = set()
    for entry in entries:
        match entry:
            case QuestionEntry(call_id=call_id):
                asked.add(call_id)
            case AttachmentEntry():
                return True
            case UserEntry(text=text) if pasted(text):
                return True
            case ToolResultEntry(call_id=call_id, tool=tool, synthetic=False):
                if call_id not in asked and tool not in INWARD:
                    return True
    return False


def speakers(turns: Sequence[Turn], *, tainted: bool = False) -> dict[str, Said]:
    """Who is behind each entry: the assistant speaks for what it was shown, that is for what was
    recalled in the turn and, from a tool's first output on, for the tool. The conversation was
    `tainted` by one before these turns."""
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
                case ToolResultEntry(call_id=call_id, content=said) if call_id in offered:
                    typed = said not in offered[call_id]
                    origins[entry.id] = Said("owner" if typed else speaker, said)
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
    """Owner, assistant, recalled or tool: the least trusted of the cited entries.

    Recalled is what the assistant alone says, when memory had just been put before it. In a
    tainted conversation a text is the tool's that the `owners` words do not say, whatever it cites;
    in any, what a sentence of the assistant's says and the owner's words do not is not the owner's.
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


# What the owner has only pasted

_HEADERS = (
    "from|to|cc|subject|date|sent|von|an|betreff|datum|gesendet|de|para|asunto|fecha|à|objet|envoyé"
)
_HEADER = re.compile(rf"(?:{_HEADERS}) ?: ?\S.*", re.IGNORECASE)
_FORWARDED = re.compile(
    r"\s*(?:-{2,}.*(?:forwarded|original|weitergeleitete|ursprüngliche|reenviado|transféré).*-{2,}"
    r"|begin forwarded message:?|on .{6,80} wrote:|am .{6,80} schrieb .{1,80}:)\s*",
    re.IGNORECASE,
)
_INTRODUCED = re.compile(
    r"\b(?:e-?mails?|mail|message|letter|document|article|page|text|transcript|minutes|wrote|writes"
    r"|brief|nachricht|dokument|artikel|schrieb|schreibt|correo|mensaje|carta|documento|escribió"
    r"|courriel|lettre|article|écrit|письмо|сообщение|邮件|信|メール|手紙)\b[^.!?\n]*[:：]\s*$",
    re.IGNORECASE,
)


def pasted(text: str) -> str:
    """What of a message comes from somebody else: quoted lines, fences, mails, introduced texts."""
    return "\n".join(line for line, own in _lines(text) if not own)


def owners_words(text: str) -> str:
    """The rest of it."""
    return "\n".join(line for line, own in _lines(text) if own)


def _lines(text: str) -> Iterator[tuple[str, bool]]:
    """The lines of a message, and whether they are the owner's own words."""
    lines = text.split("\n")
    fence, ours = "", True
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
        ours = ours and headers != [True, True] and not _FORWARDED.fullmatch(line)
        yield line, ours and not line.lstrip().startswith(">")
        if _INTRODUCED.search(line) and any(line.strip() for line in lines[number + 1 :]):
            ours = False


# Whether the owner's words say a fact

_OWNER = """owner owners user users s lives named called besitzer besitzers nutzer nutzers dueño
usuario propietario propriétaire utilisateur proprietario utente usuário dono eigenaar gebruiker
владелец пользователь المستخدم المالك"""
RESTATING = frozenset(fold(_OWNER).split())
"""Words by which a fact names its owner."""
_NEGATIONS = """no not nor never none without nicht kein keine keinen nie niemals ohne ni nunca
jamás sin ne n pas jamais sans non mai senza não sem niet geen nooit zonder не нет ни никогда без
لا لم لن ليس"""
TELLING = frozenset(fold(_NEGATIONS).split()) | {"assistant", "you"}
"""Words that turn a fact into its opposite, or into an order to the assistant."""
QUOTED_SHARE = 1 / 4
"""Of the words of a fact the owner's own must hold so many, or it only pretends to quote them."""
_WORD = re.compile(r"[^\W_]+")
_ELIDED = re.compile(r"\b([cdjlmnst]|qu|dell|all|nell|sull)['’](?=\w)", re.IGNORECASE)
_UNSPACED = re.compile(
    "[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u1950-\u19df\u1a20-\u1aaf\u3040-\u30ff\u3400-\u9fff"
    "\uac00-\ud7a3\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]+"
)
"""Scripts in which words are not parted, or run on into particles."""
_PARTICLE = re.compile(
    "用户|用戶|主人|所有者|业主|使用者|ユーザー?|オーナー|持ち主|เจ้าของ|ผู้ใช้|사용자|주인|的|是|了|"
    "です|ます|でした|は|が|を|に|の|と|も|で|คือ|เป็น|ที่|ของ|(?:에서|에게|은|는|이|가|을|를|에|의|로|요)$"
)
"""What restates the owner or joins words in those scripts."""


def holds(text: str, quote: str) -> bool:
    """Whether a text holds a quote, but for white space, case and the form of its apostrophes."""
    wanted = _even(quote).strip("\"'“”„«».…, ")
    return len(wanted) > 1 and wanted in _even(text)


def _even(text: str) -> str:
    straight = unicodedata.normalize("NFKC", text).translate(str.maketrans("’‘`´", "''''"))
    return " ".join(straight.casefold().split())


def outside_sentences(entries: Iterable[Entry]) -> list[str]:
    """The sentences that tools, attachments and pasted texts have brought into a conversation."""
    texts: list[str] = []
    for entry in entries:
        match entry:
            case ToolResultEntry(tool=tool, content=text) if tool not in INWARD:
                texts.append(text)
            case AttachmentEntry(text=text):
                texts.append(text)
            case UserEntry(text=text):
                texts.append(pasted(text))
    return [part for text in texts for part in _SENTENCE_END.split(text) if part.strip()]


def is_said(text: str, owners: Iterable[str]) -> bool:
    """Whether the owner's words say all of a text, inflected or not."""
    return not _unsaid(text, owners, language_of(text))


def is_backed(
    text: str, owners: Sequence[str], outside: Sequence[str], day: date | None = None
) -> bool:
    """Whether the owner, who is quoted with something of this day, is behind a fact.

    What tells (names, numbers, negations, orders to the assistant) must be the owner's; a date may
    be resolved from their words, unless it came from outside; other words may be the model's own,
    unless a sentence from outside says most of the fact with them.
    """
    language = language_of(text)
    if not _unsaid(text, owners, language):
        return True
    if _UNSPACED.search(text):
        return False
    anchor = day.isoformat() if day else None
    rest, dates = _without_dates(text, anchor)
    brought, own = (
        {when for part in texts for when in _without_dates(part, anchor)[1]}
        for texts in (outside, owners)
    )
    if dates & brought - own:
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
    """The words of a text that none of these says; in scripts that part no words, the pieces
    between particles."""
    said = [folded(source) for source in sources]
    roots = {root for source in said for root in _roots(source, language)}
    missing = {word for word, root in _words(text, language).items() if root not in roots}
    whole = " ".join(said)
    runs = (_PARTICLE.sub(" ", run).split() for run in _UNSPACED.findall(folded(text)))
    return missing | {piece for run in runs for piece in run if piece not in whole}


@lru_cache(10_000)
def _words(text: str, language: str) -> Mapping[str, str]:
    """The words of a text that say something, with their stems."""
    words = _WORD.findall(_UNSPACED.sub(" ", folded(text)))
    return {word: stem(word, language) for word in words if not _is_idle(word, language)}


@lru_cache(10_000)
def _roots(text: str, language: str) -> frozenset[str]:
    return frozenset(stem(word, language) for word in _WORD.findall(folded(text)))


def _is_idle(word: str, language: str) -> bool:
    """Whether a word that the owner did not say adds nothing."""
    joins = is_function_word(word, language) or is_function_word(word, "english")
    return word in RESTATING or (joins and word not in TELLING)


def _names(text: str, language: str, outside: Iterable[str]) -> set[str]:
    """The words that are written like names; the first one only if it came from outside, and none
    where all nouns are written so."""
    if language in CAPITALISES_NOUNS:
        return set()
    first, *others = re.findall(r"[^\W\d_][\w'’-]*", plain(text)) or [""]
    if any(stem(folded(first), language) in _roots(part, language) for part in outside):
        others.append(first)
    return {part for name in others if name != name.lower() for part in _WORD.findall(folded(name))}


@lru_cache(2_000)
def _without_dates(text: str, anchor: str | None) -> tuple[str, frozenset[str]]:
    """A text without its dates, and these (ISO), seen from the day it was written on."""
    dates = mentioned(text, anchor)
    for when in dates:
        text = text[: when.start] + " " * (when.end - when.start) + text[when.end :]
    return text, frozenset(when.period.iso for when in dates)


def _numbers(text: str, *, clock: bool = False) -> set[str]:
    """The numbers of a text, 1,200 as one, but 0; with `clock` hours of the afternoon as well."""
    joined = re.sub(r"(?<=\d)[.,\u202f'](?=\d{3}\b)", "", text)
    numbers = {number.lstrip("0") for number in re.findall(r"\d+", joined)} - {""}
    hours = {int(number) for number in numbers if clock and len(number) < 3}
    return numbers | {str(hour + 12) for hour in hours if hour < 12}


@lru_cache(10_000)
def folded(text: str) -> str:
    """What is equal for the same fact; an article before an apostrophe is a word of its own."""
    return fold(_ELIDED.sub(r"\1 ", plain(text)))
