"""A server's settings as they are shown: what may be a secret is hidden, what names one is not."""

import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from assistant.secrets.detection.names import Claim, claim

HIDDEN = "(hidden)"
NAMED = re.compile(r"\$\{\w+\}")


def hidden(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a server without the secrets that are written out in them."""
    shown = dict(settings)
    for name in ("env", "headers"):
        shown[name] = {key: value_of(value) for key, value in settings.get(name, {}).items()}
    if settings.get("args"):
        shown["args"] = arguments(settings["args"])
    if settings.get("url"):
        shown["url"] = address(settings["url"])
    return shown


def value_of(value: str) -> str:
    """A variable's or a header's value, if it stands in the environment and not here."""
    return value if not value or NAMED.search(value) else HIDDEN


def arguments(words: Sequence[str]) -> list[str]:
    """Arguments without the values of those whose names say that they are secret."""
    shown, secret = [], False
    for word in words:
        name, equals, value = word.partition("=")
        if secret and not word.startswith("-"):
            shown.append(value_of(word))
        elif equals and _is_secret(name):
            shown.append(f"{name}={value_of(value)}")
        else:
            shown.append(word)
        secret = not equals and word.startswith("-") and _is_secret(word)
    return shown


def address(url: str) -> str:
    """An address without its password, and without what its query says that is secret."""
    try:
        parts = urlsplit(url)
        query = parse_qsl(parts.query, keep_blank_values=True)
    except ValueError:
        return HIDDEN
    if not parts.username and not any(_is_secret(name) for name, _ in query):
        return url
    machine = parts.netloc.rpartition("@")[2]
    user = f"{parts.username}:{HIDDEN}@" if parts.password else f"{HIDDEN}@"
    kept = [(name, value_of(value) if _is_secret(name) else value) for name, value in query]
    netloc = f"{user}{machine}" if parts.username else machine
    return parts._replace(netloc=netloc, query=urlencode(kept, safe="(){}$")).geturl()


def _is_secret(name: str) -> bool:
    return claim(name.lstrip("-")) > Claim.NONE
