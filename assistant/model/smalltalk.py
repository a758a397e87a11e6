"""Small talk: a greeting, thanks, a farewell, "what can you do?".

The offline responder answers it without asking memory. Only a message that is nothing else counts,
in the languages whose phrases are listed. Other small talk goes to memory, which recognises most
of it by its vectors in any language that it reads.
"""

import re
import unicodedata
from typing import Literal

Kind = Literal["greeting", "thanks", "farewell", "abilities", "chat"]

PHRASES: dict[Kind, str] = {
    "greeting": """
        hi, hello, hey, hiya, howdy, yo, greetings, good morning, morning, good afternoon,
        good evening, hallo, hi du, guten morgen, moin, guten tag, guten abend, servus, grüezi,
        hola, buenos días, buenas tardes, buenas noches, bonjour, salut, bonsoir, coucou, ciao,
        buongiorno, buonasera, olá, oi, bom dia, boa tarde, boa noite, hej, hei, god morgon, ahoj,
        cześć, dzień dobry, привет, здравствуй, здравствуйте, доброе утро, добрый день,
        добрый вечер, 你好, 您好, 早上好, こんにちは, おはよう, おはようございます, 안녕,
        안녕하세요, مرحبا, السلام عليكم, नमस्ते
    """,
    "thanks": """
        thanks, thank you, many thanks, thx, ty, cheers, much appreciated, danke, danke schön,
        danke dir, vielen dank, merci, merci beaucoup, gracias, muchas gracias, grazie,
        grazie mille, obrigado, obrigada, tack, takk, dzięki, dziękuję, спасибо, большое спасибо,
        谢谢, ありがとう, ありがとうございます, 고마워, 감사합니다, شكرا, धन्यवाद
    """,
    "farewell": """
        bye, bye bye, goodbye, good night, see you, see you later, see you tomorrow, see ya,
        take care, tschüss, tschüß, bis bald, bis morgen, bis später, gute nacht, auf wiedersehen,
        au revoir, à bientôt, à demain, bonne nuit, adiós, hasta luego, hasta mañana, arrivederci,
        a domani, buonanotte, até logo, tchau, do widzenia, до свидания, пока, 再见, さようなら,
        안녕히 계세요, مع السلامة
    """,
    "abilities": """
        what can you do, what can you do for me, what do you do, what are you able to do,
        what are you good for, how can you help, how can you help me, how does this work,
        how do you work, was kannst du, que puedes hacer, que peux-tu faire, cosa sai fare
    """,
    "chat": """
        great, perfect, nice, cool, wow, awesome, lovely, fine, alright, okay, ok,
        got it, i see, sounds good, never mind, forget it, that s all, haha, lol,
        how are you, how are you doing, how is it going,
        how was your day, what s up,
        are you there, are you awake, can you hear me, are you a robot, are you human, are you real,
        are you an ai, do you sleep, do you dream, do you like me, do you love me, i love you,
        i m back, just testing, test, testing,
        super, toll, prima, schon gut, alles klar, wie geht s, wie geht es dir, vale, genial,
        qué tal, cómo estás, ça va, parfait, d accord, хорошо, ладно, отлично, как дела, 好的,
        太好了, 你好吗, すごい, 元気, 좋아, 잘 지내, ممتاز, كيف حالك, ठीक है, कैसे हो
    """,
}
BESIDE = r"(?: (?:there|again|all|you|everyone|so much|a lot|very much|assistant|my friend))*"
"""Words that may follow in English without changing the kind."""
HOW = r"(?: how are you(?: doing)?(?: today)?| how is it going| how s it going| what s up)?"


def _plain(text: str) -> str:
    """Return the words in lower case, without accents and punctuation."""
    letters = unicodedata.normalize("NFKD", text.casefold())
    mapped = (c if c.isalnum() else "" if unicodedata.category(c) == "Mn" else " " for c in letters)
    return " ".join("".join(mapped).split())


def _pattern(listed: str) -> "re.Pattern[str]":
    phrases = "|".join(re.escape(_plain(phrase)) for phrase in listed.split(","))
    return re.compile(f"(?:{phrases}){BESIDE}{HOW}")


_PATTERNS = {kind: _pattern(listed) for kind, listed in PHRASES.items()}
LONGEST = 60
"""The most characters of a message that may be small talk."""


def small_talk(text: str) -> Kind | None:
    """Return the kind of small talk, if the message is nothing else."""
    words = _plain(text) if len(text) <= LONGEST else ""
    kinds = (kind for kind, pattern in _PATTERNS.items() if pattern.fullmatch(words))
    return next(kinds, None)


_SUM = re.compile(
    r"\d[\d.,]*\s*(?:[+*×÷^]|plus|minus|times|divided by|(?:%|percent) of)\s*\d[\d.,]*",
    re.IGNORECASE,
)
_FRAME = 3
"""The most words around a sum, such as "what is the"."""


def is_sum(text: str) -> bool:
    """Return whether a message is a sum and little else, so that memory is irrelevant."""
    remainder, sums = _SUM.subn(" ", unicodedata.normalize("NFKC", text))
    return bool(sums) and len(remainder.split()) <= _FRAME and not re.search(r"\d", remainder)
