"""The mark of a core fact: `<!-- core -->` at the end of its line puts it into every prompt.

It is an HTML comment, which editors keep and no reader sees. Pure.
"""

import re

_CORE = re.compile(r"[ \t]*<!--[ \t]*core[ \t]*-->", re.IGNORECASE)


def is_core(text: str) -> bool:
    """Whether a fact belongs to the core."""
    return "<!--" in text and bool(_CORE.search(text))


def without(text: str) -> str:
    """The text without its mark."""
    return _CORE.sub("", text) if "<!--" in text else text
