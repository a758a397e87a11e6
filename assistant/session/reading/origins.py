"""Who is behind what a conversation says, and what of it the owner said. Pure.

A tool's output may have been written to deceive. As long as a conversation goes on, also in a
summary, in what the assistant repeats or in a disguise, it may be behind whatever the model wants
to remember: from the first such output on a fact is only believed if the owner's own words say it.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from assistant.memory.text.identity import fold
from assistant.memory.text.language import is_function_word, language_of, stem
from assistant.memory.text.markdown import plain
from assistant.session.entries import (
    AssistantEntry,
    AttachmentEntry,
    Entry,
    QuestionEntry,
    RecalledEntry,
    ToolResultEntry,
    UserEntry,
)
from assistant.session.history.turns import Turn

MEMORY_TOOLS = frozenset({"recall", "remember"})
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
    earlier: Iterable[str] = (),
) -> str:
    """Owner, assistant, recalled or tool: the least trusted of the cited entries.

    Recalled is what the assistant alone says, when memory had just been put before it. In a
    tainted conversation a text is the tool's that the owner's words do not say, those here and
    `earlier` ones, whatever it cites.
    """
    kinds = {said[each].kind for each in cited}
    owners = [*earlier, *(each.text for each in said.values() if each.kind == "owner")]
    if "tool" in kinds or (tainted and not is_said(text, owners)):
        return "tool"
    if kinds == {"owner"}:
        return "owner"
    return "recalled" if kinds == {"recalled"} else "assistant"


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


def folded(text: str) -> str:
    """What is equal for the same fact."""
    return fold(plain(text))
