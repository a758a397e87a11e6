"""Marks at the end of a fact's line: HTML comments, which editors keep and no reader sees. Pure.

`<!-- core -->` puts a fact into every prompt. `<!-- for: restaurants, recipes -->` says what it
matters for: it is found by these words, which are never shown.
"""

import re

_CORE = re.compile(r"[ \t]*<!--[ \t]*core[ \t]*-->", re.IGNORECASE)
_OCCASIONS = re.compile(r"[ \t]*<!--[ \t]*for:[ \t]*(?P<words>[^<>\r\n]*?)[ \t]*-->", re.IGNORECASE)
_NO_OCCASION = re.compile(r"[<>\r\n]|--+")


def is_core(text: str) -> bool:
    """Whether a fact belongs to the core."""
    return "<!--" in text and bool(_CORE.search(text))


def occasions(text: str) -> str:
    """What a fact matters for; empty if it does not say."""
    return ", ".join(found["words"] for found in _OCCASIONS.finditer(text) if found["words"])


def without(text: str) -> str:
    """The text without its marks."""
    return _OCCASIONS.sub("", _CORE.sub("", text)) if "<!--" in text else text


def annotated(text: str, *, core: bool = False, matters_for: str = "") -> str:
    """The text, without the marks it had, with these at the end of its first line."""
    head, ending, rest = without(text).partition("\n")
    words = " ".join(_NO_OCCASION.sub(" ", matters_for).split())
    marks = f"{' <!-- core -->' if core else ''}{f' <!-- for: {words} -->' if words else ''}"
    return f"{head.rstrip()}{marks}{ending}{rest}" if marks else f"{head}{ending}{rest}"


def searched(text: str, plain: str) -> str:
    """What a fact is embedded and matched by: what it says, and what it matters for."""
    words = occasions(text) if "<!--" in text else ""
    return f"{plain}\n{words}" if words else plain
