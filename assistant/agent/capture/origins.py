"""Who is behind what a conversation says, and what of it the owner said. Pure.

A tool's output may have been written to deceive, and so may a mail that the owner pasted. As long
as a conversation goes on, also in a summary, in what the assistant repeats or in a disguise, it may
be behind whatever the model wants to remember. From the first such output on a fact is the owner's
if it quotes them, and holds no name, number or order that only others brought in; without a quote
only if the owner's own words say all of it.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache

from assistant.memory.text.identity import fold
from assistant.memory.text.language import is_function_word, language_of, stem
from assistant.memory.text.markdown import plain
from assistant.memory.text.times.dates import ahead, mentioned
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
_OWNER = """owner owners user users s lives named called besitzer besitzers nutzer nutzers dueño
usuario propietario propriétaire utilisateur proprietario utente usuário dono eigenaar gebruiker
владелец пользователь المستخدم المالك 사용자 사용자는 사용자의 주인 주인은"""
RESTATING = frozenset(fold(_OWNER).split())
"""Words by which a fact names its owner."""
_NEGATIONS = """no not nor never none without nicht kein keine keinen nie niemals ohne ni nunca
jamás sin ne n pas jamais sans non mai senza não sem niet geen nooit zonder не нет ни никогда без
لا لم لن ليس"""
NEGATING = frozenset(fold(_NEGATIONS).split())
"""Function words that turn a fact into its opposite."""
_HANGUL = re.compile("[\uac00-\ud7a3]{2,}")
_WORD = re.compile(r"[^\W_]+")
_ELIDED = re.compile(r"\b([cdjlmnst]|qu|dell|all|nell|sull)['’](?=\w)", re.IGNORECASE)
_HAN = "\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_KANA = "\u3040-\u30ff\uff66-\uff9f"
_SOUTHERN = "\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff\u1950-\u19df\u1a20-\u1aaf"
_UNSPACED = re.compile(rf"[{_HAN}{_KANA}{_SOUTHERN}]+")
_SHORTEST = ((re.compile(rf"[{_HAN}]"), 1), (re.compile(rf"[{_KANA}]"), 2))
"""How many letters of a script that sets no spaces say something; of the others three."""
_IDLE = re.compile(
    "用户|用戶|主人|所有者|业主|使用者|ユーザー?|オーナー|持ち主|เจ้าของ|ผู้ใช้|的|是|了|"
    "です|ます|でした|は|が|を|に|の|と|も|で|คือ|เป็น|ที่|ของ"
)
"""What restates or joins in those scripts."""


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
    kinds = {said[each].kind for each in cited}
    if "tool" in kinds or (tainted and not is_said(text, owners)):
        return "tool"
    if kinds == {"owner"}:
        others = [each.text for each in said.values() if each.kind != "owner"]
        sentences = (part for each in others for part in _CLAUSE.split(each))
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


def _lines(text: str) -> Iterable[tuple[str, bool]]:
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
        headers = [bool(_HEADER.fullmatch(each.strip())) for each in lines[number : number + 2]]
        ours = ours and headers != [True, True] and not _FORWARDED.fullmatch(line)
        yield line, ours and not line.lstrip().startswith(">")
        if _INTRODUCED.search(line) and any(each.strip() for each in lines[number + 1 :]):
            ours = False


# Whether a quote of the owner's is behind a fact

_TIME = re.compile(r"\b(\d{1,2})(?:[:.h](\d\d))? ?(am|pm|uhr)?\b", re.IGNORECASE)
_ORDER = re.compile(
    r"\b(?:the assistant|you) (?:must|should|shall|has to|have to|is to|are to|may|always|never)\b"
    r"|^(?:always|never|ignore|forward|send|reply|tell|run|pay|do not|don't|immer|niemals)\b",
    re.IGNORECASE,
)
_QUESTION = re.compile(r"[?？؟]\s*$")
_CLAUSE = re.compile(r"(?<=[.!?…。！？])\s*|\n+")
QUOTED_SHARE = 1 / 4
"""Of the words of a fact the owner's own must hold so many, or it only pretends to quote them."""


def holds(text: str, quote: str) -> bool:
    """Whether a text holds a quote, but for white space, case and the form of its apostrophes."""
    wanted = _even(quote).strip("\"'“”„«».…, ")
    return len(wanted) > 1 and wanted in _even(text)


def _even(text: str) -> str:
    straight = unicodedata.normalize("NFKC", text).translate(str.maketrans("’‘`´", "''''"))
    return " ".join(straight.casefold().split())


def outside_words(entries: Iterable[Entry]) -> list[str]:
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
    return [each for text in texts for each in _CLAUSE.split(text) if each.strip()]


def is_backed(
    text: str,
    quote: str,
    said: str,
    owners: Sequence[str],
    outside: Sequence[str],
    day: date | None = None,
) -> bool:
    """Whether the owner, who said the quote on this day, is behind a fact, and not what came from
    outside.

    A question states nothing. What tells (names, numbers, negations, orders to the assistant) must
    be the owner's; a date may be resolved from their words, unless it came from outside; other
    words may be the model's own, unless a sentence from outside says most of the fact with them.
    """
    if is_said(text, owners):
        return True
    language = language_of(text)
    if _UNSPACED.search(text) or _HANGUL.search(text) or _is_asked(said, quote):
        return False
    if _ORDER.search(text):
        return False
    anchor = day.isoformat() if day else None
    without_dates, dates = _without_dates(text, anchor)
    brought = {each for sentence in outside for each in _without_dates(sentence, anchor)[1]}
    given = {each for words in owners for each in _without_dates(words, anchor)[1]}
    if day:
        named = [last for _, last in ahead(said, day)]
        given |= {(each + timedelta(days=far)).isoformat() for each in named for far in (-7, 0, 7)}
    for when in dates:
        from_outside = any(each.startswith(when) for each in brought)
        if from_outside and not any(each.startswith(when) for each in given):
            return False
    everything = " ".join(owners)
    others = _numbers(" ".join(outside))
    years = {str(day.year + far) for far in (-1, 0, 1)} - others if day else set()
    numbers = _numbers(everything) | _times_and_numbers(everything) | years
    if not _times_and_numbers(without_dates) <= numbers:
        return False
    held = _stems(everything, language)
    content = {
        word: stem(word, language)
        for word in _WORD.findall(folded(without_dates))
        if not _is_idle(word, language) and not word[0].isdigit()
    }
    missing = {word for word, root in content.items() if word not in held and root not in held}
    if len(content) - len(missing) < len(content) * QUOTED_SHARE:
        return False
    names = _named(without_dates, language)
    first = next(iter(_WORD.findall(folded(without_dates))), "")
    if first in names and not any(first in _stems(each, language) for each in outside):
        names.discard(first)  # it is written so since it begins the sentence
    if missing & (NEGATING | names):
        return False
    for sentence in outside:
        theirs = _stems(sentence, language)
        shared = {w for w, root in content.items() if w in theirs or root in theirs}
        if missing & shared and len(shared) * 2 >= len(content):
            return False
    return True


def _is_asked(said: str, quote: str) -> bool:
    """Whether the quote stands in questions only."""
    wanted = _even(quote).strip("\"'“”„«».…,?？ ")
    clauses = [each for each in _CLAUSE.split(said) if wanted in _even(each)]
    return bool(clauses) and all(_QUESTION.search(each) for each in clauses)


@lru_cache(2_000)
def _stems(text: str, language: str) -> frozenset[str]:
    words = _WORD.findall(folded(text))
    return frozenset((*words, *(stem(word, language) for word in words)))


def _named(text: str, language: str) -> set[str]:
    """The words that are written like names; in German all nouns are, and only what stands in
    the middle of a word or with digits tells."""
    words = re.findall(r"[^\W\d_][\w'’-]*", plain(text))
    if language == "german":
        names = [word for word in words if word[1:] != word[1:].lower()]
    else:
        names = [word for word in words if word != word.lower()]
    return {part for name in names for part in _WORD.findall(folded(name))}


@lru_cache(2_000)
def _without_dates(text: str, anchor: str | None) -> tuple[str, frozenset[str]]:
    """A text without its dates, and these (ISO), seen from the day it was written on."""
    dates = mentioned(text, anchor)
    for each in dates:
        text = text[: each.start] + " " * (each.end - each.start) + text[each.end :]
    return text, frozenset(each.period.iso for each in dates)


def _numbers(text: str) -> set[str]:
    return set(re.findall(r"\d+", _joined(text)))


def _times_and_numbers(text: str) -> set[str]:
    """The numbers of a text; a full hour in the afternoon is that of a clock with twelve."""
    found: set[str] = set()
    text = _joined(text)
    for hour, minute, suffix in _TIME.findall(text):
        if minute or suffix:
            found.add(str(int(hour) % 12 or 12))
            found |= {minute} - {"", "00"}
    rest = _TIME.sub(lambda m: " " if m[2] or m[3] else m[0], text)
    return found | set(re.findall(r"\d+", rest))


def _joined(text: str) -> str:
    """The text with its thousands in one: 1,200 is 1200."""
    return re.sub(r"(?<=\d)[.,\u202f'](?=\d{3}\b)", "", text)


def is_said(text: str, sources: Iterable[str]) -> bool:
    """Whether these sources hold all that a text says: its words but for those that only join,
    inflected or not, each number, each negation; in scripts without spaces its letters' order."""
    fact, held = folded(text), " ".join(map(folded, sources))
    language = language_of(text)
    there = set(_WORD.findall(_UNSPACED.sub(" ", held)))
    stems = {stem(word, language) for word in there}
    words = _WORD.findall(_UNSPACED.sub(" ", fact))
    if not all(
        word in there
        or stem(word, language) in stems
        or _is_idle(word, language)
        or _with_another_particle(word, there)
        for word in words
    ):
        return False
    unspaced = "".join(_UNSPACED.findall(held))
    return all(_is_covered(run, unspaced) for run in _UNSPACED.findall(fact))


def _is_idle(word: str, language: str) -> bool:
    """Whether a word that the owner did not say adds nothing."""
    if word in NEGATING:
        return False
    joins = is_function_word(word, language) or is_function_word(word, "english")
    return joins or word in RESTATING


def _with_another_particle(word: str, there: Iterable[str]) -> bool:
    """Whether a Korean word stands among others but for what is put to its end."""
    core = word[: max(2, len(word) - 2)]
    return bool(_HANGUL.fullmatch(core)) and any(
        each.startswith(core) or (len(each) > 1 and word.startswith(each)) for each in there
    )


def _is_covered(run: str, held: str) -> bool:
    """Whether a run of letters without spaces is made of pieces that are held, none too short,
    and of what only joins them."""
    at = 0
    while at < len(run):
        least = next((size for script, size in _SHORTEST if script.match(run[at])), 3)
        size = len(run) - at
        while size >= least and run[at : at + size] not in held:
            size -= 1
        if size < least:
            joint = _IDLE.match(run, at)
            if not joint:
                return False
            size = len(joint[0])
        at += size
    return True


@lru_cache(10_000)
def folded(text: str) -> str:
    """What is equal for the same fact; an article before an apostrophe is a word of its own."""
    return fold(_ELIDED.sub(r"\1 ", plain(text)))
