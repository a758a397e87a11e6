"""The language a text is written in, and its words as they are compared: folded and stemmed.

A language is told by its script, and one in Latin letters by its function words, its days and
months, and its letters; a name, like Zoë's, tells none. Stems are Snowball's (Porter, 2001).
English is left to FTS5, whose stemmer is Porter's own.
"""

import functools
import re
import threading
import unicodedata
from collections.abc import Sequence
from itertools import chain
from typing import Any

_FUNCTION_WORDS = {
    "english": """a about all an and any are as at be been but by can did do does for from had
        has have he her him his how i if in is it its me my no not of on only or our
        she should so than that the their them then there they this those to was we
        were what when where which who why will with would you your""",
    "german": """aber alle allem allen als am an auch auf aus bei bin bis bist da damit dann
        das dass dein deine dem den denn der des dich die dies diese diesem diesen
        dieser dieses dir doch du ein eine einem einen einer eines er es euch euer für
        gibt hab habe haben hat hatte ich ihm ihn ihr ihre ihrem ihren im in ins ist
        ja kann kein keine können man mein meine meinem meinen meiner mich mir mit
        muss müssen nach nicht noch nur ob oder schon sein seine seinem seinen seiner
        sich sie sind so soll über um und uns unser unsere unserem unseren unserer vom
        von vor wann war waren warum was wegen weil welche welchem welchen welcher
        welches wem wen wenn wer werden wie wir wird wo woher wohin wurde zu zum zur""",
    "spanish": """a al algo antes como cómo con cual cuál cuales cuáles cuando cuándo cuanta
        cuánta cuantas cuántas cuanto cuánto cuantos cuántos de del desde donde dónde
        e el él ella ellos en entre era es esa ese eso esta está están este esto fue
        ha había han hasta hay he la las le les lo los más me mi mis muy nada ni no
        nos nosotros nuestra nuestras nuestro nuestros o para pero por porque que qué
        quien quién quienes se ser si sí sin sobre son soy su sus también te tengo
        tenemos tiene tienen tu tus un una unas uno unos y ya yo""",
    "french": """a ai alors as au aux avec avons c ce ces cet cette chez combien comme comment
        d dans de depuis des donc du elle elles en es est et été être eu fait il ils j
        je l la le les leur leurs lui m ma mais me mes moi mon n ne nos notre nous on
        ont ou où par pas plus pour pourquoi qu quand que quel quelle quelles quels
        qui quoi s sa sans se ses si son sont sur t ta te tes toi ton tu un une va
        vont vos votre vous y à ça""",
    "italian": """a ai al alla alle anche che chi ci come con cosa da dal dalla degli dei del
        della delle di dove e è gli ha hanno ho i il in io la le lo ma mi mia mio nel
        nella non o per perché più quale quali quando quanto questa questo sei si sono
        su sua suo ti tra tu un una uno""",
    "portuguese": """a ao aos as às com como da das de do dos e é ela ele em entre era essa
        esse esta está este eu foi há isso já mais mas me meu minha muito na nas não
        no nos nós o onde os ou para pela pelo por porque qual quando quanto que quem
        se sem ser seu sua são também tem um uma você""",
    "dutch": """aan al als bij dan dat de deze die dit door een en er ge geen had heb hebben
        heeft het hij hoe hun ik in is je kan maar me met mijn na naar niet nog of om
        onze ook op over te tot uit van veel voor waar wanneer was wat we wel welke
        werd wie wij worden zijn zo""",
    "russian": """а без был была были было быть в вам вас во вот все всё вы где да для до его
        ее её ей если есть еще ещё же за и из или им их к как какая какие какого какой
        какое кем когда кого кому который кто куда ли между меня мне можно мой моя моё
        мои мы на над надо нам нас наш наша наше наши не него нее нет ни них но ну о
        об он она они от откуда по под почему при про с сколько со так там то того
        тоже только тот ты у уже чего чей чем что чтобы чья эта эти это этот я""",
    "arabic": """أن أنا أين أي إلى إن التي الذي أو أم الى اين بعد بين تم ثم حتى ذلك عن على عند
        عندنا عندي عليه في فيه فيها كان كانت كل كم كيف لا لم لن لنا له لها لي ليس ما
        ماذا متى مع من منذ نحن هذا هذه هل هو هي و يا""",
    "hindi": """अपना अपनी अपने आप इस इसका इसके उस उसका उसकी उसके एक और कब कर करना करने कहाँ
        कहां का कि कितना कितनी कितने किस किसका किसकी किसके किसको किसने किससे की कुछ के
        को कौन कौनसा क्या क्यों गया गई जो तक तो था थी थे ने पर बाद भी मुझे में मेरा
        मेरी मेरे मैं यह या रहा रही रहे लिए वह वाला वाली वाले से हम हमने हमारा हमारी
        हमारे ही हुआ हुई हूँ है हैं हो होता होती होना""",
}
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
_LATIN = ("german", "spanish", "french", "italian", "portuguese", "dutch")
_SCRIPTS = (
    ("russian", re.compile(r"[\u0400-\u052f]")),
    ("arabic", re.compile(r"[\u0600-\u06ff\u0750-\u077f]")),
    ("hindi", re.compile(r"[\u0900-\u097f]")),
    ("japanese", re.compile(r"[\u3040-\u30ff]")),
    ("korean", re.compile(r"[\uac00-\ud7af]")),
    ("chinese", re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]")),
)
_LAST_LATIN = "\u024f"
_STEMMED = frozenset(_FUNCTION_WORDS) - {"english"}
_UNSPACED = re.compile(
    r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\u0e00-\u0eff]"
)
_WORD = re.compile(r"[^\W_]+")
_UNWRITTEN = re.compile(r"[\u0610-\u061a\u0640\u064b-\u065f\u0670]")
"""Arabic's short vowels, and the stroke that lengthens a word: few write them."""
_ALIKE = str.maketrans("أإآٱىة", "اااايه", "\u093c\u200c\u200d")
"""Letters that many write for one another; the dot under Hindi's, and joiners, many leave out."""
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


_WORD_WITH_SIGNS = re.compile(r"[^\W_](?:[^\W_]|[\u0900-\u0d7f])*")
_TELLING = {
    "english": "after again always because before every never since until while",
    "german": """dezember dienstag donnerstag drei freitag februar fünf geburtstag januar märz
        mittwoch montag oktober samstag sechs sieben sonntag uhr vier zahnarzt zehn zwei""",
    "spanish": """cinco cuatro cumpleaños diciembre enero febrero jueves julio junio lunes marzo
        miércoles noviembre octubre septiembre sábado tres viernes""",
    "french": """anniversaire août avril cinq décembre deux dimanche février janvier jeudi juillet
        juin lundi mardi mercredi octobre quatre samedi trois vendredi""",
    "italian": """compleanno dicembre domenica febbraio gennaio giovedì luglio lunedì martedì
        mercoledì ottobre sabato settembre venerdì""",
    "portuguese": """aniversário dezembro domingo fevereiro janeiro julho junho outubro quinta
        segunda setembro sexta sábado terça""",
    "dutch": """dinsdag donderdag januari maandag maart vrijdag verjaardag woensdag zaterdag
        zondag""",
}
"""Words that say something, and in which language: most name a day or a month."""
_NAMES_TOO = frozenset(["elle", "mia", "uma"])
"""Of these words one that stands before a capital is a given name."""
_OWN_LETTERS = (
    ("german", frozenset("äöüß")),
    ("spanish", frozenset("ñ")),
    ("french", frozenset("çèêîôùûœ")),
)
"""What only that language writes, in words without a capital: names keep their letters anywhere."""
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
        for language, words in _FUNCTION_WORDS.items()
    }


@functools.cache
def _told_by() -> dict[str, list[str]]:
    """By each word that tells a language in Latin letters, whose it is."""
    told: dict[str, list[str]] = {}
    for language in ("english", *_LATIN):
        words = _function_words()[language].union(_TELLING[language].split())
        for word in words - _SHARED:
            if len(word) > 1:
                told.setdefault(word, []).append(language)
    return told


def language_of_script(text: str) -> str:
    """The language that a text's script tells; none, if it is in Latin letters."""
    for language, letters in () if text.isascii() or max(text) <= _LAST_LATIN else _SCRIPTS:
        if 3 * len(letters.findall(text)) > len(text):
            return language
    return ""


@functools.lru_cache(4096)
def language_of(text: str) -> str:
    """The Snowball name of the language of a text, or its script's; English if nothing tells."""
    if script := language_of_script(text):
        return script
    words, told_by = _WORD.findall(text.casefold()), _told_by()
    if not _NAMES_TOO.isdisjoint(words):
        words = _without_names(_WORD.findall(text))
    told = [told_by[word] for word in words if word in told_by]
    written = set() if text.isascii() and "'" not in text else _written_by(text)
    if not written and all("english" in languages for languages in told):
        return "english"
    counts = dict.fromkeys(("english", *_LATIN), 0)
    for name in chain(*told, written):
        counts[name] += 1
    return max(counts, key=lambda name: counts[name])


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
    odd = [word for word in _WORD.findall(text) if not word.isascii()]
    small = "".join(word for word in odd if not word[0].isupper())
    found = {name for name, letters in _OWN_LETTERS if not letters.isdisjoint(small)}
    if _GERMAN_NOUN.search(" ".join(odd)):
        found.add("german")
    if _ELISION.search(text):
        found.add("french")
    if not {"¿", "¡"}.isdisjoint(text):
        found.add("spanish")
    return found


def is_function_word(word: str, language: str) -> bool:
    """Whether a word says nothing by itself."""
    return word.casefold() in _function_words().get(language, ())


def without_function_words(text: str, language: str) -> str:
    """What is left of a question without the words that say nothing by themselves."""
    if particles := _PARTICLES.get(language):
        return particles.sub(" ", text)
    idle = _function_words()[language]
    words = _WORD_WITH_SIGNS.findall(unicodedata.normalize("NFC", text))
    return " ".join(word for word in words if word.casefold() not in idle)


def comparable(text: str, language: str) -> str:
    """A text in the form in which FTS5 compares words."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
        text = _UNWRITTEN.sub("", text).translate(_ALIKE)
    if language in _STEMMED:
        text = _WORD_WITH_SIGNS.sub(lambda word: stem(word[0].casefold(), language), text)
    if text.isascii():
        return text
    return _UNSPACED.sub(r" \g<0> ", text.translate(_VOWEL_SIGNS))


@functools.lru_cache(20_000)
def stem(word: str, language: str) -> str:
    """What the inflected forms of a word have in common; the word, in a language without stems."""
    if language not in _FUNCTION_WORDS:
        return word
    with _stemming:  # a stemmer holds the word it is at
        return str(_stemmer(language).stemWord(word[:_LONGEST_WORD])) + word[_LONGEST_WORD:]


@functools.cache
def _stemmer(language: str) -> Any:
    import snowballstemmer

    return snowballstemmer.stemmer(language)
