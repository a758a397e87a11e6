"""Whom a question means by "my husband": who stands in memory as "My husband Tomasz".

Most facts about a person, a pet or a place say the name alone. So the name is put beside the words
that stand for it, where memory tells exactly whose it is.
"""

import calendar
import re

from assistant.memory.index.sqlite.catalog import Catalog
from assistant.memory.text.language import is_function_word, stem

MOST_FACTS = 12
"""Words in more facts than this are no one's."""
LONGEST_FACT = 240
"""A longer text speaks of more than whose name it is."""
MOST = 3
"""So many words of a question are looked at."""
_OURS = (
    r"my|our|mein\w{0,2}|unser\w{0,2}|mis?|nuestr[oa]s?|mon|ma|mes|notre|nos"
    r"|мо[йяеиё]|мою|мо[ей][йгмх]\w{0,2}|наш\w{0,3}|у"
)
_THE = r"the|der|die|das|dem|den|el|la|le"
_MEANT = re.compile(rf"\b(?:{_OURS}|{_THE})\s+([^\W\d_]{{3,}})", re.IGNORECASE)
_TITLES = r"(?:(?:Mrs|Ms|Mr|Miss|Dr|Prof|Herr|Frau|Señora?|Madame|Monsieur)\b\.?\s+)?"
_NAME = rf"{_TITLES}(?!{'|'.join(calendar.day_name)})(?P<name>[A-ZÀ-ÞА-ЯЁ][a-zß-ÿа-яё]\w+)"
_MINE = rf"(?i:{_OURS}|the owner['’]s|the user['’]s)"
_CALLED = r"\s+(?i:is called|is|heißt|se llama|s['’]appelle|зовут)\s+"
_WORD = r"(?P<word>[^\W\d_]+)"
_FORMS = tuple(
    map(
        re.compile,
        (
            rf"(?:\b{_MINE}\s+|^(?=[А-Я])){_WORD}(?:,?\s+|{_CALLED}){_NAME}",
            rf"\b(?i:{_THE})\s+{_WORD}(?:,\s+|{_CALLED}){_NAME}",
            rf"^{_WORD}:\s+{_NAME}",
            rf"\b{_NAME}(?:,| (?i:is|ist|es|est))\s+{_MINE}\s+{_WORD}",
            rf"\b{_NAME}(?:,| (?i:is|ist|es|est))\s+(?i:{_THE})\s+{_WORD}(?=[.,;:)]|$)",
        ),
    )
)


def named(text: str, language: str, catalog: Catalog) -> str:
    """The question with the names of those it means, each after the word that stands for it."""
    asked = dict.fromkeys(found[1] for found in _MEANT.finditer(text))
    for word in [each for each in asked if not is_function_word(each, language)][:MOST]:
        name = _name_of(word, language, catalog)
        if name and name not in text:
            text = re.sub(rf"\b{re.escape(word)}\b", f"{word} {name}", text, count=1)
    return text


def _name_of(word: str, language: str, catalog: Catalog) -> str:
    """The one name that current facts give to what a word says; nothing if there are several."""
    terms = catalog.words.terms(word, language)
    if len(terms) != 1 or not 0 < terms[0].document_frequency <= MOST_FACTS:
        return ""
    rows, _ = catalog.words.in_chunks(terms)[terms[0].text]
    chunks = [stored.chunk for stored in catalog.chunks(rows.tolist())]
    told = [each.plain for each in chunks if each.status == "current"]
    short = [plain for plain in told if len(plain) <= LONGEST_FACT]
    said = [found for plain in short for form in _FORMS for found in form.finditer(plain)]
    meant = stem(word.casefold(), language)
    names = {each["name"] for each in said if stem(each["word"].casefold(), language) == meant}
    return names.pop() if len(names) == 1 else ""
