"""Halves of UTF-16 characters, which streams and exports have and no file takes. Pure."""

import re

SURROGATE = re.compile("[\ud800-\udfff]")


def mend(text: str) -> str:
    """Return the text with surrogate pairs joined and lone surrogates replaced."""
    if SURROGATE.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
