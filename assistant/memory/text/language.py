"""The language of a text, and its words as they are compared: folded, stemmed, and with other
spellings of numbers and identifiers.

A language is recognised by its script; languages that share a script, by function words, the names
of days and months, and letters. A name such as Zoë says nothing about it. Stems are Snowball's
(Porter, 2001). English is left to FTS5, whose stemmer is Porter's own.
"""

import functools
import re
import threading
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any

from assistant.tables import table_of


@dataclass(frozen=True, slots=True)
class _Language:
    """The features of a language; the head of `language.toml` explains each."""

    words: str = ""
    telling: str = ""
    met: str = ""
    script: str = ""
    letters: str = ""
    shared: str = ""
    signs: str = ""
    particles: str = ""
    stems: bool = True
    within: str = ""
    speller: str = ""


_TABLE = table_of(__file__)
_SHARED, _ENGLISH_TOO, _NAMES_TOO, _WITH_NUMBERS = (
    frozenset(_TABLE.pop(key).split())
    for key in ("shared", "english_too", "names_too", "with_numbers")
)
_KNOWN = {name: _Language(**table) for name, table in _TABLE.items()}
LANGUAGES = frozenset(_KNOWN)
"""All languages that are recognised."""
_LATIN = ("english", *(name for name, language in _KNOWN.items() if language.met))
_SELDOM = frozenset(name for name, language in _KNOWN.items() if language.met == "seldom")
_SCRIPTS = [
    (name, re.compile(language.script)) for name, language in _KNOWN.items() if language.script
]
_SIGNS = {n: re.compile(language.signs) for n, language in _KNOWN.items() if language.signs}
_PARTICLES = {
    n: re.compile(language.particles) for n, language in _KNOWN.items() if language.particles
}
_SHORT = 3
"""A text of at most this many words needs no second indication."""
_LEAST_SHARE = 5
"""A text is in a script that has at least one in this many of its characters; a word in Japanese
has fewer letters than one in English."""
_LAST_LATIN = "\u024f"
_UNSPACED = re.compile(
    r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\u0e00-\u0eff]"
)
_WORD = re.compile(r"[^\W_]+")
_UNWRITTEN = re.compile(r"[\u0591-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670]")
"""Hebrew points, Arabic short vowels and the lengthening stroke, which few people write."""
_ALIKE = (
    str.maketrans("أإآٱىةکیıİँ", "اااايهكيiiं", "\u093c\u200c\u200d")
    | {letter: letter - 0x60 for letter in range(0x30A1, 0x30F7)}
    | {
        digit: str(unicodedata.decimal(chr(digit)))
        for digit in range(0x0660, 0x1C5A)
        if chr(digit).isdecimal()
    }
)
"""Letters that are often interchanged, and Hindi's dot below and joiners, which are often omitted.
Katakana become hiragana, and the digits of every script those of ASCII."""
_NASAL = re.compile("[\u0919\u091e\u0923\u0928\u092e]\u094d(?=[\u0915-\u092d])")
"""What Hindi may also write as a dot: हिन्दी and हिंदी."""
_VOWEL_SIGNS = {
    sign: chr(0xE000 + sign - 0x0900)
    for sign in range(0x0900, 0x0E00)
    if unicodedata.category(chr(sign)) in ("Mc", "Mn")
}
"""Private use letters for the vowel signs of Indic scripts, at which FTS5 would split a word."""
_LONGEST_WORD = 64
_WORD_WITH_SIGNS = re.compile(r"[^\W_](?:[^\W_]|[\u0900-\u0d7f])*")
_stemming = threading.Lock()


@functools.cache
def _function_words() -> dict[str, frozenset[str]]:
    return {name: frozenset(language.words.casefold().split()) for name, language in _KNOWN.items()}


@functools.cache
def _languages_by_word() -> dict[str, list[str]]:
    """Return the languages in Latin script that each telling word indicates."""
    languages: dict[str, list[str]] = {}
    for language in _LATIN:
        words = _function_words()[language].union(_KNOWN[language].telling.split())
        unsure = _SHARED.union(_ENGLISH_TOO if language in _SELDOM else ())
        for word in words - unsure:
            if len(word) > 1:
                languages.setdefault(word, []).append(language)
    return languages


def language_of_script(text: str) -> str:
    """Return the language that a text's script indicates; "" for Latin script."""
    for script, letters in () if text.isascii() or max(text) <= _LAST_LATIN else _SCRIPTS:
        if _LEAST_SHARE * len(letters.findall(text)) > len(text):
            words = _WORD.findall(text.casefold())
            others = ((n, other) for n, other in _KNOWN.items() if other.within == script)
            names = (
                name
                for name, other in others
                if not set(other.letters).isdisjoint(text)
                or not set(other.telling.split()).isdisjoint(words)
            )
            return next(names, script)
    return ""


@functools.lru_cache(4096)
def language_of(text: str) -> str:
    """Return the Snowball name of a text's language, or its script's; English if unclear."""
    if script := language_of_script(text):
        return script
    words, by_word = _WORD.findall(text.casefold()), _languages_by_word()
    if not _NAMES_TOO.isdisjoint(words):
        words = _without_names(_WORD.findall(text))
    written = set() if text.isascii() and "'" not in text else _written_by(text)
    languages = [by_word[word] for word in words if word in by_word]
    counts = dict.fromkeys(_LATIN, 0)
    for name in chain(*languages, written, written & set(_SELDOM)):
        counts[name] += 1
    best = max(counts, key=lambda name: counts[name])
    sure = best not in _SELDOM or counts[best] > 1 or len(words) <= _SHORT
    return best if sure else "english"


def _without_names(words: Sequence[str]) -> list[str]:
    """Return the words, folded, without those that are names."""
    pairs = zip(words, [*words[1:], ""], strict=False)
    return [
        folded
        for word, after in pairs
        if (folded := word.casefold()) not in _NAMES_TOO or not after[:1].isupper()
    ]


def _written_by(text: str) -> set[str]:
    """Return the languages in Latin script whose special letters or signs a text contains."""
    odd = [] if text.isascii() else [w for w in _WORD.findall(text) if not w.isascii()]
    small = {letter for word in odd if not word[0].isupper() for letter in word if letter > "\x7f"}
    matches = {
        name
        for name in (_LATIN if small else ())
        if not small.isdisjoint(_KNOWN[name].letters)
        and small.issubset(_KNOWN[name].letters + _KNOWN[name].shared)
    }
    return matches.union(name for name, signs in _SIGNS.items() if signs.search(text))


def speller(language: str) -> str:
    """Return the code of a language's spelling word list; "" if there is none."""
    return _KNOWN[language].speller


def is_function_word(word: str, language: str) -> bool:
    """Return whether a word has no meaning by itself."""
    return word.casefold() in _function_words().get(language, ())


def without_function_words(text: str, language: str) -> str:
    """Return a question without the words that have no meaning by themselves."""
    if particles := _PARTICLES.get(language):
        return particles.sub(" ", text)
    idle = _function_words().get(language, frozenset())
    words = _WORD_WITH_SIGNS.findall(unicodedata.normalize("NFC", text))
    return " ".join(word for word in words if word.casefold() not in idle)


def comparable(text: str, language: str) -> str:
    """Return a text in the form in which FTS5 compares words."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
        text = _NASAL.sub("\u0902", _UNWRITTEN.sub("", text).translate(_ALIKE))
    if language != "english" and _KNOWN[language].stems:
        text = _WORD_WITH_SIGNS.sub(lambda word: stem(word[0].casefold(), language), text)
    if text.isascii():
        return text
    return _UNSPACED.sub(r" \g<0> ", text.translate(_VOWEL_SIGNS))


@functools.lru_cache(20_000)
def stem(word: str, language: str) -> str:
    """Return the stem of a word; the word itself in a language without stems."""
    if not _KNOWN[language].stems:
        return word
    with _stemming:  # a stemmer stores its current word
        return str(_stemmer(language).stemWord(word[:_LONGEST_WORD])) + word[_LONGEST_WORD:]


@functools.cache
def _stemmer(language: str) -> Any:
    import snowballstemmer

    return snowballstemmer.stemmer(language)


_LONGEST_CODE = 40
"""Maximum length of a code or number that is joined or split."""
_SHORTEST_JOINED = 6
_MOST_PARTS = 3
"""A code of more parts with digits is a serial number, whose parts have no meaning."""
_MOST_WORDS = 6

_SIGNED = re.compile(r"(?<![^\W_])([A-Za-z])(\+\+|#)(?!\w)")
_SIGN_NAMES = {"++": "plusplus", "#": "sharp"}
_CODE_WORD = re.compile(r"\w+")
_PART = re.compile(r"\d+|[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+|[^\W\d_]+")
_DAY = re.compile(r"\b(?:\d{4}-\d\d-\d\d|\d{1,2}[./]\d{1,2}[./]\d{2,4})\b")
_GROUP = re.compile(r"(?P<coded>[A-Za-z]*[0-9][0-9A-Za-z]*|[A-F]{2}(?![0-9A-Za-z]))|[A-Za-z]+")
"""A coded group contains a digit, or may be a byte."""
_BETWEEN = frozenset([" ", "-", ".", ":", "/", "(", ")", ") ", " (", " / ", ")-"])
_PREFIX = re.compile(r"[A-Z]{1,4}|[a-z]{1,3}")


def spell_signs(text: str) -> str:
    """Return the text with C++, C# and the like as single words."""
    if "++" not in text and "#" not in text:
        return text
    return _SIGNED.sub(lambda sign: sign[1] + _SIGN_NAMES[sign[2]], text)


def variants(text: str) -> list[str]:
    """Return the distinct words of other spellings of the numbers and identifiers in a text.

    "CR2032" and "CR 2032", "0531 220 44 71" and "05312204471", "parseInvoiceDate" and
    "parse_invoice_date" are spellings of the same.
    """
    words = (*_split_codes(text), *_joined(_DAY.sub("\n", text)))
    return list(dict.fromkeys(word.casefold() for word in words))


def _split_codes(text: str) -> Iterator[str]:
    """Yield the parts of codes, of letters and digits, and of camel-case names; and each whole."""
    for word in _CODE_WORD.findall(text):
        if len(word) > _LONGEST_CODE or word.isdigit() or (word.isalpha() and word[1:].islower()):
            continue
        parts = _PART.findall(word)
        coded = any(part.isdigit() for part in parts)
        if 1 < len(parts) <= (_MOST_PARTS if coded else _MOST_WORDS):
            yield from parts
            yield word.replace("_", "")


def _joined(text: str) -> Iterator[str]:
    """Join groups with digits that only a sign or a space separates, and one with letters before
    it."""
    run = ""
    for one, other in pairwise([*_GROUP.finditer(text), None]):
        assert one is not None
        if not (one["coded"] or (other and other["coded"])):
            continue
        run = run or one[0]
        between = text[one.end() : other.start()] if other else ""
        if other and _leads(one[0], between, other[0]):
            yield one[0] + other[0]
        if other and between in _BETWEEN and one["coded"] and other["coded"]:
            run += other[0]
            continue
        if run != one[0] and _SHORTEST_JOINED <= len(run) <= _LONGEST_CODE:
            yield run
        run = ""


def _leads(letters: str, between: str, number: str) -> bool:
    """Return whether letters are the first part of a number: LH 1172."""
    if between not in (" ", "-") or not (number[:2].isdigit() and _PREFIX.fullmatch(letters)):
        return False
    word = letters.casefold()
    return not (word in _WITH_NUMBERS or is_function_word(word, "english"))
