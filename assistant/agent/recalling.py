"""What memory is asked with a message of the owner, and which messages it is not asked for.

A sum, a measure to convert or a text to translate holds all it takes to answer it, whatever in
memory has the same numbers.
"""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import replace

from assistant.memory.base import Query, Recall
from assistant.memory.protocol import Memory
from assistant.memory.text.language import count_words
from assistant.model.smalltalk import small_talk
from assistant.session.entries import Entry, UserEntry
from assistant.workspace.folder import PROCEDURES_FILE

PLACES = 4
"""Passages of an AGENTS.md too long for the prefix that come with each turn, whatever else memory
finds."""
LONGEST = 400
_QUANTITY = r"[-+]?\d[\d.,]*"
_OPERATION = (
    r"(?:[+*×÷^]|[-−/x](?=\s)|plus|minus|times|divided by|to the power of|mod|percent of|% of)"
)
_SUM = re.compile(
    rf"(?:what(?:'s|’s| is| are)|how much is|calculate|compute|solve)?\s*(?:the )?"
    rf"(?:{_QUANTITY}(?:\s*{_OPERATION}\s*{_QUANTITY})+|square root of {_QUANTITY}"
    rf"|{_QUANTITY} squared|{_QUANTITY}/{_QUANTITY} as a (?:decimal|percentage)"
    rf"|sum of (?:all )?(?:the )?numbers from {_QUANTITY} to {_QUANTITY})\s*[=?.]*",
    re.IGNORECASE,
)
_CONVERSION = re.compile(
    rf"(?:convert\s+{_QUANTITY}\s*\S+(?: \w+)? (?:to|into|in) \S+"
    rf"|how (?:many|much) \w+ (?:are|is)(?: there)?(?: in)? {_QUANTITY} \w+"
    rf"|what(?:'s|’s| is) {_QUANTITY}\s*\w+ in \w+)\s*[?.]*",
    re.IGNORECASE,
)
_GIVEN = re.compile(
    r"(?:please )?(?:translate|correct|proofread|rephrase|reword|shorten|summari[sz]e|spell"
    r"|make this|count the)\b[^\"“«„]{0,60}[\"“«„].+[\"”»“]\s*(?:to \w+|into \w+|in \w+)?\s*[?.]*",
    re.IGNORECASE | re.DOTALL,
)
_CALCULATED = (
    r"(?:[+*×÷^]|plus|minus|mal|geteilt durch|más|menos|por|entre|moins|fois"
    r"|divisé par|плюс|минус|умножить на|разделить на|[加减減乘除]以?|足す|引く|かける|割る"
    r"|더하기|빼기|곱하기|나누기|زائد|ناقص|ضرب|في|على|قسمة|जोड़|घटा|गुणा|भाग)"
)
_PERCENT = (
    r"(?:[%٪％]|prozent|por ciento|pour ?cent|процент\w*|百分之|パーセント|퍼센트|프로"
    r"|بالمئة|بالمائة|في المئة|प्रतिशत|फ़ीसदी)"
)
_ELSEWHERE = re.compile(
    rf"{_QUANTITY}\s*{_CALCULATED}\s*{_QUANTITY}"
    rf"|{_QUANTITY}\D{{0,6}}?{_PERCENT}\D{{0,8}}{_QUANTITY}|{_QUANTITY}\D{{1,6}}{_QUANTITY}\s*{_PERCENT}"
    rf"|{_PERCENT}{_QUANTITY}",
    re.IGNORECASE,
)
"""A sum in nine other languages."""
FRAME = 3
"""So many more words ask what it comes to: "wie viel ist"."""
_REWORDED = re.compile(
    r"(?:übersetz|korrigier|formulier|traduc|tradui|corrig|reformul|перевед|исправ|перефразир"
    r"|翻[译譯訳]|改[正写]|訳し|添削|言い換え|번역|고쳐|바꿔|ترجم|صحح|अनुवाद|सुधार|विनम्र|सरल)"
    r"[^:：\"“«„「]{0,60}[:：\"“«„「].+",
    re.IGNORECASE | re.DOTALL,
)


def recalled(
    memory: Memory,
    entries: Iterable[Entry],
    text: str,
    *,
    procedures_shown: bool,
    budget: int | None = None,
) -> Recall:
    """What bears on a message; small talk, and what holds its own answer, cost no passages.

    `procedures_shown`: AGENTS.md stands whole in the prompt already. `budget` is in tokens, else
    by the settings. Raises MemoryFailure, StorageError.
    """
    if small_talk(text) or is_self_contained(text):
        return Recall(text, 0, ())  # nothing was asked, and so nothing is missing
    asked = query(entries, text, procedures_shown=procedures_shown)
    return memory.recall(replace(asked, budget=budget) if budget else asked)


def query(entries: Iterable[Entry], text: str, *, procedures_shown: bool) -> Query:
    """The query for a message, which may lean on the one before."""
    said = [each.text for each in entries if isinstance(each, UserEntry) and each.text != text]
    before = said[-1] if said else ""
    if procedures_shown:
        return Query(text, before=before, without=(PROCEDURES_FILE,), turn=True)
    return Query(text, before=before, own=(PROCEDURES_FILE, PLACES), turn=True)


def is_self_contained(text: str) -> bool:
    """Whether nothing that is remembered could change the answer."""
    text = unicodedata.normalize("NFKC", text).strip()
    if len(text) > LONGEST:
        return False
    if any(form.fullmatch(text) for form in (_SUM, _CONVERSION, _GIVEN)):
        return True
    return _is_sum(text) or bool(_REWORDED.search(text))


def _is_sum(text: str) -> bool:
    """Whether a message in any of ten languages is a sum, and hardly more."""
    rest, sums = _ELSEWHERE.subn(" ", text)
    return bool(sums) and count_words(rest) <= FRAME and not re.search(r"\d", rest)
