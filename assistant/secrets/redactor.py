"""Secrets stay on this machine: what is known to be one is replaced by a named stand-in.

That happens before anything is sent, stored, indexed or logged. A stand-in is put back only in
the arguments of a tool, as it runs. Known are the values the owner registered, the values of
environment variables whose names say so, and tokens by their format.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from functools import partial
from urllib.parse import quote

from assistant.secrets.formats import FORMATS
from assistant.secrets.stand_ins import SHORTEST, STAND_IN, stand_ins


class Redactor:
    """Replaces secrets by stand-ins such as `[[secret:GITHUB_TOKEN]]`, and back.

    A token known by its format alone is named by its kind and the start of its hash, so that the
    same token has the same stand-in in every session.
    """

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        self._values = {f"[[secret:{name}]]": value for name, value in (values or {}).items()}
        spelled = {
            spelling: stand_in
            for stand_in, value in self._values.items()
            for spelling in (value, quote(value, safe=""), json.dumps(value)[1:-1])
            if len(value) >= SHORTEST
        }
        longest_first = sorted(spelled, key=len, reverse=True)
        self._spelled = spelled
        self._seen: dict[str, str] = {}
        self._known = re.compile("|".join(map(re.escape, longest_first))) if spelled else None

    def redact(self, text: str) -> str:
        """The text with every secret replaced by its stand-in."""
        if self._known:
            text = self._known.sub(lambda match: self._spelled[match[0]], text)
        for kind in FORMATS:
            if kind.may_be_in(text):
                text = kind.pattern.sub(partial(self._stand_in, kind.name), text)
        return text

    def restore(self, text: str) -> str:
        """The text with every stand-in that is known here replaced by its secret."""
        return STAND_IN.sub(lambda match: self._values.get(match[0], match[0]), text)

    def found(self, text: str) -> set[str]:
        """The stand-ins of the secrets in a text, not counting stand-ins it holds already."""
        return stand_ins(self.redact(text)) - stand_ins(text)

    def places(self, text: str) -> list[tuple[int, int, str]]:
        """Where secrets stand in a text, in order: first character, end, stand-in."""
        redacted = self.redact(text)
        if redacted == text:
            return []
        names = stand_ins(redacted)
        known = {**self._spelled, **self._seen}
        spellings = sorted((each for each in known if known[each] in names), key=len, reverse=True)
        anyone = re.compile("|".join(map(re.escape, spellings)))
        return [(match.start(), match.end(), known[match[0]]) for match in anyone.finditer(text)]

    def _stand_in(self, kind: str, match: re.Match[str]) -> str:
        secret = match[1] if match.re.groups else match[0]
        digest = hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
        stand_in = f"[[secret:{kind}-{digest[:8]}]]"
        self._values[stand_in] = secret
        self._seen[secret] = stand_in
        return match[0].replace(secret, stand_in)
