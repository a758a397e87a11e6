"""The language a text is written in, and its words as they are compared: folded and stemmed.

A language is told by its script, and among several of one script by its function words, its days
and months, and its letters; a name, like Zoë's, tells none. Stems are Snowball's (Porter, 2001).
English is left to FTS5, whose stemmer is Porter's own.
"""

import functools
import re
import threading
import unicodedata
from collections.abc import Sequence
from itertools import chain
from typing import Any

from assistant.memory.text.function_words import FUNCTION_WORDS, TELLING

CAPITALISES_NOUNS = frozenset({"german"})
"""Languages in which a capital within a sentence tells no name."""
_PARTICLES = {
    "chinese": re.compile(
        "什么时候|什么|怎么|怎样|为什么|多少|哪里|哪儿|哪个|哪天|哪|谁|几|是不是|有没有|可以|"
        "我们|我|你|的|了|在|是|吗|呢|吧|啊|把|被|和|跟|要|去|有|不"
    ),
    "japanese": re.compile(
        "ですか|でした|です|ますか|ました|ます|どこ|いつ|だれ|誰|なに|何|どう|どの|どれ|いくら|"
        "ている|てる|した|する|だった|から|まで|の|は|が|を|に|へ|と|で|も|か|って"
    ),
    "korean": re.compile(
        "어디|언제|누구|누가|무엇|뭐|어떻게|얼마|며칠|우리|에서|에게|한테|입니까|인가요|이야|야\\b|"
        "지\\b|나\\b|은\\b|는\\b|이\\b|가\\b|을\\b|를\\b|에\\b|의\\b|로\\b|해\\b|요\\b"
    ),
}
OFTEN = ("german", "spanish", "french", "italian", "portuguese", "dutch")
_SELDOM = (
    "turkish",
    "polish",
    "czech",
    "swedish",
    "danish",
    "romanian",
    "hungarian",
    "indonesian",
    "vietnamese",
)
"""Languages in Latin letters; of these one word is no proof, lest English with a name be theirs."""
_SCRIPTS = (
    ("russian", re.compile(r"[\u0400-\u052f]")),
    ("arabic", re.compile(r"[\u0600-\u06ff\u0750-\u077f]")),
    ("hindi", re.compile(r"[\u0900-\u097f]")),
    ("japanese", re.compile(r"[\u3040-\u30ff]")),
    ("korean", re.compile(r"[\uac00-\ud7af]")),
    ("chinese", re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]")),
    ("greek", re.compile(r"[\u0370-\u03ff\u1f00-\u1fff]")),
    ("thai", re.compile(r"[\u0e00-\u0e7f]")),
    ("hebrew", re.compile(r"[\u0590-\u05ff]")),
    ("georgian", re.compile(r"[\u10a0-\u10ff]")),
    ("armenian", re.compile(r"[\u0530-\u058f]")),
    ("bengali", re.compile(r"[\u0980-\u09ff]")),
    ("punjabi", re.compile(r"[\u0a00-\u0a7f]")),
    ("gujarati", re.compile(r"[\u0a80-\u0aff]")),
    ("tamil", re.compile(r"[\u0b80-\u0bff]")),
    ("telugu", re.compile(r"[\u0c00-\u0c7f]")),
    ("kannada", re.compile(r"[\u0c80-\u0cff]")),
    ("malayalam", re.compile(r"[\u0d00-\u0d7f]")),
)
_SHORT = 3
"""So many words need no second proof."""
_LEAST_SHARE = 5
"""A text is in a script that has more than one in so many of its characters; a word in Japanese
has fewer letters than one in English."""
_OF_SCRIPT = {"russian": ("ukrainian",), "arabic": ("urdu", "persian")}
"""Which other languages are told in a script."""
_OF_THEIR_SCRIPT = {
    "ukrainian": frozenset("іїєґІЇЄҐ"),
    "urdu": frozenset("ٹڈڑےںھہ"),
    "persian": frozenset("پچژگکی"),
}
"""By letters of their own."""
LANGUAGES = frozenset(
    ["english", *OFTEN, *_SELDOM, *(name for name, _ in _SCRIPTS), *_OF_THEIR_SCRIPT]
)
"""All that are told."""
_LAST_LATIN = "\u024f"
_STEMMED = (frozenset(FUNCTION_WORDS) | {"armenian", "tamil"}) - {"english"}
_UNTAUGHT = frozenset({"hebrew", "indonesian", "persian", "ukrainian", "urdu", "vietnamese"})
"""Languages without stems."""
_UNSPACED = re.compile(
    r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\u0e00-\u0eff]"
)
_RUN_ON = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u0e00-\u0eff]+")
"""What is written without spaces; Korean has some."""
_WORD = re.compile(r"[^\W_]+")
_UNWRITTEN = re.compile(r"[\u0591-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670]")
"""Hebrew's points, Arabic's short vowels, the stroke that lengthens a word: few write them."""
_ALIKE = (
    str.maketrans("أإآٱىةکیıİँ", "اااايهكيiiं", "\u093c\u200c\u200d")
    | {letter: letter - 0x60 for letter in range(0x30A1, 0x30F7)}
    | {
        digit: str(unicodedata.decimal(chr(digit)))
        for digit in range(0x0660, 0x1C5A)
        if chr(digit).isdecimal()
    }
)
"""Letters that many write for one another; the dot under Hindi's, and joiners, many leave out.
Katakana become hiragana, and the digits of every script those of ASCII."""
_NASAL = re.compile("[\u0919\u091e\u0923\u0928\u092e]\u094d(?=[\u0915-\u092d])")
"""What Hindi writes as a dot just as well: हिन्दी and हिंदी."""
_VOWEL_SIGNS = {
    sign: chr(0xE000 + sign - 0x0900)
    for sign in range(0x0900, 0x0E00)
    if unicodedata.category(chr(sign)) in ("Mc", "Mn")
}
"""Letters of private use for the signs of India's scripts, at which FTS5 would part a word."""
_LONGEST_WORD = 64
_SHARED = frozenset(
    ["am", "an", "as", "do", "ella", "in", "is", "me", "no", "on", "so", "son", "was"]
)
"""Words of several languages, English among them, that tell none."""
_ENGLISH_TOO = """ada ai ale are bao ben care cho co dan fi hay her kan ki kim med mi min po pod pro
    ra ta ten till til van var we"""
"""Words of English, or names, that tell none of the languages that are met seldom."""


_WORD_WITH_SIGNS = re.compile(r"[^\W_](?:[^\W_]|[\u0900-\u0d7f])*")
_NAMES_TOO = frozenset(["elle", "mei", "mia", "uma"])
"""Of these words one that stands before a capital is a given name."""
_OWN_LETTERS = {
    "german": ("äöüß", "éà"),
    "spanish": ("ñ", "áéíóúü"),
    "french": ("çèêîôùûœ", "àâæéëïüÿ"),
    "turkish": ("ğış", "çöüâî"),
    "polish": ("ąćęłńśźż", "ó"),
    "czech": ("ěřůčšžý", "áéíóúďťňľĺŕäôđć"),
    "swedish": ("å", "äöéà"),
    "danish": ("æø", "åé"),
    "romanian": ("ășț", "âî"),
    "hungarian": ("őű", "áéíóöúü"),
    "vietnamese": ("ạảấầẩẫậắằẳẵặẹẻẽếềểễệỉịọỏốồổỗộớờởỡợụủứừửữựỳỵỷỹăđơư", "àáâãèéêìíòóôõùúýĩũ"),
}
"""What that language writes, in words without a capital (names keep their letters anywhere), and
what others write, too: a letter that is in neither is another language's."""
_GERMAN_NOUN = re.compile(
    "ß|tür|schlüssel|kühl|müll(?!er)|büro|gäst|küche|früh|über|übung|prüf|rück|gebühr|wäsche|möbel"
    "|führ(?!er\\b)|ärzt|häus|geschäft|gemüse|brötchen|käse|lösung|öffn|länge|höhe|gärten|flüge|züge"
    "|plätze|brüder|mütter|töchter|getränk|gerät|räder|märkte|bücher|verträge|vorschläge|vögel|zähne"
    "|mädchen|männ",
    re.IGNORECASE,
)
"""Parts of words with a capital that are no names."""
_ELISION = re.compile(r"(?:\b[CDJLMNSTcdjlmnst]|[Qq]u)['’][aeàéèêiouyh]")
_stemming = threading.Lock()


@functools.cache
def _function_words() -> dict[str, frozenset[str]]:
    return {
        language: frozenset(word.casefold() for word in words.split())
        for language, words in FUNCTION_WORDS.items()
    }


@functools.cache
def _told_by() -> dict[str, list[str]]:
    """By each word that tells a language in Latin letters, whose it is."""
    told: dict[str, list[str]] = {}
    for language in ("english", *OFTEN, *_SELDOM):
        words = _function_words()[language].union(TELLING.get(language, "").split())
        unsure = _SHARED.union(_ENGLISH_TOO.split() if language in _SELDOM else ())
        for word in words - unsure:
            if len(word) > 1:
                told.setdefault(word, []).append(language)
    return told


@functools.cache
def _not_english() -> frozenset[str]:
    """The words that tell another language than English."""
    return frozenset(word for word, told in _told_by().items() if "english" not in told)


def language_of_script(text: str) -> str:
    """The language that a text's script tells; none, if it is in Latin letters."""
    for script, letters in () if text.isascii() or max(text) <= _LAST_LATIN else _SCRIPTS:
        if _LEAST_SHARE * len(letters.findall(text)) > len(text):
            return next((name for name in _OF_SCRIPT.get(script, ()) if _is_in(name, text)), script)
    return ""


def _is_in(language: str, text: str) -> bool:
    """Whether a text has letters or words that tell this language from others in its script."""
    if not _OF_THEIR_SCRIPT[language].isdisjoint(text):
        return True
    return language == "ukrainian" and not _only_ukrainian().isdisjoint(
        _WORD.findall(text.casefold())
    )


@functools.cache
def _only_ukrainian() -> frozenset[str]:
    """Function words that Russian has not; of Arabic's script the letters tell."""
    return _function_words()["ukrainian"] - _function_words()["russian"]


@functools.lru_cache(4096)
def language_of(text: str) -> str:
    """The Snowball name of the language of a text, or its script's; English if nothing tells."""
    if script := language_of_script(text):
        return script
    words, told_by = _WORD.findall(text.casefold()), _told_by()
    if not _NAMES_TOO.isdisjoint(words):
        words = _without_names(_WORD.findall(text))
    written = set() if text.isascii() and "'" not in text else _written_by(text)
    if not written and _not_english().isdisjoint(words):
        return "english"
    told = [told_by[word] for word in words if word in told_by]
    counts = dict.fromkeys(("english", *OFTEN, *_SELDOM), 0)
    for name in chain(*told, written, written & set(_SELDOM)):
        counts[name] += 1
    best = max(counts, key=lambda name: counts[name])
    sure = best not in _SELDOM or counts[best] > 1 or len(words) <= _SHORT
    return best if sure else "english"


def _without_names(words: Sequence[str]) -> list[str]:
    """The words, folded, but those that name somebody."""
    pairs = zip(words, [*words[1:], ""], strict=False)
    return [
        folded
        for word, after in pairs
        if (folded := word.casefold()) not in _NAMES_TOO or not after[:1].isupper()
    ]


def _written_by(text: str) -> set[str]:
    """The languages in Latin letters of which a text has letters or marks."""
    odd = [] if text.isascii() else [w for w in _WORD.findall(text) if not w.isascii()]
    small = {letter for word in odd if not word[0].isupper() for letter in word if letter > "\x7f"}
    found = {
        name
        for name, (own, others) in (_OWN_LETTERS.items() if small else ())
        if not small.isdisjoint(own) and small.issubset(own + others)
    }
    if _GERMAN_NOUN.search(" ".join(odd)):
        found.add("german")
    if _ELISION.search(text):
        found.add("french")
    if not {"¿", "¡"}.isdisjoint(text):
        found.add("spanish")
    return found


def count_words(text: str) -> int:
    """How many words a text has; where none is parted from the next, two characters are one."""
    whole = unicodedata.normalize("NFC", text)
    run_on = sum(map(len, _RUN_ON.findall(whole)))
    return len(_WORD_WITH_SIGNS.findall(_RUN_ON.sub(" ", whole))) + -(-run_on // 2)


def is_function_word(word: str, language: str) -> bool:
    """Whether a word says nothing by itself."""
    return word.casefold() in _function_words().get(language, ())


def without_function_words(text: str, language: str) -> str:
    """What is left of a question without the words that say nothing by themselves."""
    if particles := _PARTICLES.get(language):
        return particles.sub(" ", text)
    idle = _function_words().get(language, frozenset())
    words = _WORD_WITH_SIGNS.findall(unicodedata.normalize("NFC", text))
    return " ".join(word for word in words if word.casefold() not in idle)


def comparable(text: str, language: str) -> str:
    """A text in the form in which FTS5 compares words."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
        text = _NASAL.sub("\u0902", _UNWRITTEN.sub("", text).translate(_ALIKE))
    if language in _STEMMED:
        text = _WORD_WITH_SIGNS.sub(lambda word: stem(word[0].casefold(), language), text)
    if text.isascii():
        return text
    return _UNSPACED.sub(r" \g<0> ", text.translate(_VOWEL_SIGNS))


@functools.lru_cache(20_000)
def stem(word: str, language: str) -> str:
    """What the inflected forms of a word have in common; the word, in a language without stems."""
    if language not in _STEMMED - _UNTAUGHT and language != "english":
        return word
    with _stemming:  # a stemmer holds the word it is at
        return str(_stemmer(language).stemWord(word[:_LONGEST_WORD])) + word[_LONGEST_WORD:]


@functools.cache
def _stemmer(language: str) -> Any:
    import snowballstemmer

    return snowballstemmer.stemmer(language)
