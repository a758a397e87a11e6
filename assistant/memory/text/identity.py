"""The fact on a line, and the equality of facts and of names."""

import hashlib
import re
import unicodedata
from collections.abc import Collection

from assistant.characters import UNSEEN
from assistant.memory import annotations

_NUMBER_SIGN = re.compile(r"[²³¹⁰-⁹½¼¾⅐-⅞①-⑳]")
_DASH = re.compile(r"(?<=\d)[‒-―](?=\d)")
_CLOSERS = ".,;:!)]}"
_OPENERS = "([{,;:!"
_APOSTROPHE = re.compile(r"(?<=[^\W\d_])'(?=[^\W\d_])")
_JOINT = re.compile(r"(?<=[^\W\d_])(?:-+|[,;:!]+)(?=[^\W\d_])")
_BULLET = re.compile(r"(?:[-*+•][ \t]+(?=\S))?(?:\[[ xX]\](?:\s+|$))?")
_STRUCK = re.compile(r"~~(?!~)(?:(?!~~).)*~~|~~(?!~).*~~\s*\(superseded\b.*\)", re.DOTALL)
_NO_FACT = re.compile(r"#{1,6}[ \t].*|[-*_=][-*_= ]*|(?:`{3,}|~{3,}).*")


def spelled_as(name: str, names: Collection[str]) -> str | None:
    """Return the name as spelled in `names`, composed or decomposed; None if it is not in them."""
    if name in names or name.isascii():
        return name if name in names else None
    composed = unicodedata.normalize("NFC", name)
    return next((other for other in names if unicodedata.normalize("NFC", other) == composed), None)


def fold(text: str) -> str:
    """Return a plain text with case, white space and meaningless punctuation folded away.

    Two facts are the same if and only if their folds are equal. Folding too much would reject a
    true fact, folding too little only writes one twice, so whatever may carry meaning stays: every
    letter (Maße are not Masse), digit and symbol (C++, C#, 5 %, $5, 😀), a sign or dot that begins
    a word (-5, .5), one that ends a word (A-, B+), punctuation between digits (3.5, 10:30,
    2026-11-21), question marks, inches and feet. Brackets, quotes, full stops and commas around
    words are removed.
    """
    text = _NUMBER_SIGN.sub(lambda match: f"^{match[0]}", text)  # 10² is not 102
    text = _DASH.sub("-", text.replace("−", "-"))
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).lower())
    if not text.isascii():
        text = text.translate({ord(c): _spelled(c) for c in set(text) if not c.isascii()})
    text = _JOINT.sub(" ", _APOSTROPHE.sub("", text))
    return " ".join(filter(None, map(_bare, text.split())))


def _spelled(character: str) -> str:
    """Return a character as `fold` compares it: quotes and hyphens in ASCII, no format
    characters."""
    match unicodedata.category(character):
        case "Cf":
            return ""
        case "Pi" | "Pf":
            return "'"
        case "Pd":
            return "-" if character in "‐‑﹣－" else " "
        case "Po" | "Ps" | "Pe":
            return character if character in "%‰§" else " "
        case _:
            return "" if character in UNSEEN else character


def _bare(word: str) -> str:
    """Return a word without the punctuation around it; "" if nothing is left."""
    if word.isalnum():
        return word
    core = word.lstrip(_OPENERS)
    quoted = core[:1] in {'"', "'"}
    core = core.strip("\"'" + _OPENERS + _CLOSERS) if quoted else core.lstrip(_OPENERS)
    core = core.rstrip(_CLOSERS)
    while core[-1:] in {'"', "'"} and not core[-2:-1].isdigit():
        core = core[:-1].rstrip(_CLOSERS)
    return "" if core.strip("-") == "" else core


def without_bullet(line: str) -> str:
    """Return a line without its bullet and check box."""
    return _BULLET.sub("", line.strip(), count=1).strip()


def fact_of_line(line: str) -> str | None:
    """Return the fact on a line, without its bullet and check box; None if the line is not a
    current fact but a struck-out one, a heading or a rule."""
    text = without_bullet(annotations.without(line))
    is_fact = text and not is_struck_line(text) and not _NO_FACT.fullmatch(text)
    return without_bullet(line) if is_fact else None


def is_struck_line(text: str) -> bool:
    """Return whether a line is a fact that is entirely struck out."""
    text = annotations.without(text)
    return text.startswith("~~") and _STRUCK.fullmatch(text) is not None


def fact_key(words: str) -> str:
    """Return a key that is equal for equal facts; one of punctuation only equals itself."""
    return fold(words) or words.strip()


def digest(text: str) -> str:
    """Return the SHA-256 of a text, in hex."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
